import type { Command } from 'commander'
import { Argument, Option } from 'commander'
import type { Cli, CommandConfig, CommonOptions } from './cli.ts'
import { setProgramName } from './program-name.ts'
import type { OptionGroup, ProgramContext } from './shared-options.ts'
import { collectValues, EXECUTION, parsePositiveInteger, STEERING } from './shared-options.ts'
import type { Terminal } from './terminal.ts'

/* Commands, their arguments and options. Implementations are imported when a command is executed, so that --help and --version stay fast. */

type CommandHandler = (cli: Cli, ...args: string[]) => Promise<number>
type AddCommand = (name: string, load: () => Promise<CommandHandler>, options?: readonly OptionGroup[]) => Command

const RUN = 'run id or unique prefix'
const RUN_OR_NEWEST = `${RUN} (default: newest run)`
const TEAM_FILE = 'a team in YAML'
const NUMBER = '-n, --number <count>'
const YES = ['-y, --yes', 'do not ask'] as const

export function addCommands(program: Command, context: ProgramContext): void {
  const addTo =
    (parent: Command): AddCommand =>
    (name, load, options = []) =>
      addCommand(context, parent.command(name), { load, options })
  const addGroup = (name: string, description: string) =>
    context.shared
      .give(program.command(name).description(description))
      .usage(`${name === 'run [PATTERN]' ? 'PATTERN' : 'COMMAND'} [options]`)
      .helpCommand(false)
  const add = addTo(program.commandsGroup('Start:'))
  add('demo', async () => (await import('./commands/demo-command.ts')).demoCommand)
    .description('run a short scripted demo, offline')
    .option('--open', 'serve the page with runs at work, and open it in the browser')
    .option('--serve', 'serve the page with runs at work')
    .option('--port <number>', 'port of the page (default: 4747, or another if it is in use)')
  addGroup('run [PATTERN]', 'start a run; list patterns with: troupe run --help')
  // It stands for `run build`, and is only here for the overview.
  program.command('build <request>').description('plan, develop, test and review a change of a git repository')
  addStartCommands(add)
  addTeamCommands(addTo(addGroup('team', 'check, draw and explain a team file')))
  addKnowledgeCommands(addTo(addGroup('knowledge', 'what the project knows: its documents and resolved consultations')))
  program.commandsGroup('Inspect:')
  addInspectCommands(add)
  addOutputCommands(add)
  program.commandsGroup('Control:')
  addControlCommands(add)
  addStoreCommands(add)
}

function addStartCommands(add: AddCommand): void {
  add('chat', async () => (await import('./commands/chat-command.ts')).chatCommand, EXECUTION)
    .description('chat with a team or an agent')
    .argument('[file]', TEAM_FILE)
    .option('--agent <name>', 'chat with a single agent of the roster')
    .option('--resume <run>', `resume a conversation: ${RUN}`)
    .option('--retry', 'with --resume: retry a failed run at once')
    .option('--set <name=value>', 'set a variable of the team; repeatable', collectValues)
  const serve = async (cli: Cli) => (await import('./commands/serve-command.ts')).serveCommand(cli)
  add('serve', async () => serve, EXECUTION)
    .description('serve the page and the HTTP API, and execute runs')
    .option('--port <number>', 'port (default: 4747, or another if it is in use)')
    .option('--open', 'open the page in the browser')
    .option('--no-execute', 'only show runs and store answers; other processes execute them')
    .option('--token-scopes <list>', 'what the token may do: read,run,approve (default: all)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1); others need TLS or --behind-proxy')
    .option(
      '--public-host <name>',
      'name that clients use for this server, such as troupe.example.com; repeatable',
      collectValues,
    )
    .option('--tls-cert <file>', 'certificate in PEM format')
    .option('--tls-key <file>', 'key of the certificate in PEM format')
    .option('--behind-proxy', 'a proxy in front of it does the encryption')
    .option('--socket <path>', 'listen on a Unix socket that only you can use, instead of a port')
  add('init', async () => (await import('./commands/init-command.ts')).initCommand).description(
    'create troupe.config.ts and example agent files',
  )
  add('agents', async () => (await import('./commands/agents-command.ts')).agentsCommand, ['agents'])
    .description('list agents')
    .argument('[check]', 'only report problems in agent files; exit 1 on errors')
    .option('--dir <folder>', 'only agents of this folder and its subfolders')
  add('doctor', async () => (await import('./commands/doctor-command.ts')).doctorCommand, ['agents', 'models'])
    .description('check Node, configuration, models, sandbox, store and agent files')
    .option('--call [model...]', 'send a test request to each configured model, or to these')
}

