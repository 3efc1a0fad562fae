import type { Command } from 'commander'
import { Help, InvalidArgumentError, Option } from 'commander'
import type { CommandConfig, CommonOptions } from './cli.ts'
import type { Terminal } from './terminal.ts'

/*
 * Options of several commands are declared once, on the program, and may stand before or after the command. Each command names the groups that it
 * takes; options of other groups are refused.
 */

/** All commands take the common options. `execution` are those of commands that execute runs. */
export type OptionGroup = 'common' | 'agents' | 'models' | 'limits' | 'execution'

/** What commands take that continue a run. */
export const STEERING: readonly OptionGroup[] = ['agents', 'models', 'execution']
/** What commands take that start a run, or continue it with other limits. */
export const EXECUTION: readonly OptionGroup[] = ['agents', 'models', 'limits', 'execution']

export interface ProgramContext extends CommandConfig {
  terminal: Terminal
  shared: SharedOptions
  /** Exit code of the process, set by the command. */
  code: number
}

export interface SharedOptions {
  /** Lets a command take the common options, and those of the groups. */
  give(command: Command, groups?: readonly OptionGroup[]): Command
  /** The values of a command: of its own options, and of the shared ones that it takes. */
  valuesOf(command: Command): CommonOptions
}

const MIN_WIDTH_TO_WRAP = 20

export function shareOptions(program: Command): SharedOptions {
  const groups = declaredOptions()
  const taken = new Map<Command, readonly OptionGroup[]>()
  const optionsOf = (command: Command) => (taken.get(command) ?? []).flatMap((group) => groups[group])
  for (const option of Object.values(groups).flat()) program.addOption(option)
  program.addHelpOption(new Option('-h, --help', 'show help').helpGroup(COMMON_HEADING)).configureHelp({
    minWidthToWrap: MIN_WIDTH_TO_WRAP,
    visibleOptions(command) {
      const own = Help.prototype.visibleOptions.call(this, command)
      // The overview lists commands first; its options are added as help text.
      return command.parent ? [...own.slice(0, -1), ...optionsOf(command), ...own.slice(-1)] : []
    },
  })
  return {
    give(command, more = []) {
      taken.set(command, [...more, 'common'])
      inheritOptions(command, program, optionsOf(command))
      return command
    },
    valuesOf(command) {
      const shared = optionsOf(command).map((option) => option.attributeName())
      return { ...Object.fromEntries(shared.map((name) => [name, program.getOptionValue(name)])), ...command.opts() }
    },
  }
}

/** A command reads its own options first: in `--message -q`, `-q` is the message. The program reads what is left. */
function inheritOptions(command: Command, program: Command, options: readonly Option[]): void {
  const parseOwn = command.parseOptions.bind(command)
  const shared = program.options.filter(({ long }) => long !== '--version')
  command.parseOptions = (args) => {
    const own = parseOwn(args)
    const isGroup = command.commands.length > 0
    if (isGroup && own.operands.length > 0) return own
    // After a command, the version is not asked for: `troupe cancel RUN -v` must not look as if it had cancelled.
    Object.assign(program, { options: shared })
    // Options before the command of a group are read up to its name, so that it reads its own ones first, too.
    const rest = program.enablePositionalOptions(false).passThroughOptions(isGroup).parseOptions(own.unknown)
    const isGiven = (option: Option) => program.getOptionValueSource(option.attributeName()) === 'cli'
    const refused = isGroup ? undefined : program.options.find((option) => isGiven(option) && !options.includes(option))
    if (refused) {
      const message = `error: '${command.name()}' does not take the option '${refused.long}'`
      command.error(message, { code: 'commander.unknownOption' })
    }
    const [words, more] = isGroup ? [rest.operands.slice(0, 1), rest.operands.slice(1)] : [rest.operands, []]
    return { operands: [...own.operands, ...words], unknown: [...more, ...rest.unknown] }
  }
}

export const COMMON_HEADING = 'Common options:'

function declaredOptions(): Record<OptionGroup, Option[]> {
  const under = (helpGroupHeading: string, ...options: Option[]) =>
    options.map((option) => Object.assign(option, { helpGroupHeading }))
  const repeated = (option: Option) => {
    option.description += '; repeatable'
    return option.argParser(collectValues)
  }
  return {
    common: under(
      COMMON_HEADING,
      new Option('--json', 'print JSON'),
      new Option('-q, --quiet', 'print no progress'),
      new Option('--store <path>', 'folder or database of the runs (TROUPE_STORE; default: .troupe)'),
      new Option('--project <name>', 'project name (default: default)'),
      new Option('--trust-project', 'use the troupe.config file of this project without asking'),
    ),
    agents: under('Agents and models:', new Option('--agents <folder>', 'folder with agent files (TROUPE_AGENTS)')),
    models: under(
      'Agents and models:',
      new Option('--model <name>', 'model to use, such as provider/model or scripted:FILE (TROUPE_MODEL)'),
      new Option('--mcp-config <file>', 'JSON file with MCP servers: {"mcpServers": {…}}'),
      repeated(new Option('--expose-env <name>', 'expose a variable to MCP servers of agent files')),
    ),
    limits: under(
      'Execution:',
      repeated(new Option('--limit <name=value>', 'set a limit, such as calls=20, or remove it, such as usd=null')),
    ),
    execution: under(
      'Execution:',
      new Option(
        '--workspace <folder>',
        'folder in which agents read, write and run commands (default: current folder)',
      ),
      new Option('--no-tools', 'give agents no file, command or network tools'),
      new Option('--no-sandbox', 'run commands without a sandbox, with all your rights'),
      repeated(
        new Option('--readable <folder>', 'folder outside the workspace that commands and MCP servers may read'),
      ),
      repeated(new Option('--allow-host <name>', 'allow network access to this host (* = fetch any public page)')),
      repeated(new Option('--allow <rule>', 'allow tool calls without asking, such as Bash(npm test:*)')),
      repeated(new Option('--ask <rule>', 'ask a person before these tool calls')),
      repeated(new Option('--deny <rule>', 'deny these tool calls')),
      new Option('--durability <mode>', 'what survives a power failure').choices(['normal', 'full', 'relaxed']),
      new Option('--record <file>', 'record all model responses to this cassette'),
      new Option('--replay <file>', 'replay a cassette instead of calling models; needs no API key'),
    ),
  }
}

/** Names of the shared options, without `no-`. */
export const SHARED_FLAGS: readonly string[] = Object.values(declaredOptions()).flatMap((options) =>
  options.map((option) => option.name().replace(/^no-/, '')),
)

/** Argument parser of repeatable options. */
export function collectValues(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value]
}

export function parsePositiveInteger(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('Expected a positive integer.')
  return count
}

/** A section of a help text, in the layout of the others. */
export function helpSection(heading: string, items: readonly (readonly [string, string])[], width: number): string {
  const help = Object.assign(new Help(), { helpWidth: width, minWidthToWrap: MIN_WIDTH_TO_WRAP })
  const termWidth = Math.max(...items.map(([term]) => term.length))
  const lines = items.map(([term, description]) => help.formatItem(term, termWidth, description, help))
  return ['', heading, ...lines, ''].join('\n')
}
