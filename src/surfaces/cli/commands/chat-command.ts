import { TroupeError } from '../../../errors.ts'
import type { RunRow, Troupe } from '../../../index.ts'
import type { Team } from '../../../judgement/team/team-schema.ts'
import { chatAgentsSignature, reloadProblem } from '../chat/changed-agents.ts'
import type { ChatConsole } from '../chat/chat-console.ts'
import { InteractiveConsole } from '../chat/chat-console.ts'
import { ChatController } from '../chat/chat-controller.ts'
import { Conversation } from '../chat/conversation.ts'
import { createPipeConsole, readStdinLines } from '../chat/pipe-console.ts'
import { greetingLines, showRecap } from '../chat/recap.ts'
import type { Cli } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { limitsFrom } from '../limit-option.ts'
import { loadTeam, parseTeamVariables, singleAgentTeam } from '../load-team.ts'
import { modelName, openTroupe, requireOwnStore, storePath } from '../open-troupe.ts'
import { withProgramName } from '../render/styled-line.ts'
import { requireSameModel } from '../require-same-model.ts'
import { loadRunTeam } from './steer-command.ts'

type ChatOptions = { set?: string[]; resume?: string; agent?: string; retry?: boolean }

/** Chats with a team until the user quits; the run is kept and can be resumed. */
export async function chatCommand(command: Cli<ChatOptions>, file: string | undefined): Promise<number> {
  // With stdout redirected, a redrawn prompt would corrupt the output.
  const { terminal } = command
  const cli = terminal.outputIsTTY ? command : { ...command, terminal: { ...terminal, live: false } }
  const { agent, resume, set = [] } = cli.options
  if (file !== undefined && agent !== undefined) throw invalidUsage('FILE and --agent cannot be combined')
  if (file === undefined && agent === undefined && resume === undefined)
    throw invalidUsage('FILE, --agent or --resume is missing')
  const limits = await limitsFrom(cli)
  const loadNamedTeam = async () =>
    file !== undefined ? loadTeam(cli, file) : agent === undefined ? undefined : singleAgentTeam(cli, agent)
  const team = await loadNamedTeam()
  const agentFiles = await chatAgentsSignature(cli)
  const troupe = await openTroupe(cli, resume === undefined ? 'new' : 'existing')
  const scope: ChatScope = { cli, loadNamedTeam, troupe, agentFiles }
  try {
    requireOwnStore(troupe)
    const row = resume === undefined ? undefined : await findResumableRun(cli, troupe, resume)
    if (row && ['waiting', 'pending', 'running'].includes(row.status)) await requireSameModel(cli, troupe, row.run_id)
    const chatTeam = row ? await loadRunTeam(troupe, row) : team
    if (!chatTeam) throw invalidUsage('FILE, --agent or --resume is missing')
    const variables = await parseTeamVariables(chatTeam, set)
    const context = { team: chatTeam, variables, model: modelName(cli), limits, ...conversationHandlers(() => chat) }
    const conversation = new Conversation(troupe, context)
    const chat: ChatController = new ChatController(cli, {
      conversation,
      reloadAgents: () => reloadAgents(scope, chat),
      startOver: () => startOver(scope, chat),
    })
    return await runChat(scope, chat, row)
  } finally {
    // An open readline interface keeps the process alive.
    scope.console?.close()
    await scope.troupe.close()
    scope.onClosed?.()
  }
}

interface ChatScope {
  cli: Cli<ChatOptions>
  /** Reads the team again from its file, or from the roster. */
  loadNamedTeam(): Promise<Team | undefined>
  troupe: Troupe
  /** The signature of the agent files that are used, or that were found to be unusable. */
  agentFiles: string
  console?: ChatConsole
  onTroupeReplaced?: () => void
  onClosed?: () => void
}

/** Handlers that resolve the controller lazily: the conversation is created before it. */
function conversationHandlers(chat: () => ChatController) {
  return {
    onEvent: (event: Parameters<ChatController['showEvent']>[0]) => chat().showEvent(event),
    onDelta: (delta: Parameters<ChatController['addDelta']>[0]) => chat().addDelta(delta),
    onActivity: () => chat().scheduleRedraw(),
    onIdle: () => chat().clearLive(),
  }
}

async function runChat(scope: ChatScope, chat: ChatController, row: RunRow | undefined): Promise<number> {
  const { cli } = scope
  const { conversation } = chat
  const { terminal, options } = cli
  const isInteractive = terminal.interactive && options.json !== true
  const open = () =>
    InteractiveConsole.open(terminal, {
      onTyping: () => chat.startTyping(),
      onLine: (text) => void chat.submit(text),
      onInterrupt: () => chat.interrupt(),
      onEnd: () => chat.quit(),
      complete: (text) => chat.complete(text),
    })
  const showGreeting = !row && !options.quiet && !options.json
  // Before the prompt opens: early input would appear above the greeting.
  if (showGreeting) for (const text of greetingLines(conversation.context.team, terminal.err)) terminal.note(text)
  chat.console = isInteractive ? await open() : createPipeConsole(terminal)
  scope.console = chat.console
  const signalExitCode = handleSignals(cli, chat, isInteractive && !terminal.live)
  if (row) await resumeConversation(scope, chat, row)
  if (!isInteractive) void submitPipedLines(chat)
  const stopFollowing = followOtherProcesses(scope, conversation)
  await chat.whenQuit
  stopFollowing()
  chat.console.close()
  if (conversation.isBusy && !options.json)
    terminal.note('quitting: waiting for requests in flight; press Ctrl-C again to stop at once')
  const code = signalExitCode() ?? (chat.interrupted ? EXIT.interrupted : chat.exitCode)
  scope.onClosed = () => printResumeHint(cli, chat)
  return code
}

