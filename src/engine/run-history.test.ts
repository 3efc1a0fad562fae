import { expect, test } from 'vitest'
import { memoryStore } from '../../test/support/memory-store.ts'
import type { Event } from '../kernel/event.ts'
import { JOURNAL_FORMAT } from '../kernel/event.ts'
import { createTroupe } from '../runtime/troupe.ts'
import { testRunStart } from '../testing/store/store-harness.ts'

test.each([
  [JOURNAL_FORMAT - 1, 'store_older', /the version of troupe that recorded it/],
  [JOURNAL_FORMAT + 1, 'store_newer', /update troupe/],
] as const)('E15 a journal of format %i is neither executed nor forked', async (format, code, hint) => {
  const store = memoryStore()
  const start = testRunStart('r1')
  await store.createRun({ ...start, data: { ...start.data, format } } as Event)
  await using troupe = await createTroupe({ store })
  const expected = { code, hint: expect.stringMatching(hint) }
  await expect(troupe.resume('r1').then((handle) => handle.result)).rejects.toMatchObject(expected)
  await expect(troupe.fork('r1', 1)).rejects.toMatchObject(expected)
  expect((await store.events('r1')).length).toBe(1)
})