function addTeamCommands(add: AddCommand): void {
  const commands = () => import('./commands/team-command.ts')
  add('check', async () => (await commands()).checkTeam, ['agents'])
    .description('report problems with line and column')
    .argument('<file>', TEAM_FILE)
    .option('--strict', 'fail on warnings too')
  add('graph', async () => (await commands()).drawTeam, ['agents'])
    .description('draw agents and handoffs')
    .argument('<file>', TEAM_FILE)
    .option('--mermaid', 'print as Mermaid')
  add('explain', async () => (await commands()).explainTeam, ['agents'])
    .description('show which handoff would follow a response; runs nothing')
    .argument('<file>', TEAM_FILE)
    .requiredOption('--from <agent>', 'sender of the response: an agent, a group, or user')
    .option('--response <text>', 'text of the response')
    .option('--set <name=value>', 'set a variable; repeatable', collectValues)
    .option('--assume <text>', 'semantic condition to treat as true; repeatable', collectValues)
    .option('--deny <text>', 'semantic condition to treat as false; repeatable', collectValues)
  add('schema', async () => (await commands()).printTeamSchema).description(
    'print the JSON Schema of team files, for editors',
  )
}

function addKnowledgeCommands(add: AddCommand): void {
  const commands = () => import('./commands/knowledge-command.ts')
  const kind = () =>
    new Option('-k, --kind <kind>', 'documents, or resolved consultations (agent_collaboration)').choices([
      'document',
      'agent_collaboration',
    ])
  add('add', async () => (await commands()).addKnowledge)
    .description('store Markdown and text files; a changed file is replaced, an unchanged one skipped')
    .argument('<path...>', 'files, or folders with such files')
  add('search', async () => (await commands()).searchKnowledge)
    .description('find by meaning, or by words without an embedder')
    .argument('<query...>', 'what to look for')
    .addOption(kind().default('document'))
    .option(NUMBER, 'maximum number of matches (default: 5)', parsePositiveInteger)
  add('list', async () => (await commands()).listKnowledge)
    .description('list files and resolved consultations')
    .addOption(kind())
  add('forget', async () => (await commands()).forgetKnowledge)
    .description('remove files or entries; files on disk are not touched')
    .argument('[name...]', 'paths or ids, as `list` prints them')
    .option('--all', 'everything of this project')
    .option(...YES)
  add('reindex', async () => (await commands()).reindexKnowledge).description(
    'make the vectors anew after a change of the embedder',
  )
}

function addInspectCommands(add: AddCommand): void {
  add('runs', async () => (await import('./commands/runs-command.ts')).runsCommand)
    .description('list runs, newest first')
    .addOption(
      new Option('-s, --status <status...>', 'only runs with these statuses').choices([
        ...['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled'],
      ]),
    )
    .option('-t, --tag <tag>', 'only runs with this tag; repeatable', collectValues)
    .option('--search <words>', 'only runs with all of these words: in title, tags, agents or the texts of sessions')
    .option(NUMBER, 'maximum number of runs (default: 20)', parsePositiveInteger)
  add('sessions', async () => (await import('./commands/sessions-command.ts')).sessionsCommand)
    .description('list sessions of agents, newest first; continue one with: troupe run task --continue ID')
    .option('--run <run>', `only sessions of this run: ${RUN}`)
    .option('-a, --agent <name>', 'only sessions of this agent')
    .option(NUMBER, 'maximum number of sessions (default: 20)', parsePositiveInteger)
  add('show', async () => (await import('./commands/show-command.ts')).showCommand)
    .description('show a run as a tree, or in full')
    .argument('[run]', RUN_OR_NEWEST)
    .argument('[agent]', 'print the whole conversation of this agent')
    .option('--full', 'print whole instructions, answers, tool calls and results')
    .option('--all', 'include every tool call, and all parts of panels')
    .option('--events', 'print the journal instead')
    .option(
      '--requests [number]',
      'print what models were sent and answered: each request, or this one; --full adds schemas',
    )
  add('watch', async () => (await import('./commands/watch-command.ts')).watchCommand)
    .description('follow a run live, from any process')
    .argument('[run]', RUN_OR_NEWEST)
    .option('--from-start', 'include past events')
  add('artifacts', async () => (await import('./commands/artifacts-command.ts')).artifactsCommand)
    .description('list the artifacts of a run, or print one')
    .argument('[run]', RUN_OR_NEWEST)
    .argument('[name]', 'name of the artifact to print')
    .option('--version <number>', 'an older version (default: the newest)')
    .option('--out <file>', 'write the content to a file')
}