async function resumeConversation({ cli }: ChatScope, chat: ChatController, row: RunRow): Promise<void> {
  const { conversation } = chat
  const model = modelName(cli)
  showRecap(chat, cli, await conversation.attach(row, cli.options.retry === true))
  for (const [name, value] of conversation.isOpen ? Object.entries(conversation.context.variables) : []) {
    await conversation.steer({ do: 'set', name, value })
  }
  const { status } = conversation.result ?? {}
  if (status === 'failed' && model !== undefined && cli.options.model) {
    chat.note(`/retry uses the model of that run; your next message starts a new run with ${model}`)
  }
}

/** In a pipe, sends a line only when the previous one has been answered. */
async function submitPipedLines(chat: ChatController): Promise<void> {
  // The writer may keep the pipe open after /quit.
  const quitting = new AbortController()
  void chat.whenQuit.then(() => quitting.abort())
  for await (const text of readStdinLines(quitting.signal)) {
    await chat.conversation.whenIdle()
    await chat.submit(text)
  }
  await chat.conversation.whenIdle()
  chat.quit()
}

/** Handles signals from other processes, and Ctrl-C on a dumb terminal. The second signal exits at once. */
function handleSignals(cli: Cli, chat: ChatController, isKeyPress: boolean): () => number | undefined {
  let code: number | undefined
  const handleSignal = (signal: 'SIGINT' | 'SIGTERM') => {
    if (signal === 'SIGINT' && isKeyPress && !chat.hasQuit) {
      chat.interrupt()
      return
    }
    if (chat.hasQuit) {
      printResumeHint(cli, chat)
      process.exit(code ?? EXIT.interrupted)
    }
    code = signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated
    chat.quit()
  }
  process.on('SIGINT', () => handleSignal('SIGINT'))
  process.on('SIGTERM', () => handleSignal('SIGTERM'))
  return () => code
}

async function findResumableRun(cli: Cli, troupe: Troupe, runId: string): Promise<RunRow> {
  const row = await findRun(cli, troupe, runId)
  if (!troupe.isRunning(row)) return row
  throw new TroupeError('run_busy', `${row.run_id} is running in another process`, {
    hint: `follow it with: troupe watch ${row.run_id}; send a message with: troupe steer ${row.run_id} say TEXT`,
  })
}

/** Reopens the runtime when agent files have changed; the run continues from the store. */
async function reloadAgents(scope: ChatScope, chat: ChatController): Promise<void> {
  const { conversation } = chat
  if (conversation.isBusy || storePath(scope.cli) === 'memory') return
  const agentFiles = await chatAgentsSignature(scope.cli)
  if (agentFiles === scope.agentFiles) return
  scope.agentFiles = agentFiles
  const problem = await reloadProblem(scope.cli, scope.troupe.agents)
  if (problem !== undefined) {
    chat.note(`agents not reloaded: ${problem}`)
    return
  }
  // Warnings printed while it opens must not overwrite the prompt.
  const terminal = { ...scope.cli.terminal, note: (text: string) => chat.note(text) }
  const next = await openTroupe({ ...scope.cli, terminal }, 'existing')
  await scope.troupe.close()
  scope.troupe = next
  conversation.troupe = next
  scope.onTroupeReplaced?.()
}

async function startOver(scope: ChatScope, chat: ChatController): Promise<void> {
  const { conversation } = chat
  if (conversation.isBusy) {
    throw new TroupeError('invalid_input', '/new: agents are running', { hint: 'use /pause first, or wait' })
  }
  const team = await scope.loadNamedTeam()
  const { run_id, isOpen } = conversation
  if (isOpen && isPersistent(scope.cli)) chat.note(`the previous conversation is kept: troupe chat --resume ${run_id}`)
  conversation.clear()
  if (team) conversation.context.team = team
  chat.note('new conversation')
}

function isPersistent(cli: Cli): boolean {
  return storePath(cli) !== 'memory'
}

function printResumeHint(cli: Cli, { conversation }: ChatController): void {
  const { terminal, options } = cli
  const { run_id, questions } = conversation
  // --quiet still reports open questions.
  const isSilent = options.quiet && questions.every(({ kind }) => kind === 'reply')
  if (run_id === undefined || !isPersistent(cli) || options.json || isSilent) return
  terminal.noteSync(withProgramName(terminal.err, `resume with: troupe chat --resume ${run_id}`))
}

function invalidUsage(message: string): TroupeError {
  return new TroupeError('invalid_input', message, {
    hint: 'run: troupe chat TEAM.yaml, troupe chat --agent NAME, or troupe chat --resume RUN',
  })
}

/** A process that was killed commits nothing, so that its end has to be looked for. */
const OWNER_CHECK_MS = 1000

/** Catches up with other processes whenever the store has changed; returns a function that stops it. */
function followOtherProcesses(scope: ChatScope, conversation: Conversation): () => void {
  let isStale = false
  let isReading = false
  const catchUp = async () => {
    isStale = true
    if (isReading) return
    isReading = true
    while (isStale) {
      isStale = false
      // A store error is reported when the next line is sent.
      await conversation.catchUp().catch(() => {})
    }
    isReading = false
  }
  const subscribe = () => scope.troupe.onChange(() => void catchUp())
  let unsubscribe = subscribe()
  scope.onTroupeReplaced = () => {
    unsubscribe()
    unsubscribe = subscribe()
  }
  const timer = setInterval(() => conversation.inOtherProcess && void catchUp(), OWNER_CHECK_MS).unref()
  return () => {
    unsubscribe()
    clearInterval(timer)
  }
}
