import { toTroupeError } from '../../../errors.ts'
import type { SteerAction, StreamItem } from '../../../index.ts'
import type { ChatEvent, OpenQuestion } from '../../../patterns/team/chat-event.ts'
import { withoutFileData } from '../../../views/attachment-list.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { EXIT, exitCodeFrom } from '../exit-code.ts'
import { toInertJson } from '../inert-output.ts'
import { errorLines } from '../render/error-lines.ts'
import { isReplyGate } from '../render/result-lines.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { withProgramName } from '../render/styled-line.ts'
import type { Terminal } from '../terminal.ts'
import type { ChatConsole } from './chat-console.ts'
import { chatLines, isUrgent, messageLines } from './chat-lines.ts'
import type { Conversation } from './conversation.ts'
import { liveMessageLines } from './live-lines.ts'
import { parseAnswer } from './parse-answer.ts'
import { PendingAttachments } from './pending-attachments.ts'
import type { ShownQuestions } from './shown-questions.ts'
import { answerableQuestions, findLineTarget, openQuestionsNote } from './shown-questions.ts'
import type { SlashContext, SteeringEffect } from './slash-commands.ts'
import { runSlashCommand, SLASH_COMMANDS } from './slash-commands.ts'

type Delta = Extract<StreamItem, { delta: unknown }>['delta']

/*
 * Connects the console with the conversation.
 * 1. Lines are handled one after the other, in the order in which they were typed.
 * 2. An error in one line is reported and does not end the chat.
 * 3. A line answers only a question that the user has seen (`shown-questions.ts`).
 */

/** A line typed for one question must not answer the next one. */
export const STALE_INPUT =
  'the team continued or asked something else meanwhile: your line was not sent; send it again if it still applies'

const REDRAW_MS = 80

export interface ChatDeps {
  conversation: Conversation
  /** Applies changed agent files before a message is sent. */
  reloadAgents(): Promise<void>
  startOver(): Promise<void>
}

export class ChatController implements SlashContext {
  readonly conversation: Conversation
  readonly style: TerminalStyle
  readonly whenQuit: Promise<void>
  console: ChatConsole | undefined
  readonly #cli: Cli
  readonly #deps: ChatDeps
  readonly #attachments = new PendingAttachments()
  readonly #streamedText = new Map<string, string>()
  readonly #resolveQuit: () => void
  #queue: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #interrupts = 0
  #questionsWhenTyped: readonly OpenQuestion[] | undefined
  #shown: ShownQuestions = { whenTyped: [], whenEntered: [] }
  hasQuit = false

