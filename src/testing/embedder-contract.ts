import assert from 'node:assert/strict'
import type { Embedder } from '../kernel/embedder.ts'
import type { TestRunner } from './test-runner.ts'

/** Contract tests for an `Embedder`. */
export function embedderContract(name: string, create: () => Embedder, { describe, test }: TestRunner): void {
  const withEmbedder = (testCase: (embedder: Embedder) => Promise<void>) => async () => {
    const embedder = create()
    try {
      await testCase(embedder)
    } finally {
      await embedder.close?.()
    }
  }
  describe(`${name} satisfies the embedder contract`, () => {
    test(
      'EM1 embed returns one unit vector per text, in order, and an empty list for no texts',
      withEmbedder(returnsUnitVectors),
    )
    test('EM2 a text gets the same vector alone, in a batch and in a later call', withEmbedder(isDeterministic))
    test('EM3 a paraphrase is closer than an unrelated sentence', withEmbedder(ranksParaphrasesCloser))
    test(
      'EM4 empty, huge and malformed texts get vectors; text beyond the context window is truncated',
      withEmbedder(acceptsAnyText),
    )
    test(
      'EM5 an abort before or during a call rejects with its reason and affects no other call',
      withEmbedder(rejectsOnAbort),
    )
    test('EM6 concurrent calls get their own vectors', withEmbedder(isolatesConcurrentCalls))
    test('EM7 close is idempotent, and a closed embedder rejects embed', withEmbedder(closesOnce))
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
  // A returned vector must not alias a cache entry.
  together[9]?.fill(0)
  assert.deepEqual((await embedder.embed([texts[9] ?? '']))[0], alone)
}

async function ranksParaphrasesCloser(embedder: Embedder): Promise<void> {
  const [original, paraphrase, unrelated] = await embedder.embed([
    'Retry failed requests with exponential backoff',
    'Use exponential backoff to retry failed requests',
    'The cat sleeps on the warm stove',
  ])
  assert.ok(dotProduct(original, paraphrase) >= embedder.threshold, `${dotProduct(original, paraphrase)}`)
  assert.ok(dotProduct(original, unrelated) < embedder.threshold, `${dotProduct(original, unrelated)}`)
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
  const isAbortReason = (error: unknown) => error === reason
  await assert.rejects(embedder.embed(['text'], AbortSignal.abort(reason)), isAbortReason)
  const controller = new AbortController()
  const abortedCall = embedder.embed(['one text', 'another text'], controller.signal)
  const otherCall = embedder.embed(['a third text'])
  controller.abort(reason)
  await assert.rejects(abortedCall, isAbortReason)
  assert.equal((await otherCall).length, 1)
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
  const pendingCall = assert.rejects(embedder.embed(['unanswered']))
  await Promise.all([embedder.close(), embedder.close(), pendingCall])
  await embedder.close()
  await assert.rejects(embedder.embed(['text']))
}

function dotProduct(a: Float32Array | undefined, b: Float32Array | undefined): number {
  assert.ok(a && b)
  return a.reduce((sum, part, index) => sum + part * (b[index] ?? 0), 0)
}
