import assert from 'node:assert/strict'
import type { TroupeError } from '../errors.ts'
import type { Model, ModelChunk, ModelRequest } from '../kernel/model.ts'
import { userMessage } from '../kernel/model.ts'
import type { TestRunner } from './test-runner.ts'

/** Simulated behaviour of the provider behind a model. */
export type ModelBehavior =
  | { kind: 'text'; text: string; stop?: 'length' | 'refusal'; usage?: { input: number; output: number } }
  /** `arguments` is the raw text of the model, possibly invalid JSON. */
  | { kind: 'tool-calls'; calls: { name: string; arguments: string }[] }
  | { kind: 'error'; status: number; message: string }
  /** Sends nothing for at least a minute. */
  | { kind: 'slow' }
  /** The stream ends before the whole text was sent. */
  | { kind: 'cut'; text: string }

/** Creates models of one implementation: a script, or a provider package with a mock server. */
export interface ModelHarness {
  /** Returns a model that shows a behaviour when the last user message equals its key. */
  createModel(behaviors: Record<string, ModelBehavior>): Promise<Model> | Model
  dispose(): Promise<void> | void
}

const LONG = 'The quick brown fox jumps over the lazy dog, and the dog, being lazy, lets it happen once more.'
const ABORT_DEADLINE_MS = 5_000

/** Contract tests for a `Model`. */
export function modelContract(
  name: string,
  create: () => Promise<ModelHarness> | ModelHarness,
  runner: TestRunner,
): void {
  const { describe, test } = runner
  const withHarness = (testCase: (harness: ModelHarness) => Promise<void>) => async () => {
    const harness = await create()
    try {
      await testCase(harness)
    } finally {
      await harness.dispose()
    }
  }
  describe(`${name} satisfies the model contract`, () => {
    test('M1 a response streams as several text chunks, then exactly one finish', withHarness(streamsText))
    test('M2 tool calls have a name, a parsed input and a unique id', withHarness(streamsToolCalls))
    test('M3 the finish carries the reported usage', withHarness(reportsUsage))
    test('M4 a request aborted before it starts rejects', withHarness(rejectsWhenAlreadyAborted))
    test(
      'M4 a request aborted while waiting for the first chunk rejects promptly',
      withHarness(rejectsWhenAbortedWaiting),
    )
    test('M4 a request aborted between two chunks rejects promptly', withHarness(rejectsWhenAbortedMidStream))
    test('M5 a provider error rejects with status and message and yields no finish', withHarness(reportsErrors))
    test('M6 concurrent requests do not mix', withHarness(isolatesConcurrentRequests))
    test('M7 a truncated or refused response finishes with length or refusal', withHarness(reportsStopReasons))
    test(
      'M8 invalid JSON arguments arrive as raw text with the reason in invalid',
      withHarness(reportsInvalidArguments),
    )
    test('M9 an interrupted stream yields no finish', withHarness(detectsTruncatedStream))
  })
}

/** A model request with one user message. */
export function modelRequest(text: string, changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    key: 'agents/default/turn/1/model',
    model: 'under-test',
    system: 'You are under test.',
    messages: [userMessage(text)],
    tools: [],
    settings: {},
    session: { run_id: 'run', session_id: 'session', agent: 'default', turn: 1, marks: [] },
    ...changes,
  }
}

/** Collects all chunks of a stream, and the error that ended it, if any. */
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

async function streamsText(harness: ModelHarness): Promise<void> {
  const { chunks, thrown } = await streamRequest(await harness.createModel({ go: { kind: 'text', text: LONG } }))
  assert.equal(thrown, undefined)
  assert.equal(joinText(chunks), LONG)
  assert.ok(chunks.filter(({ type }) => type === 'text').length >= 2, 'expected several text chunks')
  assert.equal(finishChunks(chunks).length, 1)
  assert.equal(chunks.at(-1)?.type, 'finish')
  assert.equal(finishChunks(chunks)[0]?.stop, 'end')
}

async function streamsToolCalls(harness: ModelHarness): Promise<void> {
  const calls = [
    { name: 'look', arguments: '{"path":"a"}' },
    { name: 'look', arguments: '{"path":"b","deep":{"list":[1,null,"ü"]}}' },
  ]
  const { chunks } = await streamRequest(await harness.createModel({ go: { kind: 'tool-calls', calls } }))
  const found = toolCallChunks(chunks)
  assert.deepEqual(
    found.map(({ name, input }) => ({ name, input })),
    calls.map((call) => ({ name: call.name, input: JSON.parse(call.arguments) })),
  )
  assert.equal(new Set(found.map(({ id }) => id)).size, 2)
  assert.ok(found.every(({ id, invalid }) => id.length > 0 && invalid === undefined))
  assert.equal(finishChunks(chunks)[0]?.stop, 'tool_calls')
}

