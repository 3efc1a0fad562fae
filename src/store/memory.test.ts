import { describe, expect, test } from 'vitest'
import { createLeasedRun } from '../testing/store/store-harness.ts'
import { storeContract } from '../testing/store-contract.ts'
import { openMemory } from './sqlite.ts'

async function openHarness() {
  let now = Date.now()
  const passTime = async (ms: number) => {
    now += ms
  }
  const store = openMemory({ now: () => now })
  return { store, passTime, dispose: () => store.close() }
}

storeContract('the SQLite store in memory', openHarness, { describe, test })

test('each store in memory is one of its own, without what only files have', async () => {
  const [one, other] = [openMemory(), openMemory()]
  await createLeasedRun(one, 'r1')
  expect(await other.run('r1')).toBeUndefined()
  expect(one.location).toBe('memory')
  expect([one.backUp, one.acceptLoss, one.ownershipProblem, one.loss]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  await one.close()
  await other.close()
})
