import assert from 'node:assert/strict'
import type { TroupeError } from '../errors.ts'
import type { Model, ModelChunk, ModelRequest } from '../kernel/model.ts'
import { userText } from '../kernel/model.ts'
import type { TestRunner } from './test-runner.ts'

/** What the other side of a model is made to do. */
export type Situation =
  | { kind: 'text'; text: string; stop?: 'length' | 'refusal'; usage?: { input: number; output: number } }
  /** `arguments` is the text that the model wrote, not necessarily JSON. */
  | { kind: 'tool-calls'; calls: { name: string; arguments: string }[] }
  | { kind: 'error'; status: number; message: string }
  /** Nothing arrives for at least a minute. */
  | { kind: 'slow' }
  /** The stream ends half-way through this text. */
  | { kind: 'cut'; text: string }

/** One model implementation on a stage: a script, or a provider against a double of its wire. */
export interface ModelStage {
  /** A model that meets each situation when the last user message is its key. */
  play(situations: Record<string, Situation>): Promise<Model> | Model
  dispose(): Promise<void> | void
}

const LONG = 'The quick brown fox jumps over the lazy dog, and the dog, being lazy, lets it happen once more.'
const PROMPT_MS = 5_000

/** The behaviour that every `Model` has, whoever answers behind it. */
export function modelContract(name: string, make: () => Promise<ModelStage> | ModelStage, runner: TestRunner): void {
  const { describe, test } = runner
  const on = (scene: (stage: ModelStage) => Promise<void>) => async () => {
    const stage = await make()
    try {
      await scene(stage)
    } finally {
      await stage.dispose()
    }
  }
  describe(`${name} keeps the model contract`, () => {
    test('M1 an answer streams in several texts, then one finish, last', on(answers))
    test('M2 tool calls carry names, parsed inputs and ids of their own', on(callsTools))
    test('M3 a finish carries the usage that was reported', on(reportsUsage))
    test('M4 a call aborted before it begins rejects', on(abortedBefore))
    test('M4 a call aborted while nothing arrives rejects at once', on(abortedWaiting))
    test('M4 a call aborted between two texts rejects at once', on(abortedBetween))
    test('M5 an error rejects, names status and message, and yields no finish', on(fails))
    test('M6 two calls at the same time do not mix', on(keepsApart))
    test('M7 an answer that ran out of length or was refused says so', on(namesStops))
    test('M8 arguments that are not JSON arrive as text with the reason', on(passesGarbage))
    test('M9 a stream that was cut yields no finish', on(showsCuts))
  })
}

/** A request as the kernel makes it, with `says` as its only message. */
export function modelRequest(says: string, changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    key: 'agents/default/turn/1/model',
    model: 'under-test',
    system: 'You are under test.',
    messages: [userText(says)],
    tools: [],
    settings: {},
    session: { run_id: 'run', session_id: 'session', agent: 'default', turn: 1, marks: [] },
    ...changes,
  }
}

/** Everything a stream yields, and what it threw, if it did. */
export async function drain(stream: AsyncIterable<ModelChunk>): Promise<{ chunks: ModelChunk[]; thrown: unknown }> {
  const chunks: ModelChunk[] = []
  try {
    for await (const chunk of stream) chunks.push(chunk)
  } catch (thrown) {
    return { chunks, thrown }
  }
  return { chunks, thrown: undefined }
}

async function answers(stage: ModelStage): Promise<void> {
  const { chunks, thrown } = await ask(await stage.play({ go: { kind: 'text', text: LONG } }))
  assert.equal(thrown, undefined)
  assert.equal(joined(chunks), LONG)
  assert.ok(chunks.filter(({ type }) => type === 'text').length >= 2, 'the text came in one piece')
  assert.equal(finishes(chunks).length, 1)
  assert.equal(chunks.at(-1)?.type, 'finish')
  assert.equal(finishes(chunks)[0]?.stop, 'end')
}

async function callsTools(stage: ModelStage): Promise<void> {
  const calls = [
    { name: 'look', arguments: '{"path":"a"}' },
    { name: 'look', arguments: '{"path":"b","deep":{"list":[1,null,"ü"]}}' },
  ]
  const { chunks } = await ask(await stage.play({ go: { kind: 'tool-calls', calls } }))
  const seen = callsIn(chunks)
  assert.deepEqual(
    seen.map(({ name, input }) => ({ name, input })),
    calls.map((call) => ({ name: call.name, input: JSON.parse(call.arguments) })),
  )
  assert.equal(new Set(seen.map(({ id }) => id)).size, 2)
  assert.ok(seen.every(({ id, invalid }) => id.length > 0 && invalid === undefined))
  assert.equal(finishes(chunks)[0]?.stop, 'tool_calls')
}

