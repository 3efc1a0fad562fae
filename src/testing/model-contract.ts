import assert from 'node:assert/strict'
import type { TroupeError } from '../errors.ts'
import type { Model, ModelChunk, ModelRequest } from '../kernel/model.ts'
import { userMessage } from '../kernel/model.ts'
import type { TestRunner } from './test-runner.ts'

/** What the other side of a model is made to do. */
export type ModelBehavior =
  | { kind: 'text'; text: string; stop?: 'length' | 'refusal'; usage?: { input: number; output: number } }
  /** `arguments` is the text that the model wrote, not necessarily JSON. */
  | { kind: 'tool-calls'; calls: { name: string; arguments: string }[] }
  | { kind: 'error'; status: number; message: string }
  /** Nothing arrives for at least a minute. */
  | { kind: 'slow' }
  /** The stream ends half-way through this text. */
  | { kind: 'cut'; text: string }

/** One model implementation on a stage: a script, or a provider against a double of its wire. */
export interface ModelHarness {
  /** A model that meets each situation when the last user message is its key. */
  createModel(situations: Record<string, ModelBehavior>): Promise<Model> | Model
  dispose(): Promise<void> | void
}

const LONG = 'The quick brown fox jumps over the lazy dog, and the dog, being lazy, lets it happen once more.'
const ABORT_DEADLINE_MS = 5_000

/** The behaviour that every `Model` has, whoever answers behind it. */
export function modelContract(
  name: string,
  make: () => Promise<ModelHarness> | ModelHarness,
  runner: TestRunner,
): void {
  const { describe, test } = runner
  const on = (scene: (stage: ModelHarness) => Promise<void>) => async () => {
    const stage = await make()
    try {
      await scene(stage)
    } finally {
      await stage.dispose()
    }
  }
  describe(`${name} keeps the model contract`, () => {
    test('M1 an answer streams in several texts, then one finish, last', on(streamsText))
    test('M2 tool calls carry names, parsed inputs and ids of their own', on(streamsToolCalls))
    test('M3 a finish carries the usage that was reported', on(reportsUsage))
    test('M4 a call aborted before it begins rejects', on(rejectsWhenAlreadyAborted))
    test('M4 a call aborted while nothing arrives rejects at once', on(rejectsWhenAbortedWaiting))
    test('M4 a call aborted between two texts rejects at once', on(rejectsWhenAbortedMidStream))
    test('M5 an error rejects, names status and message, and yields no finish', on(reportsErrors))
    test('M6 two calls at the same time do not mix', on(isolatesConcurrentRequests))
    test('M7 an answer that ran out of length or was refused says so', on(reportsStopReasons))
    test('M8 arguments that are not JSON arrive as text with the reason', on(reportsInvalidArguments))
    test('M9 a stream that was cut yields no finish', on(detectsTruncatedStream))
  })
}

/** A request as the kernel makes it, with `says` as its only message. */
export function modelRequest(says: string, changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    key: 'agents/default/turn/1/model',
    model: 'under-test',
    system: 'You are under test.',
    messages: [userMessage(says)],
    tools: [],
    settings: {},
    session: { run_id: 'run', session_id: 'session', agent: 'default', turn: 1, marks: [] },
    ...changes,
  }
}

/** Everything a stream yields, and what it threw, if it did. */
export async function collectChunks(
  stream: AsyncIterable<ModelChunk>,
): Promise<{ chunks: ModelChunk[]; thrown: unknown }> {
  const chunks: ModelChunk[] = []
  try {
    for await (const chunk of stream) chunks.push(chunk)
  } catch (thrown) {
    return { chunks, thrown }
  }
  return { chunks, thrown: undefined }
}

async function streamsText(stage: ModelHarness): Promise<void> {
  const { chunks, thrown } = await streamRequest(await stage.createModel({ go: { kind: 'text', text: LONG } }))
  assert.equal(thrown, undefined)
  assert.equal(joinText(chunks), LONG)
  assert.ok(chunks.filter(({ type }) => type === 'text').length >= 2, 'the text came in one piece')
  assert.equal(finishChunks(chunks).length, 1)
  assert.equal(chunks.at(-1)?.type, 'finish')
  assert.equal(finishChunks(chunks)[0]?.stop, 'end')
}

async function streamsToolCalls(stage: ModelHarness): Promise<void> {
  const calls = [
    { name: 'look', arguments: '{"path":"a"}' },
    { name: 'look', arguments: '{"path":"b","deep":{"list":[1,null,"ü"]}}' },
  ]
  const { chunks } = await streamRequest(await stage.createModel({ go: { kind: 'tool-calls', calls } }))
  const seen = toolCallChunks(chunks)
  assert.deepEqual(
    seen.map(({ name, input }) => ({ name, input })),
    calls.map((call) => ({ name: call.name, input: JSON.parse(call.arguments) })),
  )
  assert.equal(new Set(seen.map(({ id }) => id)).size, 2)
  assert.ok(seen.every(({ id, invalid }) => id.length > 0 && invalid === undefined))
  assert.equal(finishChunks(chunks)[0]?.stop, 'tool_calls')
}

