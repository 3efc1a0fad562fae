import { readFileSync } from 'node:fs'
import type { Argument } from 'commander'
import { Command, CommanderError, Help, Option } from 'commander'
import type { Cli, CommonOptions } from './cli.ts'
import { setProgramName } from './program-name.ts'
import {
  addAgentOptions,
  addCommonOptions,
  addExecutionOptions,
  addRunOptions,
  collectValues,
  formatOverviewOptions,
  parsePositiveInteger,
} from './program-options.ts'
import { addTeamCommands } from './program-team.ts'
import { reportError, usageError } from './report-error.ts'
import type { Terminal } from './terminal.ts'
import { realTerminal } from './terminal.ts'

/*
 * The commands and what they take. The work of each is loaded when it is called, so that help and version load nothing
 * else.
 */

/** Runs the command line to its end; returns the exit code. */
export async function main(given: readonly string[], terminal: Terminal = realTerminal()): Promise<number> {
  const argv = expandHelpCommand(given)
  const json = argv.includes('--json')
  const command = commandName(argv)
  const context: ProgramContext = { terminal, code: 0 }
  const program = createProgram(context)
  try {
    await program.parseAsync(command === 'run' ? await preparePatternCommands(program, context, argv) : [...argv], {
      from: 'user',
    })
    return context.code
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) return reportError(thrown, { terminal, json, command })
    if (thrown.code === 'commander.help') program.outputHelp()
    const error = usageError(thrown, commandPath(argv))
    return error ? reportError(error, { terminal, json, command }) : context.code
  }
}

/** `troupe help chat` means `troupe chat --help`. */
function expandHelpCommand(argv: readonly string[]): readonly string[] {
  const at = argv[0] === 'team' ? 1 : 0
  return argv[at] === 'help' ? [...argv.slice(0, at), ...argv.slice(at + 1), '--help'] : argv
}

/** Whose help says more: that of the command, or of the one below it. */
function commandPath(argv: readonly string[]): string | undefined {
  const command = commandName(argv)
  const sub = command === 'team' ? argv[argv.indexOf(command) + 1] : undefined
  return sub !== undefined && /^[a-z]+$/.test(sub) ? `${command} ${sub}` : command
}

export interface ProgramContext {
  terminal: Terminal
  /** What the process will say at its end. */
  code: number
}

const OPTIONS_WITH_VALUE = ['--store', '--project']

/** The first word that is no option: which command is meant, also when the rest does not parse. */
function commandName(argv: readonly string[]): string | undefined {
  return argv.find((word, index) => !word.startsWith('-') && !OPTIONS_WITH_VALUE.includes(argv[index - 1] ?? ''))
}

async function preparePatternCommands(
  program: Command,
  context: ProgramContext,
  argv: readonly string[],
): Promise<string[]> {
  const { addPatternCommands } = await import('./program-patterns.ts')
  const { normalizeFlags } = await import('./pattern-flags.ts')
  for (const command of program.commands) if (command.name() === 'run') await addPatternCommands(command, context)
  return normalizeFlags(argv)
}

function createProgram(context: ProgramContext): Command {
  const program = new Command('troupe')
  addCommonOptions(program)
    .description('Agents that work together: durable, bounded, visible, resumable.')
    .usage('COMMAND [options]')
    .version(packageVersion(), '-v, --version', 'print the version')
    .helpCommand(false)
    .exitOverride()
    .configureHelp({
      subcommandTerm: (sub) => [sub.name(), ...sub.registeredArguments.map(argumentTerm)].join(' '),
      minWidthToWrap: 20,
      // Commands come first in the overview; its options follow as text.
      visibleOptions: (command) => (command.parent ? Help.prototype.visibleOptions.call(new Help(), command) : []),
    })
    .configureOutput({
      writeOut: (text) => context.terminal.print(text.trimEnd()),
      writeErr: () => {},
      getOutHelpWidth: () => context.terminal.out.width,
      getOutHasColors: () => false,
    })
    .addHelpText('after', () => formatOverviewOptions(program, context.terminal.out))
  addStartCommands(program, context)
  addInspectCommands(program, context)
  addControlCommands(program, context)
  for (const command of program.commands) addCommonOptions(command)
  return program
}

function argumentTerm(argument: Argument): string {
  const word = argument.name().toUpperCase() + (argument.variadic ? '…' : '')
  return argument.required ? word : `[${word}]`
}

function addStartCommands(program: Command, context: ProgramContext): void {
  program.commandsGroup('Start:')
  addCommand(program, context, 'demo', async (cli) =>
    (await import('./commands/demo-command.ts')).demoCommand(cli),
  ).description('a short scripted run, offline')
  program.command('run [PATTERN]').description('start a run; troupe run --help lists the patterns')
  const chat = async (cli: Cli, [file]: string[]) => (await import('./commands/chat-command.ts')).chatCommand(cli, file)
  addExecutionOptions(addRunOptions(addCommand(program, context, 'chat', chat)))
    .description('talk with a team')
    .argument('[file]', 'a team in YAML')
    .option('--agent <name>', 'talk with one agent of the roster instead')
    .option('--resume <run>', 'take up a conversation; its id, or how the id begins')
    .option('--retry', 'with --resume: try again at once what failed')
    .option('--set <name=value>', 'a variable of the team; repeatable', collectValues)
  addCommand(program, context, 'init', async (cli) =>
    (await import('./commands/init-command.ts')).initCommand(cli),
  ).description('write a first roster into this folder')
  const agents = async (cli: Cli, [what]: string[]) =>
    (await import('./commands/agents-command.ts')).agentsCommand(cli, what)
  addCommand(program, context, 'agents', agents)
    .description('who can be called')
    .argument('[check]', 'only say what is wrong with their files, and fail on errors')
    .option('--dir <folder>', 'only the agents in this folder and below')
    .option('--agents <folder>', 'agent files of your own (TROUPE_AGENTS)')
  addTeamCommands(program.command('team'), (parent, name, work) => addCommand(parent, context, name, work))
  addAgentOptions(
    addCommand(program, context, 'doctor', async (cli) =>
      (await import('./commands/doctor-command.ts')).doctorCommand(cli),
    ),
  )
    .description('is everything in order?')
    .option('--run <id>', "check this run's journal against every rule")
    .option('--call [model...]', 'ask each model of the roles, or these, one short question')
}

