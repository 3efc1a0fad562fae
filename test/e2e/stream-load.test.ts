import { expect, test } from 'vitest'
import { runStreamLoad } from '../../bench/streams-load.ts'

/* The short form of `npm run bench:streams`. */

test('HT1 HT3 many clients get every event in order, and slow ones are disconnected and recover', async () => {
  const load = { clients: 60, slow: 3, events: 800, size: 12_000, stall_ms: 1500 }
  const { complete, recovered, rss } = await runStreamLoad(load)
  expect({ complete, recovered }).toEqual({ complete: load.clients, recovered: load.slow })
  // A buffer for each client would hold 9.6 MB for each of 60.
  expect(rss.peak - rss.before).toBeLessThan(300)
})
