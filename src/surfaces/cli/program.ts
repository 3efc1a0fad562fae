import { readFileSync } from 'node:fs'
import type { Argument } from 'commander'
import { Command, CommanderError, Help, Option } from 'commander'
import { calledWith } from './called.ts'
import type { Cli, CommonOptions } from './cli.ts'
import { fail, usageError } from './failure.ts'
import { collected, overviewOptions, shared, staffed, taped, wholeNumber, working } from './program-options.ts'
import { describeTeam } from './team-command.ts'
import type { Terminal } from './terminal.ts'
import { realTerminal } from './terminal.ts'

/*
 * The commands and what they take. The work of each is loaded when it is called, so that help and version load nothing
 * else.
 */

/** Runs the command line to its end; returns the exit code. */
export async function main(given: readonly string[], terminal: Terminal = realTerminal()): Promise<number> {
  const argv = helpAsked(given)
  const json = argv.includes('--json')
  const command = commandIn(argv)
  const site: Site = { terminal, code: 0 }
  const program = programOf(site)
  try {
    await program.parseAsync(command === 'run' ? await withPatterns(program, site, argv) : [...argv], { from: 'user' })
    return site.code
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) return fail(thrown, { terminal, json, command })
    if (thrown.code === 'commander.help') program.outputHelp()
    const error = usageError(thrown, commandPath(argv))
    return error ? fail(error, { terminal, json, command }) : site.code
  }
}

/** `troupe help chat` means `troupe chat --help`. */
function helpAsked(argv: readonly string[]): readonly string[] {
  const at = argv[0] === 'team' ? 1 : 0
  return argv[at] === 'help' ? [...argv.slice(0, at), ...argv.slice(at + 1), '--help'] : argv
}

/** Whose help says more: that of the command, or of the one below it. */
function commandPath(argv: readonly string[]): string | undefined {
  const command = commandIn(argv)
  const sub = command === 'team' ? argv[argv.indexOf(command) + 1] : undefined
  return sub !== undefined && /^[a-z]+$/.test(sub) ? `${command} ${sub}` : command
}

export interface Site {
  terminal: Terminal
  /** What the process will say at its end. */
  code: number
}

const WITH_VALUE = ['--store', '--project']

/** The first word that is no option: which command is meant, also when the rest does not parse. */
function commandIn(argv: readonly string[]): string | undefined {
  return argv.find((word, index) => !word.startsWith('-') && !WITH_VALUE.includes(argv[index - 1] ?? ''))
}

async function withPatterns(program: Command, site: Site, argv: readonly string[]): Promise<string[]> {
  const { describePatterns } = await import('./run-command.ts')
  const { spelledFlags } = await import('./pattern-flags.ts')
  for (const command of program.commands) if (command.name() === 'run') await describePatterns(command, site)
  return spelledFlags(argv)
}

function programOf(site: Site): Command {
  const program = new Command('troupe')
  shared(program)
    .description('Agents that work together: durable, bounded, visible, resumable.')
    .usage('COMMAND [options]')
    .version(version(), '-v, --version', 'print the version')
    .helpCommand(false)
    .exitOverride()
    .configureHelp({
      subcommandTerm: (sub) => [sub.name(), ...sub.registeredArguments.map(termOf)].join(' '),
      minWidthToWrap: 20,
      // Commands come first in the overview; its options follow as text.
      visibleOptions: (command) => (command.parent ? Help.prototype.visibleOptions.call(new Help(), command) : []),
    })
    .configureOutput({
      writeOut: (text) => site.terminal.print(text.trimEnd()),
      writeErr: () => {},
      getOutHelpWidth: () => site.terminal.out.width,
      getOutHasColors: () => false,
    })
    .addHelpText('after', () => overviewOptions(program, site.terminal.out))
  starting(program, site)
  looking(program, site)
  steering(program, site)
  for (const command of program.commands) shared(command)
  return program
}

function termOf(argument: Argument): string {
  const word = argument.name().toUpperCase() + (argument.variadic ? '…' : '')
  return argument.required ? word : `[${word}]`
}

function starting(program: Command, site: Site): void {
  program.commandsGroup('Start:')
  add(program, site, 'demo', async (cli) => (await import('./commands/demo.ts')).demo(cli)).description(
    'a short scripted run, offline',
  )
  program.command('run [PATTERN]').description('start a run; troupe run --help lists the patterns')
  const chat = async (cli: Cli, [file]: string[]) => (await import('./commands/chat.ts')).chat(cli, file)
  taped(working(add(program, site, 'chat', chat)))
    .description('talk with a team')
    .argument('[file]', 'a team in YAML')
    .option('--agent <name>', 'talk with one agent of the roster instead')
    .option('--resume <run>', 'take up a conversation; its id, or how the id begins')
    .option('--retry', 'with --resume: try again at once what failed')
    .option('--set <name=value>', 'a variable of the team; repeatable', collected)
  add(program, site, 'init', async (cli) => (await import('./commands/init.ts')).init(cli)).description(
    'write a first roster into this folder',
  )
  const agents = async (cli: Cli, [what]: string[]) => (await import('./commands/agents.ts')).agents(cli, what)
  add(program, site, 'agents', agents)
    .description('who can be called')
    .argument('[check]', 'only say what is wrong with their files, and fail on errors')
    .option('--dir <folder>', 'only the agents in this folder and below')
    .option('--agents <folder>', 'agent files of your own (TROUPE_AGENTS)')
  describeTeam(program.command('team'), (parent, name, work) => add(parent, site, name, work))
  staffed(add(program, site, 'doctor', async (cli) => (await import('./commands/doctor.ts')).doctor(cli)))
    .description('is everything in order?')
    .option('--run <id>', "check this run's journal against every rule")
    .option('--call [model...]', 'ask each model of the roles, or these, one short question')
}

