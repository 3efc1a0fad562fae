import { describe, test } from 'vitest'
import { storeContract } from '../testing/store-contract.ts'
import { MemoryStore } from './memory.ts'

storeContract('the memory store', async () => ({ store: new MemoryStore(), dispose: async () => {} }), {
  describe,
  test,
})
