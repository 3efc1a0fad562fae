import { toTroupeError } from '../../../errors.ts'
import type { Delta } from '../../../kernel/ports.ts'
import type { ChatEvent } from '../../../views/chat-event.ts'
import type { Cli } from '../cli.ts'
import { EXIT, exitCodeFrom } from '../exit-code.ts'
import { errorLines } from '../render/error-lines.ts'
import { isReplyGate } from '../render/result-lines.ts'
import type { TerminalStyle } from '../render/styled-line.ts'
import { withProgramName } from '../render/styled-line.ts'
import { toTerminalLine, wrapText } from '../render/text-width.ts'
import type { Terminal } from '../terminal.ts'
import type { ChatConsole } from './chat-console.ts'
import { chatLines, isUrgent, speechLines } from './chat-lines.ts'
import type { Conversation } from './conversation.ts'
import { liveSpeechLines } from './live-lines.ts'
import { parseAnswer } from './parse-answer.ts'
import type { SlashContext } from './slash-commands.ts'
import { runSlashCommand, SLASH_COMMANDS } from './slash-commands.ts'

/*
 * A person and a team in one place: what is typed goes to the conversation, what happens is shown.
 * 1. Lines are taken one after the other, in the order in which they were typed.
 * 2. What goes wrong with a line is said, and ends nothing.
 */

/** What was typed for one question must not answer the next one. */
const STALE_INPUT = 'the team went on elsewhere meanwhile: your line was not sent; say it again if it still fits'

const REDRAW_MS = 80

/** What Talk needs of whoever set it up. */
export interface ChatDeps {
  conversation: Conversation
  /** Before a message goes out: what has changed on disk is taken up. */
  reloadAgents(): Promise<void>
  startOver(): Promise<void>
}

export class ChatController implements SlashContext {
  readonly conversation: Conversation
  readonly style: TerminalStyle
  readonly whenLeft: Promise<void>
  console: ChatConsole | undefined
  readonly #cli: Cli
  readonly #context: ChatDeps
  readonly #words = new Map<string, string>()
  readonly #leave: () => void
  #taking: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #presses = 0
  hasLeft = false