function addInspectCommands(program: Command, context: ProgramContext): void {
  program.commandsGroup('TerminalStyle:')
  addCommand(program, context, 'runs', async (cli) => (await import('./commands/runs-command.ts')).runsCommand(cli))
    .description('runs, the newest first')
    .addOption(new Option('-s, --status <status...>', 'only these').choices(STATUSES))
    .option('-n, --number <count>', 'how many at the most (20)', parsePositiveInteger)
  addCommand(program, context, 'show', async (cli, [run]) =>
    (await import('./commands/show-command.ts')).showCommand(cli, run),
  )
    .description('one run as a tree')
    .argument('[run]', 'its id, or how the id begins; else the newest')
    .option('--all', 'every tool call')
    .option('--events', 'the journal instead, event by event')
  addCommand(program, context, 'watch', async (cli, [run]) =>
    (await import('./commands/watch-command.ts')).watchCommand(cli, run),
  )
    .description('follow a run live, from any process')
    .argument('[run]', 'its id, or how the id begins; else the newest')
    .option('--from-start', 'tell also what has happened before')
  const replay = async (cli: Cli, [run = '']: string[]) =>
    (await import('./commands/replay-command.ts')).replayCommand(cli, run)
  addCommand(program, context, 'replay', replay)
    .description('execute a run again, offline, and compare')
    .argument('<run>', 'its id, or how the id begins')
  const diff = async (cli: Cli, [a = '', b = '']: string[]) =>
    (await import('./commands/diff-command.ts')).diffCommand(cli, [a, b])
  addCommand(program, context, 'diff', diff)
    .description('where two runs part, and what it changed')
    .argument('<a>', 'the id of one run, or how it begins')
    .argument('<b>', 'the id of the other')
  addCommand(program, context, 'cost', async (cli, [run]) =>
    (await import('./commands/cost-command.ts')).costCommand(cli, run),
  )
    .description('what was used, and what it cost')
    .argument('[run]', 'its id, or how the id begins; else all runs')
    .addOption(new Option('--by <what>', 'the groups (run; for one run agent)').choices(COST_GROUPS))
    .option('--since <day>', 'only calls from this day on, such as 2026-11-15')
    .option('--prices <file>', 'prices of your own; repeatable, the last wins', collectValues)
}

const COST_GROUPS = ['run', 'agent', 'model', 'day', 'session', 'phase']

const STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled']

function addControlCommands(program: Command, context: ProgramContext): void {
  program.commandsGroup('Steer:')
  addExecutionOptions(
    addRunOptions(
      addCommand(program, context, 'resume', async (cli, [run = '']) =>
        (await import('./commands/resume-command.ts')).resumeCommand(cli, run),
      ),
    ),
  )
    .description('go on with a run')
    .argument('<run>', 'its id, or how the id begins')
    .option('--force', 'also a run that was put aside because it kept crashing')
  const fork = async (cli: Cli, [run = '']: string[]) =>
    (await import('./commands/fork-command.ts')).forkCommand(cli, run)
  addExecutionOptions(addRunOptions(addCommand(program, context, 'fork', fork)))
    .description('go on from an event of a run, as a new run')
    .argument('<run>', 'its id, or how the id begins')
    .option('--at <seq>', 'the last event that is kept; show --events numbers them')
    .option(
      '--set <name=value>',
      'a change, such as agent.NAME.instructions=@FILE or gate.ID=yes; repeatable',
      collectValues,
    )
  addCommand(program, context, 'cancel', async (cli, [run = '']) =>
    (await import('./commands/cancel-command.ts')).cancelCommand(cli, run),
  )
    .description('end a run; what it did is kept')
    .argument('<run>', 'its id, or how the id begins')
    .option('--reason <text>', 'why, for whoever reads the journal')
  addCommand(program, context, 'inbox', async (cli) =>
    (await import('./commands/inbox-command.ts')).inboxCommand(cli),
  ).description('questions that wait for a person')
  const answer = async (cli: Cli, [gate = '', ...words]: string[]) =>
    (await import('./commands/answer-command.ts')).answerCommand(cli, gate, words)
  addExecutionOptions(addAgentOptions(addCommand(program, context, 'answer', answer)))
    .description('answer a question; its run goes on')
    .argument('<gate>', "the question's id, or how the id begins")
    .argument('[value...]', 'the answer')
    .option('--json-value <json>', 'an answer that is not text')
    .option('--no-wait', 'only write the answer down')
}

/** A command with the options that all have. */
function addCommand(
  program: Command,
  context: ProgramContext,
  name: string,
  work: (cli: Cli, words: string[]) => Promise<number>,
): Command {
  const command = program.command(name).allowExcessArguments(false)
  return command.action(async () => {
    const options: CommonOptions = command.optsWithGlobals()
    setProgramName([context.terminal.out, context.terminal.err], options)
    context.code = await work({ terminal: context.terminal, options }, command.args)
  })
}

function packageVersion(): string {
  const file = new URL('../../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
