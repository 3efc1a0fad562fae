import { Argument, Command, CommanderError, Help, Option } from 'commander'
import type { Cli, CommandConfig, CommonOptions, ProgramContext } from './cli.ts'
import { expandBuildCommand } from './commands/build-command.ts'
import { inertTerminal } from './inert-output.ts'
import { commandName, requireKnownCommand } from './known-command.ts'
import { addKnowledgeCommands } from './program-knowledge.ts'
import { packageVersion, setProgramName } from './program-name.ts'
import {
  addAgentOptions,
  addCommonOptions,
  addExecutionOptions,
  addRunOptions,
  collectValues,
  formatOverviewOptions,
  parsePositiveInteger,
} from './program-options.ts'
import { addDemoCommand, addServeCommand } from './program-serve.ts'
import type { AddCommand } from './program-team.ts'
import { addTeamCommands } from './program-team.ts'
import { reportError, usageError } from './report-error.ts'
import type { Terminal } from './terminal.ts'
import { realTerminal } from './terminal.ts'

/* Commands and their options. Implementations are imported lazily, so that --help and --version stay fast. */

/** Runs the command line; returns the exit code. */
export async function main(args: readonly string[], output: Terminal = realTerminal()): Promise<number> {
  const terminal = inertTerminal(output)
  const argv = expandBuildCommand(expandHelpCommand(args))
  const json = argv.includes('--json')
  const command = commandName(argv)
  const context: ProgramContext = { terminal, code: 0 }
  const program = createProgram(context)
  try {
    await reportInterruptedCommands(terminal)
    const words = command === 'run' ? await preparePatternCommands(program, context, argv) : [...argv]
    requireKnownCommand(program, words)
    await program.parseAsync(words, { from: 'user' })
    return context.code
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) return reportError(thrown, { terminal, json, command })
    if (thrown.code === 'commander.help') program.outputHelp()
    const error = usageError(thrown, commandPath(argv))
    return error ? reportError(error, { terminal, json, command }) : context.code
  }
}

/** Sandbox escape: before a configuration is loaded or git is used, what a killed command left behind is made harmless. */
async function reportInterruptedCommands(terminal: Terminal): Promise<void> {
  const { recoverInterruptedCommands } = await import('../../runtime/tool-ports.ts')
  for (const note of await recoverInterruptedCommands()) terminal.note(`warning: ${note}`)
}

/** `troupe help chat` becomes `troupe chat --help`. */
function expandHelpCommand(argv: readonly string[]): readonly string[] {
  const index = argv[0] === 'team' ? 1 : 0
  return argv[index] === 'help' ? [...argv.slice(0, index), ...argv.slice(index + 1), '--help'] : argv
}

/** The command whose help a usage error points to. */
function commandPath(argv: readonly string[]): string | undefined {
  const command = commandName(argv)
  const hasSubcommands = command === 'run' || command === 'team' || command === 'knowledge'
  const sub = hasSubcommands ? argv[argv.indexOf(command) + 1] : undefined
  return sub !== undefined && /^[a-z]+$/.test(sub) ? `${command} ${sub}` : command
}

async function preparePatternCommands(
  program: Command,
  context: ProgramContext,
  argv: readonly string[],
): Promise<string[]> {
  const { addPatternCommands } = await import('./program-patterns.ts')
  const { normalizeFlags } = await import('./pattern-flags.ts')
  const { loadCommandConfig } = await import('./project-config.ts')
  const isHelp = argv.includes('--help') || argv.includes('-h')
  const loaded = await loadCommandConfig(context.terminal, {
    use: isHelp ? 'help' : 'execute',
    trustProject: argv.includes('--trust-project'),
    quiet: true,
  })
  Object.assign(context, loaded)
  for (const command of program.commands) if (command.name() === 'run') await addPatternCommands(command, context)
  return normalizeFlags(argv)
}

function createProgram(context: ProgramContext): Command {
  const program = new Command('troupe')
  addCommonOptions(program)
    .description('Run teams of agents: durable, bounded, observable, resumable.')
    .usage('COMMAND [options]')
    .version(packageVersion(), '-v, --version', 'print the version')
    // After a command, `--version` is an option of that command.
    .enablePositionalOptions()
    .helpCommand(false)
    .exitOverride()
    .configureHelp({
      subcommandTerm: (sub) => [sub.name(), ...sub.registeredArguments.map(argumentTerm)].join(' '),
      minWidthToWrap: 20,
      // The overview lists commands first; its options are added as help text.
      visibleOptions: (command) => (command.parent ? Help.prototype.visibleOptions.call(new Help(), command) : []),
    })
    .configureOutput({
      writeOut: (text) => context.terminal.print(text.trimEnd()),
      writeErr: () => {},
      getOutHelpWidth: () => context.terminal.out.width,
      getOutHasColors: () => false,
    })
    .addHelpText('after', () => formatOverviewOptions(program, context.terminal.out))
  const add = createAddCommand(context)
  addStartCommands(program, add)
  addInspectCommands(program, add)
  addControlCommands(program, add)
  for (const command of program.commands) addCommonOptions(command)
  return program
}

