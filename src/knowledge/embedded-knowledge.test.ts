import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { memoryStore } from '../../test/support/memory-store.ts'
import { TroupeError } from '../errors.ts'
import type { Embedder } from '../kernel/embedder.ts'
import type { KnowledgeDocument } from '../kernel/knowledge.ts'
import { openSqlite } from '../store/sqlite.ts'
import type { Store } from '../store/store.ts'
import { wordEmbedder } from '../testing/word-embedder.ts'
import type { EmbeddedKnowledge } from './embedded-knowledge.ts'
import { knowledgeByProject } from './embedded-knowledge.ts'

const DAY = 86_400_000
const NOW = 1000 * DAY

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function sqliteStore(): Promise<{ store: Store; file: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-knowledge-'))
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'store.db')
  const store = await openSqlite(file)
  cleanups.push(() => store.close())
  return { store, file }
}

let revision = 0
function open(store: Store, embedder: Embedder | undefined = wordEmbedder(), project = 'p'): EmbeddedKnowledge {
  return knowledgeByProject({ store, embedder, newRevision: () => `r${++revision}` })(project)
}

function document(id: string, text: string, more: Partial<KnowledgeDocument> = {}): KnowledgeDocument {
  return { id, kind: 'agent_collaboration', text, data: { id }, at: NOW, ...more }
}

const ids = async (knowledge: EmbeddedKnowledge, text: string, tags?: Record<string, string>) => {
  const found = await knowledge.search({ text, kind: 'agent_collaboration', now: NOW, ...(tags ? { tags } : {}) })
  return found.map(({ document: { id } }) => id)
}

const unloadable: Embedder = {
  id: 'missing',
  threshold: 1,
  embed: async () => {
    throw new TroupeError('no_model', 'the package is not installed', { hint: 'install it' })
  },
}

