import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import { padToWidth, wrapText } from '../../views/text-width.ts'
import type { TerminalStyle } from './render/styled-line.ts'

export function addCommonOptions(command: Command): Command {
  return command
    .optionsGroup('Common options:')
    .option('--json', 'print JSON')
    .option('-q, --quiet', 'print no progress')
    .option('--store <path>', 'folder or database of the runs (TROUPE_STORE; default: .troupe)')
    .option('--project <name>', 'project name (default: default)')
    .option('--trust-project', 'use the troupe.config file of this project without asking')
    .helpOption('-h, --help', 'show help')
}

/** Options of commands that load agent files or call models. */
export function addAgentOptions(command: Command): Command {
  return command
    .option('--model <name>', 'model to use, such as provider/model or scripted:FILE (TROUPE_MODEL)')
    .option('--agents <folder>', 'folder with agent files (TROUPE_AGENTS)')
    .option('--mcp-config <file>', 'JSON file with MCP servers: {"mcpServers": {…}}')
    .option('--expose-env <name>', 'expose a variable to MCP servers of agent files; repeatable', collectValues)
    .addOption(new Option('--lend <name>', 'old name of --expose-env').argParser(collectValues).hideHelp())
}

/** Options of commands that set limits. */
export function addRunOptions(command: Command): Command {
  return addAgentOptions(command).option(
    '--limit <name=value>',
    'set a limit, such as calls=20, or remove it, such as usd=null; repeatable',
    collectValues,
  )
}

/** Options of commands that give agents tools on this machine. */
function addWorkspaceOptions(command: Command): Command {
  return command
    .option('--workspace <folder>', 'folder in which agents read, write and run commands (default: current folder)')
    .option('--no-tools', 'give agents no file, command or network tools')
    .option('--no-sandbox', 'run commands without a sandbox, with all your rights')
    .option(
      '--readable <folder>',
      'folder outside the workspace that commands and MCP servers may read; repeatable',
      collectValues,
    )
    .option(
      '--allow-host <name>',
      'allow network access to this host (* = fetch any public page); repeatable',
      collectValues,
    )
    .option('--allow <rule>', 'allow tool calls without asking, such as Bash(npm test:*); repeatable', collectValues)
    .option('--ask <rule>', 'ask a person before these tool calls; repeatable', collectValues)
    .option('--deny <rule>', 'deny these tool calls; repeatable', collectValues)
}

/** Options of commands that execute a run. */
export function addExecutionOptions(command: Command): Command {
  return addWorkspaceOptions(command)
    .addOption(
      new Option('--durability <mode>', 'what survives a power failure').choices(['normal', 'full', 'relaxed']),
    )
    .option('--record <file>', 'record all model responses to this cassette')
    .option('--replay <file>', 'replay a cassette instead of calling models; needs no API key')
}

/** Argument parser of repeatable options. */
export function collectValues(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value]
}

/** The options section of `troupe --help`. */
export function formatOverviewOptions({ options }: Command, style: TerminalStyle): string {
  const column = 24
  const lines = options.flatMap(({ flags, description }) =>
    wrapText(' '.repeat(column) + description, style.width, column).map((text, index) =>
      index === 0 ? padToWidth(`  ${flags}`, column) + text.slice(column) : text,
    ),
  )
  return ['', 'Options:', ...lines, '', ...wrapText('Run troupe COMMAND --help for details.', style.width)].join('\n')
}

export function parsePositiveInteger(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('Expected a positive integer.')
  return count
}
