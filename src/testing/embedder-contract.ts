import assert from 'node:assert/strict'
import type { Embedder } from '../kernel/embedder.ts'
import type { TestRunner } from './test-runner.ts'

/** The behaviour that every `Embedder` has. */
export function embedderContract(name: string, make: () => Embedder, { describe, test }: TestRunner): void {
  const on = (scene: (embedder: Embedder) => Promise<void>) => async () => {
    const embedder = make()
    try {
      await scene(embedder)
    } finally {
      await embedder.close?.()
    }
  }
  describe(`${name} keeps the embedder contract`, () => {
    test('EM1 there is one vector of length 1 for each text, in their order, and none for none', on(returnsUnitVectors))
    test('EM2 a text has the same vector alone and in company, now and later', on(isDeterministic))
    test('EM3 a sentence is closer to the same in other words than to another one', on(ranksParaphrasesCloser))
    test('EM4 empty, huge and broken texts have vectors; what is beyond the window is cut', on(acceptsAnyText))
    test('EM5 an abort rejects with its reason, before and during, and harms nobody else', on(rejectsOnAbort))
    test('EM6 calls at the same time get their own vectors', on(isolatesConcurrentCalls))
    test('EM7 closing twice is closing once, and a closed embedder embeds nothing', on(closesOnce))
  })
}

async function returnsUnitVectors(embedder: Embedder): Promise<void> {
  assert.deepEqual(await embedder.embed([]), [])
  const vectors = await embedder.embed(['first', 'second', 'first'])
  assert.equal(vectors.length, 3)
  for (const vector of vectors) {
    assert.ok(vector instanceof Float32Array)
    assert.equal(vector.length, vectors[0]?.length)
    assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5)
  }
  assert.deepEqual(vectors[0], vectors[2])
  assert.notDeepEqual(vectors[0], vectors[1])
  assert.ok(embedder.id !== '')
  assert.ok(embedder.threshold > 0 && embedder.threshold < 1)
}

async function isDeterministic(embedder: Embedder): Promise<void> {
  const texts = Array.from({ length: 11 }, (_, index) => `sentence number ${index}`)
  const together = await embedder.embed(texts)
  const [alone] = await embedder.embed([texts[9] ?? ''])
  assert.ok(dotProduct(alone, together[9]) > 0.99999)
  // A vector belongs to who got it.
  together[9]?.fill(0)
  assert.deepEqual((await embedder.embed([texts[9] ?? '']))[0], alone)
}

async function ranksParaphrasesCloser(embedder: Embedder): Promise<void> {
  const [one, same, other] = await embedder.embed([
    'Retry failed requests with exponential backoff',
    'Use exponential backoff to retry failed requests',
    'The cat sleeps on the warm stove',
  ])
  assert.ok(dotProduct(one, same) >= embedder.threshold, `${dotProduct(one, same)}`)
  assert.ok(dotProduct(one, other) < embedder.threshold, `${dotProduct(one, other)}`)
}

async function acceptsAnyText(embedder: Embedder): Promise<void> {
  const huge = 'a long story about everything '.repeat(20_000)
  const vectors = await embedder.embed([
    '',
    ' ',
    '\ud800',
    '\u0000',
    '🎭'.repeat(300),
    huge,
    `${huge} with another end`,
  ])
  for (const vector of vectors) assert.ok(vector.every(Number.isFinite))
  assert.ok(dotProduct(vectors[5], vectors[6]) > 0.99)
}

async function rejectsOnAbort(embedder: Embedder): Promise<void> {
  const reason = new Error('enough')
  const isReason = (error: unknown) => error === reason
  await assert.rejects(embedder.embed(['text'], AbortSignal.abort(reason)), isReason)
  const controller = new AbortController()
  const left = embedder.embed(['one text', 'another text'], controller.signal)
  const stayed = embedder.embed(['a third text'])
  controller.abort(reason)
  await assert.rejects(left, isReason)
  assert.equal((await stayed).length, 1)
  assert.equal((await embedder.embed(['one text'])).length, 1)
}

async function isolatesConcurrentCalls(embedder: Embedder): Promise<void> {
  const texts = ['the first call', 'the second call', 'the third call']
  const together = await Promise.all(texts.map((text) => embedder.embed([text])))
  const later = await embedder.embed(texts)
  later.forEach((vector, index) => {
    assert.ok(dotProduct(vector, together[index]?.[0]) > 0.99999)
  })
}

async function closesOnce(embedder: Embedder): Promise<void> {
  await embedder.embed(['text'])
  if (!embedder.close) return
  const late = assert.rejects(embedder.embed(['unanswered']))
  await Promise.all([embedder.close(), embedder.close(), late])
  await embedder.close()
  await assert.rejects(embedder.embed(['text']))
}

function dotProduct(a: Float32Array | undefined, b: Float32Array | undefined): number {
  assert.ok(a && b)
  return a.reduce((sum, part, index) => sum + part * (b[index] ?? 0), 0)
}
