import { describe, test } from 'vitest'
import { storeContract } from '../testing/store-contract.ts'
import { MemoryStore } from './memory.ts'

async function openHarness() {
  let now = Date.now()
  const passTime = async (ms: number) => {
    now += ms
  }
  return { store: new MemoryStore({ now: () => now }), passTime, dispose: async () => {} }
}

storeContract('the memory store', openHarness, { describe, test })