function argumentTerm(argument: Argument): string {
  const word = argument.name().toUpperCase() + (argument.variadic ? '…' : '')
  return argument.required ? word : `[${word}]`
}

function addStartCommands(program: Command, add: AddCommand): void {
  program.commandsGroup('Start:')
  addDemoCommand(program, add)
  program.command('run [PATTERN]').description('start a run; list patterns with: troupe run --help')
  // `main` expands it to `run build`; it is only here for the overview.
  program
    .command('build')
    .argument('<request>')
    .description('plan, develop, test and review a change of a git repository')
  const chat = async (cli: Cli, [file]: string[]) => (await import('./commands/chat-command.ts')).chatCommand(cli, file)
  addExecutionOptions(addRunOptions(add(program, 'chat', chat)))
    .description('chat with a team or an agent')
    .argument('[file]', 'a team in YAML')
    .option('--agent <name>', 'chat with a single agent of the roster')
    .option('--resume <run>', 'resume a conversation: run id or unique prefix')
    .option('--retry', 'with --resume: retry a failed run at once')
    .option('--set <name=value>', 'set a variable of the team; repeatable', collectValues)
  addServeCommand(program, add)
  add(program, 'init', async (cli) => (await import('./commands/init-command.ts')).initCommand(cli)).description(
    'create troupe.config.ts and example agent files',
  )
  const agents = async (cli: Cli, [subcommand]: string[]) =>
    (await import('./commands/agents-command.ts')).agentsCommand(cli, subcommand)
  add(program, 'agents', agents)
    .description('list agents')
    .argument('[check]', 'only report problems in agent files; exit 1 on errors')
    .option('--dir <folder>', 'only agents of this folder and its subfolders')
    .option('--agents <folder>', 'folder with agent files (TROUPE_AGENTS)')
  addTeamCommands(program.command('team'), add)
  addKnowledgeCommands(program.command('knowledge'), add)
  addAgentOptions(
    add(program, 'doctor', async (cli) => (await import('./commands/doctor-command.ts')).doctorCommand(cli)),
  )
    .description('check Node, configuration, models, sandbox, store and agent files')
    .option('--call [model...]', 'send a test request to each configured model, or to these')
}

function addInspectCommands(program: Command, add: AddCommand): void {
  program.commandsGroup('Inspect:')
  add(program, 'runs', async (cli) => (await import('./commands/runs-command.ts')).runsCommand(cli))
    .description('list runs, newest first')
    .addOption(new Option('-s, --status <status...>', 'only runs with these statuses').choices(STATUSES))
    .option('-t, --tag <tag>', 'only runs with this tag; repeatable', collectValues)
    .option('--search <words>', 'only runs with all of these words: in title, tags, agents or the texts of sessions')
    .option('-n, --number <count>', 'maximum number of runs (default: 20)', parsePositiveInteger)
  add(program, 'sessions', async (cli) => (await import('./commands/sessions-command.ts')).sessionsCommand(cli))
    .description('list sessions of agents, newest first; continue one with: troupe run task --continue ID')
    .option('--run <run>', 'only sessions of this run: id or unique prefix')
    .option('-a, --agent <name>', 'only sessions of this agent')
    .option('-n, --number <count>', 'maximum number of sessions (default: 20)', parsePositiveInteger)
  const show = async (cli: Cli, [run, agent]: string[]) =>
    (await import('./commands/show-command.ts')).showCommand(cli, run, agent)
  add(program, 'show', show)
    .description('show a run as a tree, or in full')
    .argument('[run]', 'run id or unique prefix (default: newest run)')
    .argument('[agent]', 'print the whole conversation of this agent')
    .option('--full', 'print whole instructions, answers, tool calls and results')
    .option('--all', 'include every tool call')
    .option('--events', 'print the journal instead')
  add(program, 'watch', async (cli, [run]) => (await import('./commands/watch-command.ts')).watchCommand(cli, run))
    .description('follow a run live, from any process')
    .argument('[run]', 'run id or unique prefix (default: newest run)')
    .option('--from-start', 'include past events')
  const artifacts = async (cli: Cli, names: string[]) =>
    (await import('./commands/artifacts-command.ts')).artifactsCommand(cli, names)
  add(program, 'artifacts', artifacts)
    .description('list the artifacts of a run, or print one')
    .argument('[run]', 'run id or unique prefix (default: newest run)')
    .argument('[name]', 'name of the artifact to print')
    .option('--version <number>', 'an older version (default: the newest)')
    .option('--out <file>', 'write the content to a file')
  addSessionFileCommands(program, add)
  const replay = async (cli: Cli, [run = '']: string[]) =>
    (await import('./commands/replay-command.ts')).replayCommand(cli, run)
  add(program, 'replay', replay)
    .description('replay a run offline and compare')
    .argument('<run>', 'run id or unique prefix')
  const diff = async (cli: Cli, [a = '', b = '']: string[]) =>
    (await import('./commands/diff-command.ts')).diffCommand(cli, [a, b])
  add(program, 'diff', diff)
    .description('compare two runs')
    .argument('<a>', 'run id or unique prefix')
    .argument('<b>', 'run id or unique prefix')
  add(program, 'profile', async (cli, [folder]) =>
    (await import('./commands/profile-command.ts')).profileCommand(cli, folder),
  )
    .description('show what is known about the project: type, stack, decisions, practices')
    .argument('[folder]', 'the folder of the project (default: the current one)')
    .option('--write', 'write it to .troupe/profile.yaml, to be edited')
  add(program, 'cost', async (cli, [run]) => (await import('./commands/cost-command.ts')).costCommand(cli, run))
    .description('show usage and cost')
    .argument('[run]', 'run id or unique prefix (default: all runs)')
    .addOption(
      new Option(
        '--by <group>',
        'group rows (default: pattern, model, agent and run; for a single run: agent)',
      ).choices(COST_GROUPS),
    )
    .option('--all', 'list all groups (default: the first 20)')
    .option('--since <day>', 'only requests since this day, such as 2026-11-15')
    .option('--prices <file>', 'price file; repeatable, the last one wins', collectValues)
  addMetrics(program, add)
}

