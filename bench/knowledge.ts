/* Measures the search among many documents: `npm run bench:knowledge [-- COUNT]`. The vectors are random; the time to make them is measured on a few texts. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Embedder } from '../src/kernel/embedder.ts'
import type { KnowledgeDocument } from '../src/kernel/knowledge.ts'
import { knowledgeByProject } from '../src/knowledge/embedded-knowledge.ts'
import { localEmbedder } from '../src/knowledge/local-embedder.ts'
import { openSqlite } from '../src/store/sqlite.ts'

const DIMENSIONS = 384
const BATCH = 500
const SEARCHES = 20
const WORDS =
  'cache index query token session deploy retry schema worker queue page user role build test lint merge release'.split(
    ' ',
  )

/** A generator with a fixed seed (mulberry32): each run measures the same documents. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
}

function randomEmbedder(random: () => number): Embedder {
  const vector = () => {
    const values = Float32Array.from({ length: DIMENSIONS }, () => random() - 0.5)
    const length = Math.hypot(...values)
    return values.map((value) => value / length)
  }
  return { id: 'random', threshold: 1, embed: async (texts) => texts.map(vector) }
}

async function medianTime(count: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < count; round++) {
    const start = performance.now()
    await work()
    times.push(performance.now() - start)
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
}

const memory = () => {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / 1e6
}

const print = (name: string, value: string) => console.log(`${name.padEnd(44)} ${value}`)

const count = Number(process.argv[2] ?? 10_000)
const random = randomNumbers(1)
const folder = mkdtempSync(join(tmpdir(), 'troupe-bench-knowledge-'))
const file = join(folder, 'store.db')
const text = () => Array.from({ length: 150 }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ')
const documents = (start: number, size: number): KnowledgeDocument[] =>
  Array.from({ length: size }, (_, index) => ({
    id: `docs/${start + index}.md#1`,
    kind: 'document',
    text: text(),
    data: { path: `docs/${start + index}.md`, line: 1 },
    tags: { path: `docs/${start + index}.md` },
    at: 0,
  }))

const store = await openSqlite(file)
let revision = 0
const open = (embedder: Embedder | undefined) =>
  knowledgeByProject({ store, embedder, newRevision: () => `${++revision}` })('p')
const knowledge = open(randomEmbedder(random))
const adding = performance.now()
for (let start = 0; start < count; start += BATCH) await knowledge.add(documents(start, Math.min(BATCH, count - start)))
print(`add ${count} documents, without making vectors`, `${((performance.now() - adding) / 1000).toFixed(1)} s`)
const search = { text: 'retry the deploy of the worker queue', kind: 'document', limit: 3, now: 0 } as const
const before = memory()
print('first search, which reads all', `${(await medianTime(1, () => knowledge.search(search))).toFixed(0)} ms`)
print(
  'in memory afterwards',
  `${(memory() - before).toFixed(0)} MB${globalThis.gc ? '' : ' (about; exact with --expose-gc)'}`,
)
print(
  `search by vectors, median of ${SEARCHES}`,
  `${(await medianTime(SEARCHES, () => knowledge.search(search))).toFixed(1)} ms`,
)
const lexical = open(undefined)
await lexical.search(search)
print('search by words, median of 5', `${(await medianTime(5, () => lexical.search(search))).toFixed(0)} ms`)
const change = async () => {
  await knowledge.add(documents(0, 1))
  await knowledge.search(search)
}
print('search after another change', `${(await medianTime(5, change)).toFixed(0)} ms`)
await store.close()
print('store', `${(statSync(file).size / 1e6).toFixed(0)} MB`)
rmSync(folder, { recursive: true })

const embedder = localEmbedder()
await embedder.embed(['load'])
const texts = Array.from({ length: 32 }, text)
const made = await medianTime(1, () => embedder.embed(texts))
print('make a vector of 1,000 characters', `${(made / texts.length).toFixed(0)} ms`)
await embedder.close?.()