function addOutputCommands(add: AddCommand): void {
  add('export', async () => (await import('./commands/export-command.ts')).exportCommand)
    .description('write a run as a session file, or as a page that opens without a server')
    .argument('[run]', `${RUN_OR_NEWEST}, or a .jsonl transcript of a coding agent`)
    .addOption(
      new Option('--format <format>', 'the format of the file').choices(['session', 'html']).default('session'),
    )
    .option('--output <file>', 'write to this file (default: standard output)')
  add('validate', async () => (await import('./commands/validate-command.ts')).validateCommand)
    .description('check a session file, of one agent or of several')
    .argument('<file>', 'a session file in JSON')
  add('replay', async () => (await import('./commands/replay-command.ts')).replayCommand)
    .description('replay a run offline and compare')
    .argument('<run>', RUN)
  add('diff', async () => (await import('./commands/diff-command.ts')).diffCommand)
    .description('compare two runs')
    .argument('<a>', RUN)
    .argument('<b>', RUN)
  add('profile', async () => (await import('./commands/profile-command.ts')).profileCommand)
    .description('show what is known about the project: type, stack, decisions, practices')
    .argument('[folder]', 'the folder of the project (default: the current one)')
    .option('--write', 'write it to .troupe/profile.yaml, to be edited')
  add('cost', async () => (await import('./commands/cost-command.ts')).costCommand)
    .description('show usage and cost')
    .argument('[run]', `${RUN} (default: all runs)`)
    .addOption(
      new Option(
        '--by <group>',
        'group rows (default: pattern, model, agent and run; for a single run: agent)',
      ).choices(['run', 'pattern', 'agent', 'model', 'day', 'session', 'phase']),
    )
    .option('--all', 'list all groups (default: the first 20)')
    .option('--since <day>', 'only requests since this day, such as 2026-11-15')
    .option('--prices <file>', 'price file; repeatable, the last one wins', collectValues)
  add('metrics', async () => (await import('./commands/metrics-command.ts')).metricsCommand)
    .description('show what patterns measure: how often, how well, how fast, at what cost')
    .argument('[pattern]', 'only this pattern (default: all that measure something)')
    .option('--by <group>', 'group rows: pair, scenario or period for consultations')
    .option('--since <day>', 'only what began since this day, such as 2026-11-15')
}

function addControlCommands(add: AddCommand): void {
  add('inbox', async () => (await import('./commands/inbox-command.ts')).inboxCommand).description(
    'list open questions',
  )
  add('answer', async () => (await import('./commands/answer-command.ts')).answerCommand, STEERING)
    .description('answer an open question and resume its run')
    .argument('<gate>', 'question id or unique prefix')
    .argument('[value...]', 'the answer')
    .option('--json-value <json>', 'answer with a JSON value instead of text')
    .option('--no-wait', 'record the answer without resuming the run here')
  add('steer', async () => (await import('./commands/steer-command.ts')).steerCommand, STEERING)
    .description('steer a running team: pause, step, continue, next AGENT, set NAME=VALUE or say TEXT')
    .argument('<run>', RUN)
    .argument('<action>', 'one of: pause, step, continue, next, set, say')
    .argument('[value...]', 'an agent or group for next, NAME=VALUE for set, the message for say')
    .option('--in <path>', 'steer a sub-team, such as legal or legal/contracts')
    .option('--attach <file>', 'with say: attach an image, a PDF or a text file; repeatable', collectValues)
    .option('--no-wait', 'record the action without executing the run here')
  add('resume', async () => (await import('./commands/resume-command.ts')).resumeCommand, EXECUTION)
    .description('resume a run')
    .argument('<run>', RUN)
    .option('--force', 'resume a run that was quarantined after repeated crashes')
  add('fork', async () => (await import('./commands/fork-command.ts')).forkCommand, EXECUTION)
    .description('continue from an event of a run as a new run')
    .argument('<run>', RUN)
    .option('--at <seq>', 'seq of the last event to keep; list with: troupe show RUN --events')
    .option(
      '--set <name=value>',
      'change something, such as agent.NAME.instructions=@FILE or gate.ID=yes; repeatable',
      collectValues,
    )
  add('cancel', async () => (await import('./commands/cancel-command.ts')).cancelCommand)
    .description('cancel a run; its journal is kept')
    .argument('<run>', RUN)
    .option('--reason <text>', 'reason, recorded in the journal')
}

