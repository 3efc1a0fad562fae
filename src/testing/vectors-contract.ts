import assert from 'node:assert/strict'
import type { VectorScope, Vectors } from '../kernel/vectors.ts'
import type { TestRunner } from './test-runner.ts'

export interface VectorsHarness {
  vectors: Vectors
  dispose(): Promise<void> | void
}

/** Contract tests for `Vectors`. */
export function vectorsContract(
  name: string,
  create: () => Promise<VectorsHarness> | VectorsHarness,
  { describe, test }: TestRunner,
): void {
  const withVectors = (testCase: (vectors: Vectors) => Promise<void>) => async () => {
    const { vectors, dispose } = await create()
    try {
      await testCase(vectors)
    } finally {
      await dispose()
    }
  }
  describe(`${name} satisfies the vectors contract`, () => {
    test('VE1 a query returns the most similar entries, best first, with their data', withVectors(ranksEntries))
    test('VE2 an entry with the same id is replaced', withVectors(replacesEntries))
    test('VE3 projects and collections are separate', withVectors(separatesCollections))
    test('VE4 deleted entries and collections are not found', withVectors(deletesEntries))
    test('VE5 a vector of another length, or with a value that is no number, is rejected', withVectors(rejectsMisfits))
  })
}

const SCOPE: VectorScope = { project: 'p', collection: 'notes' }
const vector = (...values: number[]) => Float32Array.from(values)

async function ids(vectors: Vectors, scope = SCOPE, limit = 10): Promise<string[]> {
  return (await vectors.query(scope, vector(1, 0), { limit })).map(({ id }) => id)
}

async function ranksEntries(vectors: Vectors): Promise<void> {
  assert.deepEqual(await vectors.query(SCOPE, vector(1, 0)), [])
  await vectors.add(SCOPE, [
    { id: 'far', vector: vector(-1, 0) },
    { id: 'near', vector: vector(2, 2), data: { text: 'near' } },
    { id: 'same', vector: vector(3, 0) },
    { id: 'also the same', vector: vector(1, 0) },
  ])
  assert.deepEqual(await ids(vectors), ['also the same', 'same', 'near', 'far'])
  assert.deepEqual(await ids(vectors, SCOPE, 2), ['also the same', 'same'])
  const [, , near] = await vectors.query(SCOPE, vector(1, 0), { minimum: 0.5 })
  assert.deepEqual(near?.data, { text: 'near' })
  assert.ok(Math.abs((near?.similarity ?? 0) - Math.SQRT1_2) < 1e-6)
  assert.equal((await vectors.query(SCOPE, vector(1, 0), { minimum: 0.5 })).length, 3)
}

async function replacesEntries(vectors: Vectors): Promise<void> {
  await vectors.add(SCOPE, [{ id: 'a', vector: vector(1, 0), data: 1 }])
  await vectors.add(SCOPE, [{ id: 'a', vector: vector(0, 1), data: 2 }])
  const [found, ...others] = await vectors.query(SCOPE, vector(0, 1))
  assert.deepEqual([found?.id, found?.data, others.length], ['a', 2, 0])
}

async function separatesCollections(vectors: Vectors): Promise<void> {
  const scopes = [SCOPE, { ...SCOPE, project: 'q' }, { ...SCOPE, collection: 'other' }]
  for (const [index, scope] of scopes.entries()) await vectors.add(scope, [{ id: `${index}`, vector: vector(1, 0) }])
  for (const [index, scope] of scopes.entries()) assert.deepEqual(await ids(vectors, scope), [`${index}`])
}

async function deletesEntries(vectors: Vectors): Promise<void> {
  await vectors.add(
    SCOPE,
    ['a', 'b', 'c'].map((id) => ({ id, vector: vector(1, 0) })),
  )
  await vectors.delete(SCOPE, ['a', 'unknown'])
  assert.deepEqual(await ids(vectors), ['b', 'c'])
  await vectors.delete(SCOPE)
  assert.deepEqual(await ids(vectors), [])
}

async function rejectsMisfits(vectors: Vectors): Promise<void> {
  const isInvalid = (error: unknown) => (error as { code?: string }).code === 'invalid_input'
  await vectors.add(SCOPE, [{ id: 'a', vector: vector(1, 0) }])
  await assert.rejects(vectors.add(SCOPE, [{ id: 'b', vector: vector(1, 0, 0) }]), isInvalid)
  await assert.rejects(vectors.add(SCOPE, [{ id: 'b', vector: vector(Number.NaN, 0) }]), isInvalid)
  await assert.rejects(vectors.query(SCOPE, vector(1)), isInvalid)
  assert.deepEqual(await ids(vectors), ['a'])
}
