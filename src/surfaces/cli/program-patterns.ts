import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import type { Pattern } from '../../entries/patterns.ts'
import { TroupeError } from '../../errors.ts'
import type { BuildOptions } from './commands/build-command.ts'
import { addBuildOptions, applyBuildOptions, BUILD_PATTERN } from './commands/build-command.ts'
import type { PatternFlags } from './pattern-flags.ts'
import { addPatternFlags } from './pattern-flags.ts'
import { setProgramName } from './program-name.ts'
import type { ProgramContext } from './shared-options.ts'
import { collectValues, EXECUTION, helpSection } from './shared-options.ts'
import { TEAM_FIELD, TEAM_PATTERN } from './team-pattern.ts'

type PatternOptions = BuildOptions & { input?: string; continue?: string | true }

/** A pattern whose input has this field can continue a session. */
const SESSION_FIELD = 'session_id'

const optionFactory = {
  option: (flags: string, description: string) => new Option(flags, description),
  invalid: (message: string) => new InvalidArgumentError(message),
}

/**
 * Adds a subcommand of `run` for each built-in pattern and for those of the configuration. If `next`, the word after `run`, names a built-in one, it is
 * the only one that is imported.
 */
export async function addPatternCommands(run: Command, context: ProgramContext, next?: string): Promise<void> {
  const { BUILT_IN_PATTERNS, loadBuiltInPatterns, patternInputSchema } = await import(
    '../../runtime/built-in-patterns.ts'
  )
  run.commandsGroup('Patterns:')
  const builtIn: readonly Pattern[] = await loadBuiltInPatterns(
    next !== undefined && Object.hasOwn(BUILT_IN_PATTERNS, next) ? [next] : undefined,
  )
  const own = context.config?.options.patterns ?? []
  // `createTroupe` rejects a pattern with the name of a built-in one.
  const added = own.filter(({ name }) => builtIn.every((pattern) => pattern.name !== name))
  const patterns = [...builtIn, ...added].filter(({ only }) => only !== 'tool')
  for (const pattern of patterns) {
    const command = run.command(pattern.name).description(firstSentence(pattern)).allowExcessArguments(false)
    const inputSchema = await patternInputSchema(pattern)
    const flags = addPatternFlags(command.optionsGroup('Input:'), inputSchema, optionFactory)
    if (pattern.name === TEAM_PATTERN) addTeamInputOptions(command)
    if (pattern.name === BUILD_PATTERN) addBuildOptions(command)
    if (Object.hasOwn(inputSchema.properties ?? {}, SESSION_FIELD))
      command.option('--continue [session]', 'continue a session: id or unique prefix (default: the newest)')
    command.option('--input <file>', 'read fields from a JSON or YAML file, or - for stdin')
    command.option('--tag <tag>', 'label the run, for troupe runs --tag; repeatable', collectValues)
    command.option('--detach', 'run in the background: print the run id and return; follow it with troupe watch')
    context.shared.give(command, EXECUTION)
    const fileOnly = flags.fileOnly.filter(({ name }) => pattern.name !== TEAM_PATTERN || name !== TEAM_FIELD)
    if (fileOnly.length > 0) {
      const items = fileOnly.map(({ name, description }) => [name, description] as const)
      const section = () => helpSection('Fields without a flag (use --input):', items, context.terminal.out.width)
      command.addHelpText('after', section)
    }
    command.action(async () => {
      context.code = await startPattern(command, { pattern, flags, context })
    })
  }
}

function addTeamInputOptions(command: Command): void {
  command
    .option('--team <file>', 'YAML file of the team; in an --input file: `team: PATH`')
    .option('--set <name=value>', 'set a variable of the team; repeatable', collectValues)
}

async function startPattern(
  command: Command,
  { pattern, flags, context }: { pattern: Pattern; flags: PatternFlags; context: ProgramContext },
): Promise<number> {
  const { terminal, config, refusedFolder, shared } = context
  const options: PatternOptions = shared.valuesOf(command)
  setProgramName([terminal.out, terminal.err], options)
  if (pattern.name === BUILD_PATTERN && options.cleanUp) {
    const { cleanUpCommand } = await import('./commands/clean-up-command.ts')
    applyBuildOptions(options, {}, false)
    return cleanUpCommand({ terminal, config, refusedFolder, options })
  }
  const cli = { terminal, options, config, refusedFolder, executes: true }
  if (options.input === undefined && pattern.name !== TEAM_PATTERN) requireInputFile(command, pattern, flags)
  if (options.detach) return (await import('./commands/detach-command.ts')).detachCommand(cli)
  const { runPatternCommand } = await import('./commands/run-command.ts')
  const given = await withInstruction(options, flags, await flags.parsedInput())
  const input = pattern.name === BUILD_PATTERN ? applyBuildOptions(options, given, terminal.interactive) : given
  return runPatternCommand(cli, pattern.name, input)
}

/**
 * In `--continue "add tests"`, the parser takes the instruction for the session id. When there is an instruction besides it, a
 * single word is an id: one that is mistyped must not continue the newest session instead.
 */
async function withInstruction(
  options: { continue?: string | true },
  { positional }: PatternFlags,
  input: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const { continue: given } = options
  if (typeof given !== 'string' || positional === undefined) return input
  const { isSessionIdPrefix } = await import('./find-session.ts')
  if (isSessionIdPrefix(given)) return input
  const rest = input[positional]
  if (rest !== undefined && !/\s/.test(given)) return input
  options.continue = true
  return { ...input, [positional]: typeof rest === 'string' ? `${given} ${rest}` : given }
}

/** Explains required fields without a flag: `--agents`, for example, is the folder of agent files, not the field. */
function requireInputFile(command: Command, pattern: Pattern, { fileOnly }: PatternFlags): void {
  const missing = fileOnly.find(
    ({ name, required }) => required && !(name === 'agents' && command.getOptionValue('with')),
  )
  if (!missing) return
  if (missing.name === 'agents') {
    const { agents } = command.optsWithGlobals<{ agents?: string }>()
    const names = agents?.includes(',') ? agents : 'architect,reviewer'
    const taken = agents === undefined ? '' : '; `--agents` is the folder of agent files'
    throw new TroupeError('invalid_input', `the field '${missing.name}' is missing${taken}`, {
      hint: `name agents of the roster (--with ${names}), or define them in a file and pass --input FILE; troupe agents lists them`,
      alternatives: ['--with', '--input'],
    })
  }
  throw new TroupeError('invalid_input', `the field '${missing.name}' is missing; it has no flag`, {
    hint: `set it in a YAML or JSON file and pass --input FILE; troupe run ${pattern.name} --help lists the fields`,
    alternatives: ['--input'],
  })
}

function firstSentence({ description }: Pattern): string {
  return /^.*?\.(?=\s|$)/s.exec(description)?.[0] ?? description
}