async function reportsUsage(stage: ModelHarness): Promise<void> {
  const usage = { input: 17, output: 5 }
  const { chunks } = await streamRequest(
    await stage.createModel({ go: { kind: 'text', text: 'Five tokens, say.', usage } }),
  )
  const reported = finishChunks(chunks)[0]?.usage
  assert.deepEqual({ input: reported?.input, output: reported?.output }, usage)
}

async function rejectsWhenAlreadyAborted(stage: ModelHarness): Promise<void> {
  const model = await stage.createModel({ go: { kind: 'text', text: LONG } })
  const { chunks, thrown } = await withAbortDeadline(
    collectChunks(model.stream(modelRequest('go'), AbortSignal.abort())),
  )
  assert.ok(thrown)
  assert.deepEqual(chunks, [])
}

async function rejectsWhenAbortedWaiting(stage: ModelHarness): Promise<void> {
  const model = await stage.createModel({ go: { kind: 'slow' } })
  const controller = new AbortController()
  const stream = model.stream(modelRequest('go'), controller.signal)[Symbol.asyncIterator]()
  const next = stream.next()
  controller.abort()
  await withAbortDeadline(assert.rejects(next))
}

async function rejectsWhenAbortedMidStream(stage: ModelHarness): Promise<void> {
  const model = await stage.createModel({ go: { kind: 'text', text: LONG } })
  const controller = new AbortController()
  const stream = model.stream(modelRequest('go'), controller.signal)[Symbol.asyncIterator]()
  const first = await stream.next()
  assert.equal(first.value?.type, 'text')
  controller.abort()
  await withAbortDeadline(assert.rejects(stream.next()))
}

async function reportsErrors(stage: ModelHarness): Promise<void> {
  const model = await stage.createModel({
    busy: { kind: 'error', status: 503, message: 'the house is full' },
    wrong: { kind: 'error', status: 400, message: 'no such seat' },
  })
  for (const [says, status, message, retry] of [
    ['busy', 503, 'the house is full', true],
    ['wrong', 400, 'no such seat', false],
  ] as const) {
    const { chunks, thrown } = await streamRequest(model, says)
    const error = thrown as TroupeError
    assert.equal(error?.code, 'model_failed')
    assert.match(error.message, new RegExp(`${status}.*${message}`))
    assert.equal(error.retry, retry)
    assert.deepEqual(finishChunks(chunks), [])
  }
}

async function isolatesConcurrentRequests(stage: ModelHarness): Promise<void> {
  const texts = { one: LONG, two: LONG.toUpperCase() }
  const model = await stage.createModel({
    one: { kind: 'text', text: texts.one },
    two: { kind: 'text', text: texts.two },
  })
  const [one, two] = await Promise.all([streamRequest(model, 'one'), streamRequest(model, 'two')])
  assert.equal(joinText(one.chunks), texts.one)
  assert.equal(joinText(two.chunks), texts.two)
}

async function reportsStopReasons(stage: ModelHarness): Promise<void> {
  const model = await stage.createModel({
    length: { kind: 'text', text: 'I had more to s', stop: 'length' },
    refusal: { kind: 'text', text: 'I would rather not.', stop: 'refusal' },
  })
  for (const stop of ['length', 'refusal']) {
    const { chunks } = await streamRequest(model, stop)
    assert.equal(finishChunks(chunks)[0]?.stop, stop)
  }
}

async function reportsInvalidArguments(stage: ModelHarness): Promise<void> {
  const garbage = '{"path": "a'
  const calls = [{ name: 'look', arguments: garbage }]
  const { chunks } = await streamRequest(await stage.createModel({ go: { kind: 'tool-calls', calls } }))
  const [call] = toolCallChunks(chunks)
  assert.equal(call?.input, garbage)
  assert.ok(call?.invalid)
  assert.equal(finishChunks(chunks)[0]?.stop, 'tool_calls')
}

async function detectsTruncatedStream(stage: ModelHarness): Promise<void> {
  const { chunks } = await streamRequest(await stage.createModel({ go: { kind: 'cut', text: LONG } }))
  const text = joinText(chunks)
  assert.ok(text.length > 0 && text.length < LONG.length && LONG.startsWith(text))
  assert.deepEqual(finishChunks(chunks), [])
}

function streamRequest(model: Model, says = 'go'): ReturnType<typeof collectChunks> {
  return collectChunks(model.stream(modelRequest(says), new AbortController().signal))
}

function finishChunks(chunks: readonly ModelChunk[]) {
  return chunks.filter((chunk) => chunk.type === 'finish')
}

function toolCallChunks(chunks: readonly ModelChunk[]) {
  return chunks.filter((chunk) => chunk.type === 'tool-call')
}

function joinText(chunks: readonly ModelChunk[]): string {
  return chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('')
}

/** A call that hangs would otherwise show only as the runner's own timeout, without a reason. */
async function withAbortDeadline<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`did not reject within ${ABORT_DEADLINE_MS} ms of the abort`)),
      ABORT_DEADLINE_MS,
    )
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
