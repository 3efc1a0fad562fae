import { asTroupeError } from '../../../errors.ts'
import type { Delta } from '../../../kernel/ports.ts'
import type { Cli } from '../cli.ts'
import { EXIT, exitOf } from '../exit.ts'
import { errorLines } from '../render/error.ts'
import type { Look } from '../render/line.ts'
import { typable } from '../render/line.ts'
import { isReply } from '../render/result.ts'
import { oneLine, wrap } from '../render/width.ts'
import type { Terminal } from '../terminal.ts'
import { meaningOf } from './answer-line.ts'
import type { Console } from './console.ts'
import type { Conversation } from './conversation.ts'
import type { Happening } from './happening.ts'
import { chatLines, isPressing, speech } from './lines.ts'
import { speakingLines } from './live.ts'
import type { Talking } from './slash.ts'
import { COMMANDS, obey } from './slash.ts'

/*
 * A person and a team in one place: what is typed goes to the conversation, what happens is shown.
 * 1. Lines are taken one after the other, in the order in which they were typed.
 * 2. What goes wrong with a line is said, and ends nothing.
 */

/** What was typed for one question must not answer the next one. */
const OVERTAKEN = 'the team went on elsewhere meanwhile: your line was not sent; say it again if it still fits'

const REDRAW_MS = 80

/** What Talk needs of whoever set it up. */
export interface TalkSite {
  conversation: Conversation
  /** Before a message goes out: what has changed on disk is taken up. */
  refresh(): Promise<void>
  renew(): Promise<void>
}

export class Talk implements Talking {
  readonly conversation: Conversation
  readonly look: Look
  readonly left: Promise<void>
  console: Console | undefined
  readonly #cli: Cli
  readonly #site: TalkSite
  readonly #words = new Map<string, string>()
  readonly #leave: () => void
  #taking: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #presses = 0
  gone = false

  constructor(cli: Cli, site: TalkSite) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#cli = cli
    this.#site = site
    this.conversation = site.conversation
    this.look = cli.terminal.out
    this.left = promise
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
  line(text: string): Promise<void> {
    this.#presses = 0
    this.#taking = this.#taking.then(() => this.#obey(text))
    return this.#taking
  }

  async #obey(text: string): Promise<void> {
    const said = text.trim()
    if (said === '' || this.gone) return
    this.#echo(said)
    // Lines that were pasted together are words, whatever they begin with.
    const command = said.startsWith('/') && !said.startsWith('//') && !said.includes('\n')
    try {
      const { standing, questions } = this.conversation
      await this.conversation.catchUp()
      if (command) await obey(this, said)
      else if (standing !== this.conversation.standing && this.#overtaken(questions.length > 0)) this.note(OVERTAKEN)
      else await this.#say(said.includes('\n') ? said : said.replace(/^\/\//, '/'))
    } catch (thrown) {
      const error = asTroupeError(thrown).toJSON()
      this.show('error', { error }, errorLines(error, this.#cli.terminal.err), 'beside')
    }
  }

  /** Words for a team at work are as good when it has just returned; all else that has changed may not be what was meant. */
  #overtaken(wasAsked: boolean): boolean {
    const { elsewhere, questions } = this.conversation
    if (elsewhere) return false
    return wasAsked || questions[0]?.kind !== 'reply'
  }

  async #say(text: string): Promise<void> {
    const { conversation } = this
    const [question] = conversation.questions
    if (question) {
      const meaning = meaningOf(question, text)
      if ('unfit' in meaning) this.note(`answer one of: ${meaning.unfit.join(', ')}`)
      else if ('answer' in meaning) {
        await this.#site.refresh()
        await conversation.answer(question.gate_id, meaning.answer)
      } else {
        await conversation.steer({ do: 'say', text })
        this.note('noted: it is read when the team goes on; /continue, /step, or a name')
      }
    } else if (conversation.busy || conversation.open) {
      const { busy, elsewhere } = conversation
      await conversation.steer({ do: 'say', text })
      if (busy) this.note('noted: it is read before the next turn')
      else if (elsewhere) this.note('noted: another process works on it; it is read before the next turn')
      else this.note('noted: nobody works on it; /retry goes on')
    } else {
      await this.#site.refresh()
      await conversation.start(text)
    }
  }

  /** A terminal has echoed the line where it was typed; it is shown again where it belongs. */
  #echo(text: string): void {
    if (this.#json) this.console?.print([JSON.stringify({ type: 'user', text })])
    else if (this.#cli.terminal.live) {
      this.console?.note(speech('you', text, { look: this.#cli.terminal.err, wrapped: true, style: 'green' }))
    }
  }

  tell(happening: Happening): void {
    if (this.#json) {
      this.console?.print([JSON.stringify(happening)])
      return
    }
    const { out, err, read, live } = this.#cli.terminal
    // Where words appear as they are written, everyone sees who is at work.
    if (happening.type === 'turn' && live) return
    const { spoken, around } = chatLines(happening, { look: out, beside: err, wrapped: read })
    // What is drawn of an answer that has ended would stand there twice.
    if (happening.type === 'said') this.console?.live(this.#liveLines())
    if (spoken.length > 0) this.console?.print(spoken)
    if (around.length > 0 && (!this.#cli.options.quiet || isPressing(happening))) this.console?.note(around)
  }

  /** Words as they are written; they are drawn a few times a second. */
  words({ session_id, offset, text, type }: Delta): void {
    if (type !== 'text' || this.#json) return
    this.#words.set(session_id, offset === 0 ? text : (this.#words.get(session_id) ?? '') + text)
    this.stirs()
  }

  stirs(): void {
    if (this.gone || this.#json) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.console?.live(this.#liveLines())
    }, REDRAW_MS).unref()
  }

  #liveLines(): string[] {
    const { transcript, busy, elsewhere } = this.conversation
    // Whoever waits for an answer has begun and not ended, and does not work.
    return busy || elsewhere ? speakingLines(transcript, this.#words, this.#cli.terminal.err) : []
  }

  rests(): void {
    if (!this.gone) this.#presses = 0
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
    const lines = wrap(`  ${typable(err, oneLine(text))}`, err.width, 2).map((words) => err.paint('dim', words))
    this.show('note', { text }, lines, 'beside')
  }

  refresh(): Promise<void> {
    return this.#site.refresh()
  }

  renew(): Promise<void> {
    return this.#site.renew()
  }

  /** Once: pause, and let people say what they want; twice: leave. */
  interrupt(): void {
    this.#presses += 1
    if (this.#presses > 1) {
      this.leave()
      return
    }
    if (!this.conversation.busy) {
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
    if (this.gone) return
    this.gone = true
    clearTimeout(this.#timer)
    this.#leave()
  }

  complete(text: string): string[] {
    const { team } = this.conversation.site
    const names = [...team.agents, ...team.groups].map(({ name }) => `/next ${name}`)
    return [...Object.keys(COMMANDS).map((name) => `/${name}`), ...names].filter((word) => word.startsWith(text))
  }

  /** How the conversation stands, for the process that ends. */
  get code(): number {
    const { result, busy } = this.conversation
    if (!result || busy || result.status === 'pending') return EXIT.done
    if (result.status !== 'waiting') return exitOf(result)
    return result.gates.every(isReply) ? EXIT.done : EXIT.waiting
  }
}
