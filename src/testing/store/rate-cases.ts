import assert from 'node:assert/strict'
import type { Store } from '../../store/store.ts'
import type { StoreHarness } from './store-harness.ts'

const BUCKET = { key: 'requests:acme', capacity: 3, refill_per_minute: 60 }

export async function sharesBuckets(store: Store, other: Store): Promise<void> {
  const take = { ...BUCKET, amount: 1 }
  assert.deepEqual(
    [await store.takeTokens(take), await other.takeTokens(take), await store.takeTokens(take)],
    [0, 0, 0],
  )
  assert.ok((await other.takeTokens(take)) > 0)
  assert.equal(await other.takeTokens({ ...take, key: 'requests:another' }), 0)
}

export async function refillsBuckets(store: Store, harness: StoreHarness): Promise<void> {
  const take = { ...BUCKET, amount: 1 }
  assert.equal(await store.takeTokens({ ...take, amount: 5, force: true }), 0)
  const wait_ms = await store.takeTokens(take)
  assert.ok(wait_ms > 1000 && wait_ms <= 3000, `${wait_ms}`)
  await harness.passTime(3000)
  assert.equal(await store.takeTokens(take), 0)
  await harness.passTime(600_000)
  for (let n = 0; n < BUCKET.capacity; n++) assert.equal(await store.takeTokens(take), 0)
  assert.ok((await store.takeTokens(take)) > 0)
}

export async function refillsAfterClockJump(store: Store, harness: StoreHarness): Promise<void> {
  const take = { ...BUCKET, amount: 1 }
  await harness.passTime(86_400_000)
  assert.equal(await store.takeTokens({ ...take, amount: 3, force: true }), 0)
  await harness.passTime(-86_400_000)
  const wait_ms = await store.takeTokens(take)
  assert.ok(wait_ms > 0 && wait_ms <= 1000, `${wait_ms}`)
  await harness.passTime(wait_ms)
  assert.equal(await store.takeTokens(take), 0)
}

export async function keepsVectors(store: Store, other: Store): Promise<void> {
  const scope = { project: 'p', collection: 'notes' }
  const row = (id: string, ...values: number[]) => ({ id, vector: Float32Array.from(values), data: { text: id } })
  await store.putVectors(scope, [row('b', 0.5, -0.25), row('a', 1, 0)])
  await store.putVectors({ ...scope, project: 'q' }, [row('c', 0, 1)])
  await store.putVectors(scope, [row('b', 0, 0.125)])
  assert.deepEqual(await other.vectors(scope), [row('a', 1, 0), row('b', 0, 0.125)])
  assert.deepEqual(await other.vectors(scope, ['b', 'unknown']), [row('b', 0, 0.125)])
  await store.putVectors(scope, [row('d', 1)], ['a', 'unknown'])
  assert.deepEqual(await other.vectors(scope), [row('b', 0, 0.125), row('d', 1)])
  await other.deleteVectors(scope, ['d', 'unknown'])
  assert.deepEqual(await store.vectors(scope), [row('b', 0, 0.125)])
  await store.deleteVectors(scope)
  assert.deepEqual(await store.vectors(scope), [])
  assert.equal((await store.vectors({ ...scope, project: 'q' })).length, 1)
}