async function reportsUsage(harness: ModelHarness): Promise<void> {
  const usage = { input: 17, output: 5 }
  const { chunks } = await streamRequest(
    await harness.createModel({ go: { kind: 'text', text: 'Five tokens, say.', usage } }),
  )
  const reported = finishChunks(chunks)[0]?.usage
  assert.deepEqual({ input: reported?.input, output: reported?.output }, usage)
}

async function rejectsWhenAlreadyAborted(harness: ModelHarness): Promise<void> {
  const model = await harness.createModel({ go: { kind: 'text', text: LONG } })
  const { chunks, thrown } = await withAbortDeadline(
    collectChunks(model.stream(modelRequest('go'), AbortSignal.abort())),
  )
  assert.ok(thrown)
  assert.deepEqual(chunks, [])
}

async function rejectsWhenAbortedWaiting(harness: ModelHarness): Promise<void> {
  const model = await harness.createModel({ go: { kind: 'slow' } })
  const controller = new AbortController()
  const stream = model.stream(modelRequest('go'), controller.signal)[Symbol.asyncIterator]()
  const next = stream.next()
  controller.abort()
  await withAbortDeadline(assert.rejects(next))
}

async function rejectsWhenAbortedMidStream(harness: ModelHarness): Promise<void> {
  const model = await harness.createModel({ go: { kind: 'text', text: LONG } })
  const controller = new AbortController()
  const stream = model.stream(modelRequest('go'), controller.signal)[Symbol.asyncIterator]()
  const first = await stream.next()
  assert.equal(first.value?.type, 'text')
  controller.abort()
  await withAbortDeadline(assert.rejects(stream.next()))
}

async function reportsErrors(harness: ModelHarness): Promise<void> {
  const model = await harness.createModel({
    busy: { kind: 'error', status: 503, message: 'overloaded' },
    wrong: { kind: 'error', status: 400, message: 'bad request' },
  })
  for (const [text, status, message, retry] of [
    ['busy', 503, 'overloaded', true],
    ['wrong', 400, 'bad request', false],
  ] as const) {
    const { chunks, thrown } = await streamRequest(model, text)
    const error = thrown as TroupeError
    assert.equal(error?.code, 'model_failed')
    assert.match(error.message, new RegExp(`${status}.*${message}`))
    assert.equal(error.retry, retry)
    assert.deepEqual(finishChunks(chunks), [])
  }
}

async function isolatesConcurrentRequests(harness: ModelHarness): Promise<void> {
  const texts = { one: LONG, two: LONG.toUpperCase() }
  const model = await harness.createModel({
    one: { kind: 'text', text: texts.one },
    two: { kind: 'text', text: texts.two },
  })
  const [one, two] = await Promise.all([streamRequest(model, 'one'), streamRequest(model, 'two')])
  assert.equal(joinText(one.chunks), texts.one)
  assert.equal(joinText(two.chunks), texts.two)
}

async function reportsStopReasons(harness: ModelHarness): Promise<void> {
  const model = await harness.createModel({
    length: { kind: 'text', text: 'Truncated te', stop: 'length' },
    refusal: { kind: 'text', text: 'I cannot help with that.', stop: 'refusal' },
  })
  for (const stop of ['length', 'refusal']) {
    const { chunks } = await streamRequest(model, stop)
    assert.equal(finishChunks(chunks)[0]?.stop, stop)
  }
}

async function reportsInvalidArguments(harness: ModelHarness): Promise<void> {
  const invalidJson = '{"path": "a'
  const calls = [{ name: 'look', arguments: invalidJson }]
  const { chunks } = await streamRequest(await harness.createModel({ go: { kind: 'tool-calls', calls } }))
  const [call] = toolCallChunks(chunks)
  assert.equal(call?.input, invalidJson)
  assert.ok(call?.invalid)
  assert.equal(finishChunks(chunks)[0]?.stop, 'tool_calls')
}

async function detectsTruncatedStream(harness: ModelHarness): Promise<void> {
  const { chunks } = await streamRequest(await harness.createModel({ go: { kind: 'cut', text: LONG } }))
  const text = joinText(chunks)
  assert.ok(text.length > 0 && text.length < LONG.length && LONG.startsWith(text))
  assert.deepEqual(finishChunks(chunks), [])
}

function streamRequest(model: Model, text = 'go'): ReturnType<typeof collectChunks> {
  return collectChunks(model.stream(modelRequest(text), new AbortController().signal))
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

/** Fails with a reason before the test runner's own timeout would. */
async function withAbortDeadline<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`did not reject within ${ABORT_DEADLINE_MS} ms of the abort`)),
      ABORT_DEADLINE_MS,
    )
  })
  return Promise.race([promise, deadline]).finally(() => clearTimeout(timer))
}