function looking(program: Command, site: Site): void {
  program.commandsGroup('Look:')
  add(program, site, 'runs', async (cli) => (await import('./commands/runs.ts')).runs(cli))
    .description('runs, the newest first')
    .addOption(new Option('-s, --status <status...>', 'only these').choices(STATUSES))
    .option('-n, --number <count>', 'how many at the most (20)', wholeNumber)
  add(program, site, 'show', async (cli, [run]) => (await import('./commands/show.ts')).show(cli, run))
    .description('one run as a tree')
    .argument('[run]', 'its id, or how the id begins; else the newest')
    .option('--all', 'every tool call')
    .option('--events', 'the journal instead, event by event')
  add(program, site, 'watch', async (cli, [run]) => (await import('./commands/watch.ts')).watch(cli, run))
    .description('follow a run live, from any process')
    .argument('[run]', 'its id, or how the id begins; else the newest')
    .option('--from-start', 'tell also what has happened before')
  const replay = async (cli: Cli, [run = '']: string[]) => (await import('./commands/replay.ts')).replay(cli, run)
  add(program, site, 'replay', replay)
    .description('execute a run again, offline, and compare')
    .argument('<run>', 'its id, or how the id begins')
  const diff = async (cli: Cli, [a = '', b = '']: string[]) => (await import('./commands/diff.ts')).diff(cli, [a, b])
  add(program, site, 'diff', diff)
    .description('where two runs part, and what it changed')
    .argument('<a>', 'the id of one run, or how it begins')
    .argument('<b>', 'the id of the other')
  add(program, site, 'cost', async (cli, [run]) => (await import('./commands/cost.ts')).cost(cli, run))
    .description('what was used, and what it cost')
    .argument('[run]', 'its id, or how the id begins; else all runs')
    .addOption(new Option('--by <what>', 'the groups (run; for one run agent)').choices(COST_GROUPS))
    .option('--since <day>', 'only calls from this day on, such as 2026-11-15')
    .option('--prices <file>', 'prices of your own; repeatable, the last wins', collected)
}

const COST_GROUPS = ['run', 'agent', 'model', 'day', 'session', 'phase']

const STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled']

function steering(program: Command, site: Site): void {
  program.commandsGroup('Steer:')
  taped(
    working(
      add(program, site, 'resume', async (cli, [run = '']) => (await import('./commands/resume.ts')).resume(cli, run)),
    ),
  )
    .description('go on with a run')
    .argument('<run>', 'its id, or how the id begins')
    .option('--force', 'also a run that was put aside because it kept crashing')
  const fork = async (cli: Cli, [run = '']: string[]) => (await import('./commands/fork.ts')).fork(cli, run)
  taped(working(add(program, site, 'fork', fork)))
    .description('go on from an event of a run, as a new run')
    .argument('<run>', 'its id, or how the id begins')
    .option('--at <seq>', 'the last event that is kept; show --events numbers them')
    .option(
      '--set <name=value>',
      'a change, such as agent.NAME.instructions=@FILE or gate.ID=yes; repeatable',
      collected,
    )
  add(program, site, 'cancel', async (cli, [run = '']) => (await import('./commands/cancel.ts')).cancel(cli, run))
    .description('end a run; what it did is kept')
    .argument('<run>', 'its id, or how the id begins')
    .option('--reason <text>', 'why, for whoever reads the journal')
  add(program, site, 'inbox', async (cli) => (await import('./commands/inbox.ts')).inbox(cli)).description(
    'questions that wait for a person',
  )
  const answer = async (cli: Cli, [gate = '', ...words]: string[]) =>
    (await import('./commands/answer.ts')).answer(cli, gate, words)
  taped(staffed(add(program, site, 'answer', answer)))
    .description('answer a question; its run goes on')
    .argument('<gate>', "the question's id, or how the id begins")
    .argument('[value...]', 'the answer')
    .option('--json-value <json>', 'an answer that is not text')
    .option('--no-wait', 'only write the answer down')
}

/** A command with the options that all have. */
function add(
  program: Command,
  site: Site,
  name: string,
  work: (cli: Cli, words: string[]) => Promise<number>,
): Command {
  const command = program.command(name).allowExcessArguments(false)
  return command.action(async () => {
    const options: CommonOptions = command.optsWithGlobals()
    calledWith([site.terminal.out, site.terminal.err], options)
    site.code = await work({ terminal: site.terminal, options }, command.args)
  })
}

function version(): string {
  const file = new URL('../../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