  constructor(cli: Cli, context: ChatDeps) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#cli = cli
    this.#context = context
    this.conversation = context.conversation
    this.style = cli.terminal.out
    this.whenLeft = promise
    this.#leave = resolve
  }

  get terminal(): Terminal {
    return this.#cli.terminal
  }

  /** Left by Ctrl-C. */
  get interrupted(): boolean {
    return this.#presses > 1
  }

  get #json(): boolean {
    return this.#cli.options.json === true
  }

  /** Takes a line when those before it are through. */
  submit(text: string): Promise<void> {
    this.#presses = 0
    this.#taking = this.#taking.then(() => this.#obey(text))
    return this.#taking
  }

  async #obey(text: string): Promise<void> {
    const said = text.trim()
    if (said === '' || this.hasLeft) return
    this.#echo(said)
    // Lines that were pasted together are words, whatever they begin with.
    const command = said.startsWith('/') && !said.startsWith('//') && !said.includes('\n')
    try {
      const { inputState, questions } = this.conversation
      await this.conversation.catchUp()
      if (command) await runSlashCommand(this, said)
      else if (inputState !== this.conversation.inputState && this.#overtaken(questions.length > 0))
        this.note(STALE_INPUT)
      else await this.#say(said.includes('\n') ? said : said.replace(/^\/\//, '/'))
    } catch (thrown) {
      const error = toTroupeError(thrown).toJSON()
      this.show('error', { error }, errorLines(error, this.#cli.terminal.err), 'beside')
    }
  }

  /** Words for a team at work are as good when it has just returned; all else that has changed may not be what was meant. */
  #overtaken(wasAsked: boolean): boolean {
    const { inOtherProcess, questions } = this.conversation
    if (inOtherProcess) return false
    return wasAsked || questions[0]?.kind !== 'reply'
  }

  async #say(text: string): Promise<void> {
    const { conversation } = this
    const [question] = conversation.questions
    if (question) {
      const meaning = parseAnswer(question, text)
      if ('choices' in meaning) this.note(`answer one of: ${meaning.choices.join(', ')}`)
      else if ('answer' in meaning) {
        await this.#context.reloadAgents()
        await conversation.answer(question.gate_id, meaning.answer)
      } else {
        await conversation.steer({ do: 'say', text })
        this.note('noted: it is read when the team goes on; /continue, /step, or a name')
      }
    } else if (conversation.isBusy || conversation.isOpen) {
      const { isBusy, inOtherProcess } = conversation
      await conversation.steer({ do: 'say', text })
      if (isBusy) this.note('noted: it is read before the next turn')
      else if (inOtherProcess) this.note('noted: another process works on it; it is read before the next turn')
      else this.note('noted: nobody works on it; /retry goes on')
    } else {
      await this.#context.reloadAgents()
      await conversation.start(text)
    }
  }

  /** A terminal has echoed the line where it was typed; it is shown again where it belongs. */
  #echo(text: string): void {
    if (this.#json) this.console?.print([JSON.stringify({ type: 'user', text })])
    else if (this.#cli.terminal.live) {
      this.console?.note(speechLines('you', text, { style: this.#cli.terminal.err, wrapped: true, textStyle: 'green' }))
    }
  }

  showEvent(chatEvent: ChatEvent): void {
    if (this.#json) {
      this.console?.print([JSON.stringify(chatEvent)])
      return
    }
    const { out, err, outputIsTTY, live } = this.#cli.terminal
    // Where words appear as they are written, everyone sees who is at work.
    if (chatEvent.type === 'turn' && live) return
    const { messages, notes } = chatLines(chatEvent, { style: out, beside: err, wrapped: outputIsTTY })
    // What is drawn of an answer that has ended would stand there twice.
    if (chatEvent.type === 'message') this.console?.live(this.#liveLines())
    if (messages.length > 0) this.console?.print(messages)
    if (notes.length > 0 && (!this.#cli.options.quiet || isUrgent(chatEvent))) this.console?.note(notes)
  }

  /** Words as they are written; they are drawn a few times a second. */
  addDelta({ session_id, offset, text, type }: Delta): void {
    if (type !== 'text' || this.#json) return
    this.#words.set(session_id, offset === 0 ? text : (this.#words.get(session_id) ?? '') + text)
    this.scheduleRedraw()
  }

  scheduleRedraw(): void {
    if (this.hasLeft || this.#json) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.console?.live(this.#liveLines())
    }, REDRAW_MS).unref()
  }

  #liveLines(): string[] {
    const { transcript, isBusy, inOtherProcess } = this.conversation
    // Whoever waits for an answer has begun and not ended, and does not work.
    return isBusy || inOtherProcess ? liveSpeechLines(transcript, this.#words, this.#cli.terminal.err) : []
  }

  clearLive(): void {
    if (!this.hasLeft) this.#presses = 0
    this.#words.clear()
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.console?.live([])
  }

  show(type: string, data: object, lines: readonly string[], where: 'out' | 'beside' = 'out'): void {
    if (this.#json) this.console?.print([JSON.stringify({ type, ...data })])
    else if (where === 'out') this.console?.print(lines)
    else this.console?.note(lines)
  }

  note(text: string): void {
    const { err } = this.#cli.terminal
    const lines = wrapText(`  ${withProgramName(err, toTerminalLine(text))}`, err.width, 2).map((words) =>
      err.paint('dim', words),
    )
    this.show('note', { text }, lines, 'beside')
  }

  reloadAgents(): Promise<void> {
    return this.#context.reloadAgents()
  }

  startOver(): Promise<void> {
    return this.#context.startOver()
  }

  /** Once: pause, and let people say what they want; twice: leave. */
  interrupt(): void {
    this.#presses += 1
    if (this.#presses > 1) {
      this.leave()
      return
    }
    if (!this.conversation.isBusy) {
      this.note('Ctrl-C again leaves; /help says what else there is')
      return
    }
    this.note('pausing before the next turn; Ctrl-C again leaves')
    this.#taking = this.#taking
      .then(() => this.conversation.steer({ do: 'pause' }))
      .then(
        () => {},
        () => {},
      )
  }

  leave(): void {
    if (this.hasLeft) return
    this.hasLeft = true
    clearTimeout(this.#timer)
    this.#leave()
  }

  complete(text: string): string[] {
    const { team } = this.conversation.context
    const names = [...team.agents, ...team.groups].map(({ name }) => `/next ${name}`)
    return [...Object.keys(SLASH_COMMANDS).map((name) => `/${name}`), ...names].filter((word) => word.startsWith(text))
  }

  /** How the conversation stands, for the process that ends. */
  get exitCode(): number {
    const { result, isBusy } = this.conversation
    if (!result || isBusy || result.status === 'pending') return EXIT.done
    if (result.status !== 'waiting') return exitCodeFrom(result)
    return result.gates.every(isReplyGate) ? EXIT.done : EXIT.waiting
  }
}
