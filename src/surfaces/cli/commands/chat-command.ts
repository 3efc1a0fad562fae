import { TroupeError } from '../../../errors.ts'
import type { RunRow, Troupe } from '../../../index.ts'
import type { Team } from '../../../judgement/team/team-schema.ts'
import type { ChatConsole } from '../chat/chat-console.ts'
import { InteractiveConsole } from '../chat/chat-console.ts'
import { ChatController } from '../chat/chat-controller.ts'
import { Conversation } from '../chat/conversation.ts'
import { createPipeConsole, readStdinLines } from '../chat/pipe-console.ts'
import { greetingLines, showRecap } from '../chat/recap.ts'
import type { SourceWatcher } from '../chat/watch-sources.ts'
import { watchSources } from '../chat/watch-sources.ts'
import type { Cli } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { limitsFrom } from '../limit-option.ts'
import { loadTeam, parseTeamVariables, singleAgentTeam } from '../load-team.ts'
import { modelName, openTroupe, storePath } from '../open-troupe.ts'
import { withProgramName } from '../render/styled-line.ts'
import { requireSameModel } from '../require-same-model.ts'
import { loadRunTeam } from './steer-command.ts'

type ChatOptions = { set?: string[]; resume?: string; agent?: string; retry?: boolean }

/** Talks with a team until the person leaves; the run stays, and can be taken up again. */
export async function chatCommand(given: Cli<ChatOptions>, file: string | undefined): Promise<number> {
  // A place to type would be drawn into words that go elsewhere.
  const cli = given.terminal.outputIsTTY ? given : { ...given, terminal: { ...given.terminal, live: false } }
  const { agent, resume, set = [] } = cli.options
  if (file !== undefined && agent !== undefined) throw invalidUsage('a team file and --agent are both given')
  if (file === undefined && agent === undefined && resume === undefined)
    throw invalidUsage('nobody to talk with is named')
  const limits = await limitsFrom(cli)
  const loadNamedTeam = async () =>
    file !== undefined ? loadTeam(cli, file) : agent === undefined ? undefined : singleAgentTeam(cli, agent)
  const team = await loadNamedTeam()
  const troupe = await openTroupe(cli, resume === undefined ? 'new' : 'existing')
  const place: ChatScope = { cli, file, loadNamedTeam, troupe }
  try {
    const row = resume === undefined ? undefined : await findResumableRun(cli, troupe, resume)
    if (row && ['waiting', 'pending', 'running'].includes(row.status)) await requireSameModel(cli, troupe, row.run_id)
    const known = row ? await loadRunTeam(troupe, row) : team
    if (!known) throw invalidUsage('nobody to talk with is named')
    const variables = await parseTeamVariables(known, set)
    const context = { team: known, variables, model: modelName(cli), limits, ...conversationHandlers(() => talk) }
    const conversation = new Conversation(troupe, context)
    const talk: ChatController = new ChatController(cli, {
      conversation,
      reloadAgents: () => reloadAgents(place, talk),
      startOver: () => startOver(place, talk),
    })
    return await runChat(place, talk, row)
  } finally {
    // With a place to type still open the process would wait for keys.
    place.console?.close()
    place.sources?.close()
    await place.troupe.close()
    place.onClosed?.()
  }
}

interface ChatScope {
  cli: Cli<ChatOptions>
  file: string | undefined
  /** The team as it is written now, where one was named. */
  loadNamedTeam(): Promise<Team | undefined>
  troupe: Troupe
  console?: ChatConsole
  sources?: SourceWatcher
  onClosed?: () => void
}

/** The conversation is there before the one who tells of it. */
function conversationHandlers(talk: () => ChatController) {
  return {
    onEvent: (event: Parameters<ChatController['showEvent']>[0]) => talk().showEvent(event),
    onDelta: (delta: Parameters<ChatController['addDelta']>[0]) => talk().addDelta(delta),
    onActivity: () => talk().scheduleRedraw(),
    onIdle: () => talk().clearLive(),
  }
}

async function runChat(place: ChatScope, talk: ChatController, row: RunRow | undefined): Promise<number> {
  const { cli, file } = place
  const { conversation } = talk
  const { terminal, options } = cli
  const typing = terminal.interactive && options.json !== true
  const open = () =>
    InteractiveConsole.open(terminal, {
      line: (text) => void talk.submit(text),
      interrupt: () => talk.interrupt(),
      end: () => talk.leave(),
      complete: (text) => talk.complete(text),
    })
  const greets = !row && !options.quiet && !options.json
  // Before anybody can type: what is typed early would stand above it.
  if (greets) for (const text of greetingLines(conversation.context.team, terminal.err)) terminal.note(text)
  talk.console = typing ? await open() : createPipeConsole(terminal)
  place.console = talk.console
  const stop = handleSignals(cli, talk, typing && !terminal.live)
  place.sources = await watchSources(cli, file, {
    agentsChanged(changed, gone) {
      if (changed.length > 0) talk.note(`${changed.join(', ')} changed: as they are now from your next message on`)
      if (gone.length > 0) talk.note(`${gone.join(', ')}: the file is gone; put it back, or /new with another team`)
    },
    problem: (message) => talk.note(`the agents stay as they were: ${message}`),
    teamChanged: () => talk.note(`${file} has changed; /new begins a conversation with it`),
  })
  if (row) await resumeConversation(place, talk, row)
  if (!typing) void submitPipedLines(talk)
  const stopLooking = pollOtherProcess(conversation)
  await talk.whenLeft
  stopLooking()
  talk.console.close()
  if (conversation.isBusy && !options.json)
    terminal.note('leaving: what is in flight may finish; Ctrl-C again stops at once')
  const code = stop() ?? (talk.interrupted ? EXIT.interrupted : talk.exitCode)
  place.onClosed = () => printGoodbye(cli, talk)
  return code
}