  constructor(cli: Cli, deps: ChatDeps) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#cli = cli
    this.#deps = deps
    this.conversation = deps.conversation
    this.style = cli.terminal.out
    this.whenQuit = promise
    this.#resolveQuit = resolve
  }

  get terminal(): Terminal {
    return this.#cli.terminal
  }

  /** Whether the user quit with Ctrl-C. */
  get interrupted(): boolean {
    return this.#interrupts > 1
  }

  get #json(): boolean {
    return this.#cli.options.json === true
  }

  /** The user began to type a line. */
  startTyping(): void {
    this.#questionsWhenTyped = this.conversation.questions
  }

  /** Queues a line; resolves when it has been handled. */
  submit(text: string): Promise<void> {
    this.#interrupts = 0
    const whenEntered = this.conversation.questions
    const whenTyped = this.#questionsWhenTyped ?? whenEntered
    this.#questionsWhenTyped = undefined
    this.#queue = this.#queue.then(() => this.#handleLine(text, { whenTyped, whenEntered }))
    return this.#queue
  }

  async #handleLine(text: string, shown: ShownQuestions): Promise<void> {
    const line = text.trim()
    if (line === '' || this.hasQuit) return
    this.#echo(line)
    // Pasted text of several lines is always a message.
    const isCommand = line.startsWith('/') && !line.startsWith('//') && !line.includes('\n')
    try {
      const { conversation } = this
      const { runState } = conversation
      await conversation.catchUp()
      // An earlier line of this chat may have answered a question meanwhile: that is no surprise to the user.
      const isPending = (question: OpenQuestion) => !conversation.hasAnswered(question)
      this.#shown = { whenTyped: shown.whenTyped.filter(isPending), whenEntered: shown.whenEntered.filter(isPending) }
      if (isCommand) await runSlashCommand(this, line)
      else if (runState !== conversation.runState && !conversation.inOtherProcess) this.note(STALE_INPUT)
      else await this.#send(line.includes('\n') ? line : line.replace(/^\/\//, '/'))
    } catch (thrown) {
      const error = toTroupeError(thrown).toJSON()
      this.#showAside('error', { error }, errorLines(error, this.#cli.terminal.err))
    }
  }

  async #send(text: string): Promise<void> {
    const { conversation } = this
    const target = findLineTarget(text, this.#shown, conversation.questions)
    if (target.kind === 'stale') this.note(STALE_INPUT)
    else if (target.kind === 'ambiguous') this.note(openQuestionsNote(target.questions))
    else if (target.kind === 'answer') await this.#answer(target.question, target.text)
    else await this.#sendMessage(text)
  }

  async #answer(question: OpenQuestion, text: string): Promise<void> {
    const parsed = parseAnswer(question, text)
    if ('choices' in parsed) this.note(`answer one of: ${parsed.choices.join(', ')}`)
    else if ('answer' in parsed) {
      await this.#deps.reloadAgents()
      await this.#sendAnswer(question, parsed.answer)
    } else {
      await this.#steerWithMessage(text)
      this.note('recorded: delivered when the team continues; use /continue, /step or an agent name')
    }
  }

  async #sendAnswer({ gate_id, takes = [] }: OpenQuestion, text: string): Promise<void> {
    if (this.#attachments.isEmpty || !takes.includes('say')) {
      await this.conversation.answer(gate_id, text)
      if (!this.#attachments.isEmpty) this.note('this question takes text only: your files stay attached')
      return
    }
    await this.conversation.answer(gate_id, { do: 'say', text, ...this.#attachments.fields })
    this.#attachments.clear()
  }

  async #steerWithMessage(text: string): Promise<void> {
    await this.conversation.steer({ do: 'say', text, ...this.#attachments.fields }, [])
    this.#attachments.clear()
  }

  async attach(path: string): Promise<void> {
    if (path === '') {
      this.#attachments.clear()
      this.note('no file is attached')
    } else this.note(`${await this.#attachments.add(path)}; sent with your next message`)
  }

  async #sendMessage(text: string): Promise<void> {
    const { conversation } = this
    if (conversation.isBusy || conversation.isOpen) {
      const { isBusy, inOtherProcess } = conversation
      await this.#steerWithMessage(text)
      if (isBusy) this.note('recorded: delivered before the next turn')
      else if (inOtherProcess) this.note('recorded: the run is in another process; delivered before the next turn')
      else this.note('recorded: no process is running it; use /retry')
    } else {
      await this.#deps.reloadAgents()
      await conversation.start(text, this.#attachments.fields)
      this.#attachments.clear()
    }
  }

  /** Repeats the entered line above the prompt, where the console has erased it. */
  #echo(text: string): void {
    if (this.#json) this.console?.print([toInertJson({ type: 'user', text })])
    else if (this.#cli.terminal.live) {
      this.console?.note(
        messageLines('you', text, { style: this.#cli.terminal.err, wrapped: true, textStyle: 'green' }),
      )
    }
  }

  showEvent(chatEvent: ChatEvent): void {
    if (this.#json) {
      this.console?.print([toInertJson(withoutFileData(chatEvent))])
      return
    }
    const { out, err, outputIsTTY, live } = this.#cli.terminal
    // The live block already shows the active agent.
    if (chatEvent.type === 'turn' && live) return
    const { messages, notes } = chatLines(chatEvent, { messageStyle: out, noteStyle: err, wrapped: outputIsTTY })
    // Remove the finished message from the live block, or it would appear twice.
    if (chatEvent.type === 'message') this.console?.live(this.#liveLines())
    if (messages.length > 0) this.console?.print(messages)
    if (notes.length > 0 && (!this.#cli.options.quiet || isUrgent(chatEvent))) this.console?.note(notes)
    if (chatEvent.type === 'question') this.#noteOpenQuestions()
  }

  #noteOpenQuestions(): void {
    const { questions } = this.conversation
    if (questions.length > 1) this.note(openQuestionsNote(questions))
  }

  /** Sends a steer action as the answer to a question that the user has seen, or to be applied between two turns. */
  async steer(action: SteerAction): Promise<SteeringEffect> {
    const { conversation } = this
    const answerable = answerableQuestions(action, this.#shown, conversation.questions)
    if (answerable === 'stale') {
      this.note(STALE_INPUT)
      return 'stale'
    }
    return (await conversation.steer(action, answerable)) ? 'answered' : 'recorded'
  }

  /** Adds streamed text to the live block; redraws are throttled. */
  addDelta({ session_id, offset, text, type }: Delta): void {
    if (type !== 'text' || this.#json) return
    this.#streamedText.set(session_id, offset === 0 ? text : (this.#streamedText.get(session_id) ?? '') + text)
    this.scheduleRedraw()
  }

  scheduleRedraw(): void {
    if (this.hasQuit || this.#json) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.console?.live(this.#liveLines())
    }, REDRAW_MS).unref()
  }

  #liveLines(): string[] {
    const { transcript, isBusy, inOtherProcess } = this.conversation
    // A session that waits for an answer is open, but not active.
    return isBusy || inOtherProcess ? liveMessageLines(transcript, this.#streamedText, this.#cli.terminal.err) : []
  }

  clearLive(): void {
    if (!this.hasQuit) this.#interrupts = 0
    this.#streamedText.clear()
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.console?.live([])
  }

  show(type: string, data: object, lines: readonly string[]): void {
    this.console?.print(this.#json ? [toInertJson({ type, ...data })] : lines)
  }

  /** Shows lines on stderr; JSON goes to stdout all the same. */
  #showAside(type: string, data: object, lines: readonly string[]): void {
    if (this.#json) this.show(type, data, lines)
    else this.console?.note(lines)
  }

  note(text: string): void {
    const { err } = this.#cli.terminal
    const lines = wrapText(`  ${withProgramName(err, toTerminalLine(text))}`, err.width, 2).map((line) =>
      err.paint('dim', line),
    )
    this.#showAside('note', { text }, lines)
  }

  reloadAgents(): Promise<void> {
    return this.#deps.reloadAgents()
  }

  startOver(): Promise<void> {
    return this.#deps.startOver()
  }

  /** Ctrl-C: the first pauses the team, the second quits. */
  interrupt(): void {
    this.#interrupts += 1
    if (this.#interrupts > 1) {
      this.quit()
      return
    }
    if (!this.conversation.isBusy) {
      this.note('press Ctrl-C again to quit; /help lists commands')
      return
    }
    this.note('pausing before the next turn; press Ctrl-C again to quit')
    this.#queue = this.#queue
      .then(() => this.conversation.steer({ do: 'pause' }, []))
      .then(
        () => {},
        () => {},
      )
  }

  quit(): void {
    if (this.hasQuit) return
    this.hasQuit = true
    clearTimeout(this.#timer)
    this.#resolveQuit()
  }

  complete(text: string): string[] {
    const { team } = this.conversation.context
    const names = [...team.agents, ...team.groups].map(({ name }) => `/next ${name}`)
    return [...Object.keys(SLASH_COMMANDS).map((name) => `/${name}`), ...names].filter((entry) =>
      entry.startsWith(text),
    )
  }

  /** Exit code of the process for the current state of the conversation. */
  get exitCode(): number {
    const { result, isBusy } = this.conversation
    // A run that still runs, here or in another process, has not failed.
    if (!result || isBusy || result.status === 'pending' || result.status === 'running') return EXIT.done
    if (result.status !== 'waiting') return exitCodeFrom(result)
    return result.gates.every(isReplyGate) ? EXIT.done : EXIT.waiting
  }
}
