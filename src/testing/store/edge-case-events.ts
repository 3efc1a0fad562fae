import type { Event } from '../../kernel/event.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import { seededRandom } from '../seeded-random.ts'
import type { RunWriter } from './store-harness.ts'
import { sessionEndData, sessionOpenData } from './store-harness.ts'

const FIELD_NAMES = [
  ...['key', 'text', 'input', 'output', 'result', 'content', 'message', 'agent', 'tools', 'limits', 'status', 'model'],
  ...[
    '__proto__',
    'constructor',
    'toString',
    '0',
    '17',
    '',
    'with blank',
    'ümlaut',
    '"',
    'a\u0000b',
    '\ud800',
    'x',
    '$blob',
  ],
]
const TYPES = [
  'tool:pre',
  'tool:post',
  'tool:error',
  'step:end',
  'session:input',
  'limit:hit',
  'custom:a {"b":0}',
] as const
/** Few enough to repeat: short ones, and ones long enough for a blob. */
const TEXTS = [
  ...['', '0', '[0]', '{"a":0}', 'ok', 'null', '🦊', '\ud83d', 'a\u0000b', '\u2028', `"\\\n`],
  ...['repeated word by word, '.repeat(3), 'ü'.repeat(64), '\udc00'.repeat(70), '0'.repeat(63), '0'.repeat(64)],
  ...[
    'l'.repeat(511),
    'l'.repeat(512),
    'l'.repeat(4_094),
    'l'.repeat(4_095),
    `${'é'.repeat(2_047)}.`,
    'x'.repeat(9_000),
  ],
]
const OTHER_VALUES = [
  0,
  -1,
  1.5,
  1e21,
  5e-324,
  1_700_000_000_000,
  true,
  false,
  null,
  [],
  {},
  [[]],
  [{}],
  [null, {}],
  [{ a: 1 }, 2],
]

/** Generates events with edge-case data, deterministic per seed. */
export class EdgeCaseGenerator {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  events(writer: RunWriter, count: number): Event[] {
    return Array.from({ length: count }, (_, index) => {
      const session = `s${index % 3}`
      switch (this.#below(8)) {
        case 0:
          return writer.nextEvent('model:end', this.#modelEnd(), session)
        case 1:
          return writer.nextEvent(
            'session:open',
            sessionOpenData(1, { agent: this.#agent(), tools: this.#names(20) }),
            session,
          )
        case 2:
          return writer.nextEvent('session:end', { ...sessionEndData(this.#text()), object: this.#value(2) }, session)
        default:
          return writer.nextEvent(
            this.#pick(TYPES),
            this.#object(3) as never,
            this.#below(2) === 0 ? session : undefined,
          )
      }
    })
  }

  batchSize(): number {
    return 1 + this.#below(9)
  }

  #modelEnd() {
    const parts = Array.from({ length: this.#below(10) }, () => ({ type: 'text' as const, text: this.#text() }))
    const message = { role: 'assistant' as const, content: parts }
    return { key: 'k', attempt: 1, message, stop: 'end' as const, usage: { ...NO_USAGE, input: 1 }, usd: null }
  }

  #agent() {
    return { name: 'ada', description: this.#text(), instructions: this.#text() }
  }

  #names(limit: number): string[] {
    return Array.from({ length: this.#below(limit) }, () => this.#pick(FIELD_NAMES))
  }

  #value(depth: number): unknown {
    const kind = this.#below(depth > 0 ? 6 : 3)
    if (kind < 2) return this.#text()
    if (kind === 2) return this.#pick(OTHER_VALUES)
    if (kind === 3) return Array.from({ length: this.#below(10) }, () => this.#value(depth - 1))
    return this.#object(depth - 1)
  }

  #object(depth: number): object {
    const names = new Set(this.#names(this.#below(6) === 0 ? 40 : 7))
    return Object.fromEntries([...names].map((name) => [name, this.#value(depth)]))
  }

  #text(): string {
    return this.#pick(TEXTS)
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#below(values.length)] as T
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }
}