async function resumeConversation({ cli }: ChatScope, talk: ChatController, row: RunRow): Promise<void> {
  const { conversation } = talk
  const asked = modelName(cli)
  showRecap(talk, cli, await conversation.attach(row, cli.options.retry === true))
  for (const [name, value] of conversation.isOpen ? Object.entries(conversation.context.variables) : []) {
    await conversation.steer({ do: 'set', name, value })
  }
  const { status } = conversation.result ?? {}
  if (status === 'failed' && asked !== undefined && cli.options.model) {
    talk.note(`/retry asks the model of that run; your next message starts one with ${asked}`)
  }
}

/** In a pipe a line is taken when the team has answered the one before it. */
async function submitPipedLines(talk: ChatController): Promise<void> {
  // Whoever types into a pipe may leave it open after /quit.
  const leaving = new AbortController()
  void talk.whenLeft.then(() => leaving.abort())
  for await (const text of readStdinLines(leaving.signal)) {
    await talk.conversation.whenIdle()
    await talk.submit(text)
  }
  await talk.conversation.whenIdle()
  talk.leave()
}

/** Signals of others, and of a terminal that does its own editing. The second one does not wait. */
function handleSignals(cli: Cli, talk: ChatController, asKey: boolean): () => number | undefined {
  let code: number | undefined
  const asked = (signal: 'SIGINT' | 'SIGTERM') => {
    if (signal === 'SIGINT' && asKey && !talk.hasLeft) {
      talk.interrupt()
      return
    }
    if (talk.hasLeft) {
      printGoodbye(cli, talk)
      process.exit(code ?? EXIT.interrupted)
    }
    code = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated
    talk.leave()
  }
  process.on('SIGINT', () => asked('SIGINT'))
  process.on('SIGTERM', () => asked('SIGTERM'))
  return () => code
}

async function findResumableRun(cli: Cli, troupe: Troupe, wanted: string): Promise<RunRow> {
  const row = await findRun(cli, troupe, wanted)
  if (!troupe.isRunning(row)) return row
  throw new TroupeError('run_busy', `another process works on ${row.run_id}`, {
    hint: `follow it with: troupe watch ${row.run_id}; speak to it with: troupe team say ${row.run_id} TEXT`,
  })
}

/** Agents that changed on disk are used from now on: the run stands in the store, and another troupe takes it up. */
async function reloadAgents(place: ChatScope, talk: ChatController): Promise<void> {
  const { conversation } = talk
  if (conversation.isBusy || storePath(place.cli) === 'memory') return
  if ((place.sources?.takeChangedAgents() ?? []).length === 0) return
  // What is said while it opens would be written where the person types.
  const terminal = { ...place.cli.terminal, note: (text: string) => talk.note(text) }
  const next = await openTroupe({ ...place.cli, terminal }, 'existing')
  await place.troupe.close()
  place.troupe = next
  conversation.troupe = next
}

async function startOver(place: ChatScope, talk: ChatController): Promise<void> {
  const { conversation } = talk
  if (conversation.isBusy) {
    throw new TroupeError('invalid_input', 'agents are at work', { hint: '/pause first, or wait' })
  }
  const team = await place.loadNamedTeam()
  const { run_id, isOpen } = conversation
  if (isOpen && isPersistent(place.cli))
    talk.note(`what was said stays: troupe chat --resume ${run_id}; /end would have ended it`)
  conversation.clear()
  if (team) conversation.context.team = team
  talk.note('a new conversation')
}

/** What is kept in memory is gone with the process. */
function isPersistent(cli: Cli): boolean {
  return storePath(cli) !== 'memory'
}

function printGoodbye(cli: Cli, { conversation }: ChatController): void {
  const { terminal, options } = cli
  const { run_id, questions } = conversation
  // Whoever wants no progress still has to know what waits for them.
  const silent = options.quiet && questions.every(({ kind }) => kind === 'reply')
  if (run_id === undefined || !isPersistent(cli) || options.json || silent) return
  terminal.noteSync(withProgramName(terminal.err, `come back with: troupe chat --resume ${run_id}`))
}

function invalidUsage(message: string): TroupeError {
  return new TroupeError('invalid_input', message, {
    hint: 'troupe chat TEAM.yaml, troupe chat --agent NAME, or troupe chat --resume RUN',
  })
}

const POLL_MS = 400

/** Looks again and again whether another process goes on with the run; returns how to stop looking. */
function pollOtherProcess(conversation: Conversation): () => void {
  let looking = false
  const style = async () => {
    if (looking) return
    looking = true
    // A store that cannot be read now is said to whoever types the next line.
    await conversation.catchUp().catch(() => {})
    looking = false
  }
  const timer = setInterval(() => void style(), POLL_MS).unref()
  return () => clearInterval(timer)
}