function addStoreCommands(add: AddCommand): void {
  add('delete', async () => (await import('./commands/delete-command.ts')).deleteCommand)
    .description('delete runs with everything that only they use')
    .argument('<run...>', 'run ids or unique prefixes')
    .option(...YES)
  add('prune', async () => (await import('./commands/prune-command.ts')).pruneCommand)
    .description('delete runs that ended long ago, and shrink the store')
    .requiredOption('--older-than <age>', 'age of the runs, such as 30d, 12h or 2w')
    .option('--keep-failed', 'keep failed runs')
    .option('--dry-run', 'only show what would be deleted')
    .option(...YES)
  add('backup', async () => (await import('./commands/backup-command.ts')).backupCommand)
    .description('copy the store to a new file, also while it is in use')
    .argument('<file>', 'the new file; use it later with --store')
  add('trust', async () => (await import('./commands/trust-command.ts')).trustCommand)
    .summary('count the store of this folder as yours')
    .description(
      'count the store of this folder as yours: the runs in it, with their approvals, agents and limits; do this only for a store that you made. To use it for one command only, pass --store PATH to that command instead',
    )
    .addArgument(new Argument('<store>', 'the word `store`').choices(['store']))
    .option('--new', 'put the old file aside as troupe-put-aside-1.db instead, and start a new store in this folder')
  add('verify', async () => (await import('./commands/verify-command.ts')).verifyCommand)
    .description('check the journals for damage, and all that is derived from them; exits with 1 if there is some')
    .argument('[run]', `${RUN}; without it, the whole store`)
    .option('--accept-loss', 'go on with what is left of a store that lost its newest commits')
}

function addCommand(
  context: ProgramContext,
  command: Command,
  { load, options: groups }: { load: () => Promise<CommandHandler>; options: readonly OptionGroup[] },
): Command {
  const { terminal, shared } = context
  return shared.give(command.allowExcessArguments(false), groups).action(async () => {
    const options: CommonOptions & { wait?: boolean; execute?: boolean } = shared.valuesOf(command)
    setProgramName([terminal.out, terminal.err], options)
    // Without the tools and hooks of the project, a run would not do what was meant.
    const executes = groups.includes('execution') && options.wait !== false && options.execute !== false
    const config = await loadConfigFor(command.name(), terminal, { options, executes })
    const execute = await load()
    context.code = await execute({ terminal, options, ...config, executes }, ...command.args)
  })
}

/** Commands that need no configuration, or report what is wrong with it. */
const UNCONFIGURED = new Set(['init', 'demo', 'schema', 'doctor', 'profile', 'validate'])

async function loadConfigFor(
  name: string,
  terminal: Terminal,
  { options, executes }: { options: CommonOptions; executes: boolean },
): Promise<CommandConfig> {
  if (UNCONFIGURED.has(name)) return {}
  const { loadCommandConfig } = await import('./project-config.ts')
  return loadCommandConfig(terminal, {
    use: executes ? 'execute' : 'read',
    trustProject: options.trustProject === true,
    quiet: options.quiet === true,
    ...(name === 'serve' ? { withoutConfig: 'To only look at runs, pass --no-execute.' } : undefined),
    ...(name === 'answer' ? { withoutConfig: 'The answer is not stored; --no-wait only stores it.' } : undefined),
  })
}