function addSessionFileCommands(program: Command, add: AddCommand): void {
  add(program, 'export', async (cli, [run]) => (await import('./commands/export-command.ts')).exportCommand(cli, run))
    .description('write a run as a session file, or as a page that opens without a server')
    .argument('[run]', 'run id or unique prefix (default: newest run), or a .jsonl transcript of a coding agent')
    .addOption(
      new Option('--format <format>', 'the format of the file').choices(['session', 'html']).default('session'),
    )
    .option('--output <file>', 'write to this file (default: standard output)')
  add(program, 'validate', async (cli, [file = '']) =>
    (await import('./commands/validate-command.ts')).validateCommand(cli, file),
  )
    .description('check a session file, of one agent or of several')
    .argument('<file>', 'a session file in JSON')
}

function addMetrics(program: Command, add: AddCommand): void {
  const metrics = async (cli: Cli, [pattern]: string[]) =>
    (await import('./commands/metrics-command.ts')).metricsCommand(cli, pattern)
  add(program, 'metrics', metrics)
    .description('show what patterns measure: how often, how well, how fast, at what cost')
    .argument('[pattern]', 'only this pattern (default: all that measure something)')
    .option('--by <group>', 'group rows: pair, scenario or period for consultations')
    .option('--since <day>', 'only what began since this day, such as 2026-11-15')
}

const COST_GROUPS = ['run', 'pattern', 'agent', 'model', 'day', 'session', 'phase']

const STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled']

