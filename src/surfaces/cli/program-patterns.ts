import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import { TroupeError, unknownNameError } from '../../errors.ts'
import type { Pattern } from '../../index.ts'
import type { Cli } from './cli.ts'
import type { PatternFlags } from './pattern-flags.ts'
import { addPatternFlags } from './pattern-flags.ts'
import { setProgramName } from './program-name.ts'
import { addCommonOptions, addExecutionOptions, addRunOptions, collectValues } from './program-options.ts'
import type { TerminalStyle } from './render/styled-line.ts'
import { padToWidth, wrapText } from './render/text-width.ts'

type ProgramContext = { terminal: Cli['terminal']; code: number }

const optionFactory = {
  option: (flags: string, description: string) => new Option(flags, description),
  invalid: (message: string) => new InvalidArgumentError(message),
}

/** Gives `run` a command for each pattern. */
export async function addPatternCommands(run: Command, context: ProgramContext): Promise<void> {
  const { BUILT_IN_PATTERNS } = await import('../../runtime/built-in-patterns.ts')
  run.usage('PATTERN [options]').commandsGroup('Patterns:')
  for (const pattern of BUILT_IN_PATTERNS) {
    const command = run.command(pattern.name).description(firstSentence(pattern)).allowExcessArguments(false)
    const flags = addPatternFlags(command.optionsGroup('Input:'), pattern, optionFactory)
    if (pattern.name === 'team') addTeamInputOptions(command)
    command.option('--input <file>', 'fields from a JSON or YAML file, or - for stdin')
    addCommonOptions(addExecutionOptions(addRunOptions(command.optionsGroup('Options:'))))
    // --team stands for it.
    const fileOnly = flags.fileOnly.filter(({ name }) => pattern.name !== 'team' || name !== 'team')
    command.addHelpText('after', () => fileOnlyHelp(fileOnly, context.terminal.out))
    command.action(async () => {
      context.code = await startPattern(command, pattern, flags, context.terminal)
    })
  }
  const names = BUILT_IN_PATTERNS.map(({ name }) => name)
  run
    .allowUnknownOption()
    .allowExcessArguments()
    .action((name: string | undefined) => {
      if (name !== undefined) throw unknownNameError('unknown_pattern', { kind: 'pattern', name, known: names })
      throw new TroupeError('unknown_pattern', 'no pattern is named', {
        alternatives: names,
        hint: `such as: troupe run ${names[0]} --help`,
      })
    })
}

/** A team is written in a file of its own; on the command line its path stands for it. */
function addTeamInputOptions(command: Command): void {
  command
    .option('--team <file>', 'the team, in YAML; in the file of --input, `team: PATH`')
    .option('--set <name=value>', 'a variable of the team; repeatable', collectValues)
}

async function startPattern(command: Command, pattern: Pattern, flags: PatternFlags, terminal: Cli['terminal']) {
  const options = command.optsWithGlobals<Cli<{ input?: string }>['options']>()
  setProgramName([terminal.out, terminal.err], options)
  if (options.input === undefined && pattern.name !== 'team') requireInputFile(pattern, flags)
  const { runPatternCommand } = await import('./commands/run-command.ts')
  return runPatternCommand({ terminal, options }, pattern.name, flags.parsedInput())
}

/** A flag of the same name may mean something else: `--agents` is a folder of agent files. */
function requireInputFile(pattern: Pattern, { fileOnly }: PatternFlags): void {
  const missing = fileOnly.find(({ required }) => required)
  if (!missing) return
  throw new TroupeError('invalid_input', `${missing.name} is missing, and comes in a file only`, {
    hint: `write it into a YAML or JSON file: --input FILE; troupe run ${pattern.name} --help shows the fields`,
    alternatives: ['--input'],
  })
}

const HELP_COLUMN = 24

/** Fields that are no flags: nobody would know of them otherwise. */
function fileOnlyHelp(fileOnly: PatternFlags['fileOnly'], style: TerminalStyle): string {
  if (fileOnly.length === 0) return ''
  const lines = fileOnly.flatMap(({ name, words }) =>
    wrapText(' '.repeat(HELP_COLUMN) + words, style.width, HELP_COLUMN).map((text, index) =>
      index === 0 ? padToWidth(`  ${name}`, HELP_COLUMN) + text.slice(HELP_COLUMN) : text,
    ),
  )
  return ['', 'Only in the file of --input:', ...lines].join('\n')
}

function firstSentence({ description }: Pattern): string {
  return /^.*?\.(?=\s|$)/s.exec(description)?.[0] ?? description
}
