import { readFileSync } from 'node:fs'
import type { Argument } from 'commander'
import { Command, CommanderError, Help, Option } from 'commander'
import type { Cli, CommonOptions } from './cli.ts'
import { fail, usageError } from './failure.ts'
import { overviewOptions, shared, staffed, wholeNumber, working } from './program-options.ts'
import type { Terminal } from './terminal.ts'
import { realTerminal } from './terminal.ts'

/*
 * The commands and what they take. The work of each is loaded when it is called, so that help and version load nothing
 * else.
 */

/** Runs the command line to its end; returns the exit code. */
export async function main(argv: readonly string[], terminal: Terminal = realTerminal()): Promise<number> {
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
    const error = usageError(thrown, command)
    return error ? fail(error, { terminal, json, command }) : site.code
  }
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
  staffed(
    add(program, site, 'agents', async (cli) => (await import('./commands/agents.ts')).agents(cli)).description(
      'who can be called',
    ),
  )
  staffed(add(program, site, 'doctor', async (cli) => (await import('./commands/doctor.ts')).doctor(cli)))
    .description('is everything in order?')
    .option('--run <id>', "check this run's journal against every rule")
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
}

const STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled']

function steering(program: Command, site: Site): void {
  program.commandsGroup('Steer:')
  working(
    add(program, site, 'resume', async (cli, [run = '']) => (await import('./commands/resume.ts')).resume(cli, run)),
  )
    .description('go on with a run')
    .argument('<run>', 'its id, or how the id begins')
    .option('--force', 'also a run that was put aside because it kept crashing')
  add(program, site, 'cancel', async (cli, [run = '']) => (await import('./commands/cancel.ts')).cancel(cli, run))
    .description('end a run; what it did is kept')
    .argument('<run>', 'its id, or how the id begins')
    .option('--reason <text>', 'why, for whoever reads the journal')
  add(program, site, 'inbox', async (cli) => (await import('./commands/inbox.ts')).inbox(cli)).description(
    'questions that wait for a person',
  )
  const answer = async (cli: Cli, [gate = '', ...words]: string[]) =>
    (await import('./commands/answer.ts')).answer(cli, gate, words)
  staffed(add(program, site, 'answer', answer))
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
    site.code = await work({ terminal: site.terminal, options }, command.args)
  })
}

function version(): string {
  const file = new URL('../../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