async function reportsUsage(stage: ModelStage): Promise<void> {
  const usage = { input: 17, output: 5 }
  const { chunks } = await ask(await stage.play({ go: { kind: 'text', text: 'Five tokens, say.', usage } }))
  const reported = finishes(chunks)[0]?.usage
  assert.deepEqual({ input: reported?.input, output: reported?.output }, usage)
}

async function abortedBefore(stage: ModelStage): Promise<void> {
  const model = await stage.play({ go: { kind: 'text', text: LONG } })
  const { chunks, thrown } = await promptly(drain(model.stream(modelRequest('go'), AbortSignal.abort())))
  assert.ok(thrown)
  assert.deepEqual(chunks, [])
}

async function abortedWaiting(stage: ModelStage): Promise<void> {
  const model = await stage.play({ go: { kind: 'slow' } })
  const controller = new AbortController()
  const stream = model.stream(modelRequest('go'), controller.signal)[Symbol.asyncIterator]()
  const next = stream.next()
  controller.abort()
  await promptly(assert.rejects(next))
}

async function abortedBetween(stage: ModelStage): Promise<void> {
  const model = await stage.play({ go: { kind: 'text', text: LONG } })
  const controller = new AbortController()
  const stream = model.stream(modelRequest('go'), controller.signal)[Symbol.asyncIterator]()
  const first = await stream.next()
  assert.equal(first.value?.type, 'text')
  controller.abort()
  await promptly(assert.rejects(stream.next()))
}

async function fails(stage: ModelStage): Promise<void> {
  const model = await stage.play({
    busy: { kind: 'error', status: 503, message: 'the house is full' },
    wrong: { kind: 'error', status: 400, message: 'no such seat' },
  })
  for (const [says, status, message, retry] of [
    ['busy', 503, 'the house is full', true],
    ['wrong', 400, 'no such seat', false],
  ] as const) {
    const { chunks, thrown } = await ask(model, says)
    const error = thrown as TroupeError
    assert.equal(error?.code, 'model_failed')
    assert.match(error.message, new RegExp(`${status}.*${message}`))
    assert.equal(error.retry, retry)
    assert.deepEqual(finishes(chunks), [])
  }
}

async function keepsApart(stage: ModelStage): Promise<void> {
  const texts = { one: LONG, two: LONG.toUpperCase() }
  const model = await stage.play({ one: { kind: 'text', text: texts.one }, two: { kind: 'text', text: texts.two } })
  const [one, two] = await Promise.all([ask(model, 'one'), ask(model, 'two')])
  assert.equal(joined(one.chunks), texts.one)
  assert.equal(joined(two.chunks), texts.two)
}

async function namesStops(stage: ModelStage): Promise<void> {
  const model = await stage.play({
    length: { kind: 'text', text: 'I had more to s', stop: 'length' },
    refusal: { kind: 'text', text: 'I would rather not.', stop: 'refusal' },
  })
  for (const stop of ['length', 'refusal']) {
    const { chunks } = await ask(model, stop)
    assert.equal(finishes(chunks)[0]?.stop, stop)
  }
}

async function passesGarbage(stage: ModelStage): Promise<void> {
  const garbage = '{"path": "a'
  const calls = [{ name: 'look', arguments: garbage }]
  const { chunks } = await ask(await stage.play({ go: { kind: 'tool-calls', calls } }))
  const [call] = callsIn(chunks)
  assert.equal(call?.input, garbage)
  assert.ok(call?.invalid)
  assert.equal(finishes(chunks)[0]?.stop, 'tool_calls')
}

async function showsCuts(stage: ModelStage): Promise<void> {
  const { chunks } = await ask(await stage.play({ go: { kind: 'cut', text: LONG } }))
  const text = joined(chunks)
  assert.ok(text.length > 0 && text.length < LONG.length && LONG.startsWith(text))
  assert.deepEqual(finishes(chunks), [])
}

function ask(model: Model, says = 'go'): ReturnType<typeof drain> {
  return drain(model.stream(modelRequest(says), new AbortController().signal))
}

function finishes(chunks: readonly ModelChunk[]) {
  return chunks.filter((chunk) => chunk.type === 'finish')
}

function callsIn(chunks: readonly ModelChunk[]) {
  return chunks.filter((chunk) => chunk.type === 'tool-call')
}

function joined(chunks: readonly ModelChunk[]): string {
  return chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('')
}

/** A call that hangs would otherwise show only as the runner's own timeout, without a reason. */
async function promptly<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not reject within ${PROMPT_MS} ms of the abort`)), PROMPT_MS)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