describe.each([
  ['memory', async () => memoryStore() as Store],
  ['SQLite', async () => (await sqliteStore()).store],
])('knowledge in %s', (_name, createStore) => {
  test('KN1 a document of the same id is replaced, and a stored text is not embedded again', async () => {
    const texts: string[] = []
    const words = wordEmbedder()
    const embed: Embedder['embed'] = (all, signal) => {
      texts.push(...all)
      return words.embed(all, signal)
    }
    const embedder: Embedder = { ...words, embed }
    const knowledge = open(await createStore(), embedder)
    const first = document('a', 'pagination starts with page one', { outcome: { success: true } })
    await knowledge.add([first])
    await knowledge.add([first])
    await knowledge.add([{ ...first, outcome: { success: true, rating: 5 } }])
    expect(texts).toEqual([first.text])
    expect(await knowledge.list('agent_collaboration')).toEqual([{ ...first, outcome: { success: true, rating: 5 } }])
  })

  test('KN2 matches are ordered by similarity, outcome and age, and filtered by all tags', async () => {
    const knowledge = open(await createStore())
    const text = 'database indexes speed queries'
    const rated = (rating: number, age_days = 0) => ({ outcome: { success: true, rating }, at: NOW - age_days * DAY })
    await knowledge.add([
      document('three', text, rated(3)),
      document('five', text, rated(5)),
      document('old five', text, rated(5, 90)),
      document('unrated', text, { outcome: { success: true } }),
      document('tagged', text, { ...rated(4), tags: { specialist_agent: 'dba', consultation_reason: 'model_data' } }),
    ])
    expect(await ids(knowledge, text)).toEqual(['five', 'tagged', 'old five', 'three', 'unrated'])
    const [best, , old] = await knowledge.search({ text, kind: 'agent_collaboration', now: NOW })
    expect(best?.score).toBeCloseTo(1, 5)
    expect(old).toMatchObject({ score: expect.closeTo(0.75, 5), similarity: expect.closeTo(1, 5), method: 'embedding' })
    expect(await ids(knowledge, text, { specialist_agent: 'dba' })).toEqual(['tagged'])
    expect(await ids(knowledge, text, { specialist_agent: 'dba', consultation_reason: 'other' })).toEqual([])
  })

  test('KN3 bad answers are stored and never returned', async () => {
    const knowledge = open(await createStore())
    const text = 'rotate signing keys monthly'
    const outcomes = [
      { success: true, rating: 1 },
      { success: true, rating: 2 },
      { success: false },
      { success: false, rating: 5 },
    ]
    await knowledge.add(outcomes.map((outcome, index) => document(`${index}`, text, { outcome })))
    expect(await ids(knowledge, text)).toEqual([])
    expect(await knowledge.list('agent_collaboration')).toHaveLength(4)
  })

  test('KN4 projects are separate', async () => {
    const store = await createStore()
    const [mine, other] = [open(store), open(store, wordEmbedder(), 'q')]
    await mine.add([document('a', 'secret plans')])
    expect(await ids(other, 'secret plans')).toEqual([])
    expect(await other.forget({})).toBe(0)
    expect(await mine.list('agent_collaboration')).toHaveLength(1)
  })

  test('KN5 without an embedder, or if it fails, words are compared', async () => {
    const failing = { ...wordEmbedder(), embed: () => Promise.reject(new Error('not installed properly')) }
    for (const embedder of [undefined, unloadable, failing]) {
      const knowledge = knowledgeByProject({
        store: await createStore(),
        embedder,
        newRevision: () => `${++revision}`,
      })('p')
      await knowledge.add([
        document('auth', 'Sessions expire after 30 minutes; tokens are signed with RS256.'),
        document('deploy', 'Deploy the containers with docker compose.'),
      ])
      const found = await knowledge.search({ text: 'how are tokens signed?', kind: 'agent_collaboration', now: NOW })
      expect(found.map(({ document: { id }, method }) => [id, method])).toEqual([['auth', 'lexical']])
      expect(knowledge.lexicalReason()).toMatch(embedder ? /not installed/ : /embedder: false/)
    }
  })

  test('KN6 vectors of another embedder are refused with how to index again, and nothing is lost', async () => {
    const store = await createStore()
    const before = open(store)
    await before.add([document('a', 'cache invalidation rules'), document('b', 'release checklist')])
    const after = open(store, { ...wordEmbedder(), id: 'newer' })
    const refused = { code: 'invalid_input', message: /'words'.*'newer'/, hint: /troupe knowledge reindex/ }
    const search = () => after.search({ text: 'cache', kind: 'agent_collaboration', now: NOW })
    await expect(search()).rejects.toMatchObject({
      code: refused.code,
      message: expect.stringMatching(refused.message),
      hint: expect.stringMatching(refused.hint),
    })
    const lexical = await after.search({
      text: 'cache rules',
      kind: 'agent_collaboration',
      now: NOW,
      method: 'lexical',
    })
    expect(lexical.map(({ document: { id } }) => id)).toEqual(['a'])
    await after.add([document('c', 'cache warm-up')])
    expect(await after.list('agent_collaboration')).toHaveLength(3)
  })

  test('KN7 reindexing makes all vectors with this embedder, and continues after an interruption', async () => {
    const store = await createStore()
    await open(store).add(Array.from({ length: 100 }, (_, index) => document(`${index}`, `note topic${index}`)))
    let calls = 0
    const words = wordEmbedder()
    const breaking: Embedder = {
      ...words,
      id: 'newer',
      embed: async (texts) => {
        if (++calls === 2) throw new Error('power failure')
        return words.embed(texts)
      },
    }
    await expect(open(store, breaking).reindex()).rejects.toThrow('power failure')
    const progress: number[] = []
    const again = open(store, breaking)
    expect(await again.reindex(({ done }) => progress.push(done))).toEqual({ documents: 36, embedder: 'newer' })
    expect(progress).toEqual([0, 36])
    expect(await ids(again, 'note topic7')).toContain('7')
    await expect(open(store, unloadable).reindex()).rejects.toMatchObject({ code: 'no_model' })
    expect(await again.reindex()).toEqual({ documents: 0, embedder: 'newer' })
  })

  test('KN8 documents are forgotten by ids, tags or kind', async () => {
    const knowledge = open(await createStore())
    await knowledge.add([
      document('a', 'one', { tags: { path: 'x' } }),
      document('b', 'two', { tags: { path: 'x' } }),
      document('c', 'three'),
      document('d', 'four', { kind: 'document' }),
    ])
    expect(await knowledge.forget({ ids: ['c', 'unknown'] })).toBe(1)
    expect(await knowledge.forget({ tags: { path: 'x' } })).toBe(2)
    expect(await knowledge.forget({ kind: 'agent_collaboration' })).toBe(0)
    expect(await knowledge.list('document')).toHaveLength(1)
  })

  test('an empty query and a document without an id are refused', async () => {
    const knowledge = open(await createStore())
    await expect(knowledge.search({ text: ' ', kind: 'document', now: NOW })).rejects.toMatchObject({
      code: 'invalid_input',
    })
    await expect(knowledge.add([document('', 'x')])).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

test('KN9 a search sees what another process added or forgot', async () => {
  const { store, file } = await sqliteStore()
  const other = await openSqlite(file)
  cleanups.push(() => other.close())
  const [here, there] = [open(store), open(other)]
  await here.add([document('a', 'feature flags')])
  expect(await ids(there, 'feature flags')).toEqual(['a'])
  await here.add([document('b', 'feature flags again')])
  expect(await ids(there, 'feature flags')).toEqual(['a', 'b'])
  await here.forget({ ids: ['a'] })
  expect(await ids(there, 'feature flags')).toEqual(['b'])
})
