import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import type { TerminalStyle } from './render/styled-line.ts'
import { padToWidth, wrapText } from './render/text-width.ts'

/** Options of every command. */
export function addCommonOptions(command: Command): Command {
  return command
    .optionsGroup('Common options:')
    .option('--json', 'print for programs')
    .option('-q, --quiet', 'no progress')
    .option('--store <path>', 'where runs are kept (TROUPE_STORE, or .troupe)')
    .option('--project <name>', 'whose runs (default)')
    .helpOption('-h, --help', 'show help')
}

/** Options of commands that read agent files or ask models. */
export function addAgentOptions(command: Command): Command {
  return command
    .option('--model <name>', 'the model to use, such as scripted:FILE (TROUPE_MODEL)')
    .option('--agents <folder>', 'agent files of your own (TROUPE_AGENTS)')
    .option('--mcp-config <file>', 'MCP servers whose tools agents can have: {"mcpServers": {…}}')
    .option('--lend <name>', "a variable that MCP servers of agents' files may use; repeatable", collectValues)
}

/** Options of commands that spend. */
export function addRunOptions(command: Command): Command {
  return addAgentOptions(command).option(
    '--limit <name=value>',
    'a limit, such as calls=20 or usd=null; repeatable',
    collectValues,
  )
}

/** Options of commands that let agents work on this machine. */
function addWorkspaceOptions(command: Command): Command {
  return command
    .option('--workspace <folder>', 'where agents read, write and run commands; they never leave it (here)')
    .option('--no-tools', 'give agents no tools of this machine')
    .option('--no-sandbox', 'run commands unconfined: they can do whatever you can')
    .option('--readable <folder>', 'what commands and MCP servers may read beside it; repeatable', collectValues)
    .option('--allow-host <name>', 'let agents reach this host (*: fetch any public page); repeatable', collectValues)
    .option('--allow <rule>', 'let calls pass without asking, such as Bash(npm test:*); repeatable', collectValues)
    .option('--ask <rule>', 'ask a person before such calls; repeatable', collectValues)
    .option('--deny <rule>', 'refuse such calls; repeatable', collectValues)
}

/** Options of commands that carry a run on: its tools, how it is kept, recording and playing again. */
export function addExecutionOptions(command: Command): Command {
  return addWorkspaceOptions(command)
    .addOption(new Option('--durability <how>', 'full also survives a power cut').choices(['normal', 'full']))
    .option('--record <file>', 'record every model call in this file')
    .option('--replay <file>', 'play such a file instead of asking models: needs no key')
}

/** For an option that can be given more than once. */
export function collectValues(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

/** The options of the overview, in the form of its commands. */
export function formatOverviewOptions({ options }: Command, style: TerminalStyle): string {
  const column = 24
  const lines = options.flatMap(({ flags, description }) =>
    wrapText(' '.repeat(column) + description, style.width, column).map((text, index) =>
      index === 0 ? padToWidth(`  ${flags}`, column) + text.slice(column) : text,
    ),
  )
  return ['', 'Options:', ...lines, '', ...wrapText('troupe COMMAND --help says more about each.', style.width)].join(
    '\n',
  )
}

export function parsePositiveInteger(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('It is not a whole number above 0.')
  return count
}