function addControlCommands(program: Command, add: AddCommand): void {
  program.commandsGroup('Control:')
  addExecutionOptions(
    addRunOptions(
      add(program, 'resume', async (cli, [run = '']) =>
        (await import('./commands/resume-command.ts')).resumeCommand(cli, run),
      ),
    ),
  )
    .description('resume a run')
    .argument('<run>', 'run id or unique prefix')
    .option('--force', 'resume a run that was quarantined after repeated crashes')
  const fork = async (cli: Cli, [run = '']: string[]) =>
    (await import('./commands/fork-command.ts')).forkCommand(cli, run)
  addExecutionOptions(addRunOptions(add(program, 'fork', fork)))
    .description('continue from an event of a run as a new run')
    .argument('<run>', 'run id or unique prefix')
    .option('--at <seq>', 'seq of the last event to keep; list with: troupe show RUN --events')
    .option(
      '--set <name=value>',
      'change something, such as agent.NAME.instructions=@FILE or gate.ID=yes; repeatable',
      collectValues,
    )
  add(program, 'cancel', async (cli, [run = '']) =>
    (await import('./commands/cancel-command.ts')).cancelCommand(cli, run),
  )
    .description('cancel a run; its journal is kept')
    .argument('<run>', 'run id or unique prefix')
    .option('--reason <text>', 'reason, recorded in the journal')
  const deleteRuns = async (cli: Cli, runs: string[]) =>
    (await import('./commands/delete-command.ts')).deleteCommand(cli, runs)
  add(program, 'delete', deleteRuns)
    .description('delete runs with everything that only they use')
    .argument('<run...>', 'run ids or unique prefixes')
    .option('-y, --yes', 'do not ask')
  const backUp = async (cli: Cli, [file = '']: string[]) =>
    (await import('./commands/backup-command.ts')).backupCommand(cli, file)
  add(program, 'backup', backUp)
    .description('copy the store to a new file, also while it is in use')
    .argument('<file>', 'the new file; use it later with --store')
  add(program, 'trust', async (cli) => (await import('./commands/trust-command.ts')).trustCommand(cli))
    .description(
      'count the store of this folder as yours: the runs in it, with their approvals, agents and limits; do this only for a store that you made. To use it for one command only, pass --store PATH to that command instead',
    )
    .addArgument(new Argument('<store>', 'the word `store`').choices(['store']))
    .option('--new', 'put the old file aside as troupe-put-aside-1.db instead, and start a new store in this folder')
  const verify = async (cli: Cli, [run]: string[]) =>
    (await import('./commands/verify-command.ts')).verifyCommand(cli, run)
  add(program, 'verify', verify)
    .description('check the journals for damage, and all that is derived from them; exits with 1 if there is some')
    .argument('[run]', 'run id or unique prefix; without it, the whole store')
    .option('--accept-loss', 'go on with what is left of a store that lost its newest commits')
  add(program, 'prune', async (cli) => (await import('./commands/prune-command.ts')).pruneCommand(cli))
    .description('delete runs that ended long ago, and shrink the store')
    .requiredOption('--older-than <age>', 'age of the runs, such as 30d, 12h or 2w')
    .option('--keep-failed', 'keep failed runs')
    .option('--dry-run', 'only show what would be deleted')
    .option('-y, --yes', 'do not ask')
  add(program, 'inbox', async (cli) => (await import('./commands/inbox-command.ts')).inboxCommand(cli)).description(
    'list open questions',
  )
  const answer = async (cli: Cli, [gate = '', ...values]: string[]) =>
    (await import('./commands/answer-command.ts')).answerCommand(cli, gate, values)
  addExecutionOptions(addAgentOptions(add(program, 'answer', answer)))
    .description('answer an open question and resume its run')
    .argument('<gate>', 'question id or unique prefix')
    .argument('[value...]', 'the answer')
    .option('--json-value <json>', 'answer with a JSON value instead of text')
    .option('--no-wait', 'record the answer without resuming the run here')
}

function createAddCommand(context: ProgramContext): AddCommand {
  const { terminal } = context
  return (parent, name, handler) => {
    const command = parent.command(name).allowExcessArguments(false)
    return command.action(async () => {
      const options: CommonOptions = command.optsWithGlobals()
      setProgramName([terminal.out, terminal.err], options)
      const executes = isExecuting(command.name(), options)
      const loaded = await loadConfigFor(command, terminal, { ...options, executes })
      context.code = await handler({ terminal, options, ...loaded, executes }, command.args)
    })
  }
}

/** Commands that need no configuration, or report what is wrong with it. */
const UNCONFIGURED = new Set(['init', 'demo', 'schema', 'doctor', 'profile', 'validate'])
/** Commands that execute runs: without the tools and hooks of the project they would not do what was meant. */
const EXECUTING = new Set([
  'chat',
  'resume',
  'fork',
  'answer',
  'pause',
  'step',
  'continue',
  'next',
  'set',
  'say',
  'serve',
])

function isExecuting(name: string, options: CommonOptions & { wait?: boolean; execute?: boolean }): boolean {
  return EXECUTING.has(name) && options.wait !== false && options.execute !== false
}

async function loadConfigFor(
  command: Command,
  terminal: Terminal,
  options: CommonOptions & { executes: boolean },
): Promise<CommandConfig> {
  const name = command.name()
  if (UNCONFIGURED.has(name)) return {}
  const { loadCommandConfig } = await import('./project-config.ts')
  return loadCommandConfig(terminal, {
    use: options.executes ? 'execute' : 'read',
    trustProject: options.trustProject === true,
    quiet: options.quiet === true,
    ...(name === 'serve' ? { withoutConfig: 'To only look at runs, pass --no-execute.' } : undefined),
    ...(name === 'answer' ? { withoutConfig: 'The answer is not stored; --no-wait only stores it.' } : undefined),
  })
}
