import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { chunkModel, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe } from '../../test/support/test-troupe.ts'
import type { Troupe } from '../index.ts'
import type { Event } from '../kernel/event.ts'
import { openSqlite } from '../store/sqlite.ts'
import type { Store } from '../store/store.ts'

const worker = agent('worker')
const go = { agent: 'worker', instruction: 'go' }
const greeting = () => chunkModel(() => textChunks('hello'))

async function collectEvents(events: AsyncIterable<Event>): Promise<Event[]> {
  const collected: Event[] = []
  for await (const event of events) collected.push(event)
  return collected
}

/** Two stores on one database file, as two processes have them. */
async function withTwoStores(use: (stores: readonly [Store, Store]) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-watch-'))
  const path = join(folder, 'troupe.db')
  try {
    await use([await openSqlite(path), await openSqlite(path)])
  } finally {
    await rm(folder, { recursive: true })
  }
}

describe('watching a run', () => {
  test('P13 a troupe on another connection yields the journal of a run that this one executes', async () => {
    await withTwoStores(async ([mine, theirs]) => {
      const released = Promise.withResolvers<void>()
      const model = chunkModel(() => released.promise.then(() => textChunks('hello')))
      const { troupe } = await createTestTroupe({ store: mine, model, agents: [worker] })
      const { troupe: other } = await createTestTroupe({ store: theirs, model: greeting() })
      const handle = await troupe.stream('task', go)
      const watched = collectEvents(other.watch(handle.run_id))
      released.resolve()
      await handle.result
      expect(await watched).toEqual(await mine.events(handle.run_id))
      expect((await collectEvents(other.watch(handle.run_id, { after: 3 })))[0]?.seq).toBe(4)
      await Promise.all([troupe.close(), other.close()])
    })
  })

  test('P14 leaving a watcher does not cancel the run; closing the troupe ends it', async () => {
    await withTwoStores(async ([mine, theirs]) => {
      const released = Promise.withResolvers<void>()
      const model = chunkModel(() => released.promise.then(() => textChunks('hello')))
      const { troupe } = await createTestTroupe({ store: mine, model, agents: [worker] })
      const { troupe: other } = await createTestTroupe({ store: theirs, model: greeting() })
      const handle = await troupe.stream('task', go)
      for await (const { type } of other.watch(handle.run_id)) if (type === 'session:open') break
      const closed = collectEvents(other.watch(handle.run_id))
      await other.close()
      expect((await closed).every(({ type }) => type !== 'run:end')).toBe(true)
      released.resolve()
      expect((await handle.result).status).toBe('completed')
      await troupe.close()
    })
  })

  test('P16 an unknown run and a run of another project are the same error; `after` has to be a seq', async () => {
    const store = memoryStore()
    const options = { store, model: greeting(), agents: [worker] }
    const { troupe } = await createTestTroupe({ ...options, project: 'one' })
    const { troupe: other } = await createTestTroupe({ ...options, project: 'two' })
    const { run_id } = await troupe.run('task', go)
    const errorOf = (id: string) => collectEvents(other.watch(id)).catch((error: Error) => error)
    const foreign = await errorOf(run_id)
    expect(foreign).toMatchObject({ code: 'unknown_run' })
    expect(String(foreign).replace(run_id, 'ID')).toBe(String(await errorOf('r_none')).replace('r_none', 'ID'))
    for (const after of [-1, 1.5, Number.NaN, 10_000]) {
      await expect(collectEvents(troupe.watch(run_id, { after }))).rejects.toMatchObject({ code: 'invalid_input' })
    }
  })

  test('P17 a cancellation by another process reaches the run through one query for all runs', async () => {
    await withTwoStores(async ([mine, theirs]) => {
      const reads: string[] = []
      const readCommands = mine.commands.bind(mine)
      mine.commands = (run_id, after) => {
        reads.push(run_id)
        return readCommands(run_id, after)
      }
      let queries = 0
      const readCommandsSince = mine.commandsSince.bind(mine)
      mine.commandsSince = (after) => {
        queries += 1
        return readCommandsSince(after)
      }
      const model = chunkModel(() => new Promise(() => {}))
      const { troupe } = await createTestTroupe({ store: mine, model, agents: [worker] })
      const { troupe: other } = await createTestTroupe({ store: theirs, model: greeting() })
      const handles = await Promise.all([
        troupe.stream('task', go),
        troupe.stream('task', go),
        troupe.stream('task', go),
      ])
      for (const { run_id } of handles) {
        for await (const { type } of troupe.watch(run_id)) if (type === 'model:begin') break
      }
      const before = reads.length
      queries = 0
      let changes = 0
      mine.changes.subscribe(({ kind }) => {
        if (kind !== 'events') changes += 1
      })
      await other.cancel(handles[0].run_id, 'not needed')
      expect((await handles[0].result).status).toBe('cancelled')
      expect(reads.length).toBe(before)
      // One query for each change, not one for each of the three runs.
      expect(queries).toBeGreaterThanOrEqual(1)
      expect(queries).toBeLessThanOrEqual(changes)
      for (const { run_id } of handles.slice(1)) await troupe.cancel(run_id)
      await Promise.all([troupe.close(), other.close()])
    })
  })
})

describe('watching a run that is deleted', () => {
  const asking = () => chunkModel(() => toolCallChunks({ name: 'ask_user', input: { question: 'Which one?' } }))

  /** Watches a run that waits for a person until it is deleted, and streams it then. */
  async function errorsOfReaders(troupe: Troupe, deleting: Troupe): Promise<unknown[]> {
    const handle = await troupe.stream('task', go)
    expect((await handle.result).status).toBe('waiting')
    const parked = Promise.withResolvers<void>()
    const watch = async () => {
      for await (const { type } of troupe.watch(handle.run_id)) if (type === 'run:park') parked.resolve()
    }
    const stream = async () => {
      for await (const _item of handle);
    }
    const errorOf = (reading: Promise<void>) =>
      reading.then(
        () => 'none',
        (error: Error) => String(error).replace(handle.run_id, 'ID'),
      )
    const watching = errorOf(watch())
    await parked.promise
    await deleting.deleteRuns([handle.run_id])
    return [await watching, await errorOf(stream())]
  }

  test('P48 a watcher and a stream end with `unknown_run`, whether this process or another one deletes the run', async () => {
    await withTwoStores(async ([mine, theirs]) => {
      const options = { model: asking(), agents: [worker] }
      const { troupe } = await createTestTroupe({ ...options, store: mine })
      const { troupe: other } = await createTestTroupe({ ...options, store: theirs })
      const { troupe: inMemory } = await createTestTroupe({ ...options, store: memoryStore() })
      const seen = [
        await errorsOfReaders(troupe, troupe),
        await errorsOfReaders(troupe, other),
        await errorsOfReaders(inMemory, inMemory),
      ]
      const error = expect.stringContaining('run ID was deleted while it was watched')
      expect(seen).toEqual([
        [error, error],
        [error, error],
        [error, error],
      ])
      await Promise.all([troupe.close(), other.close()])
    })
  })

  test('P48 who deletes a run after its end, while reading it, ends without an error', async () => {
    const { troupe } = await createTestTroupe({ store: memoryStore(), model: greeting(), agents: [worker] })
    const handle = await troupe.stream('task', go)
    let last = ''
    for await (const item of handle) {
      if (!('event' in item) || item.event.type !== 'run:end') continue
      await handle.result
      await troupe.deleteRuns([handle.run_id])
      last = item.event.type
    }
    const { run_id } = await troupe.run('task', go)
    for await (const { type } of troupe.watch(run_id)) {
      if (type === 'run:end') await troupe.deleteRuns([run_id])
      last = type
    }
    expect(last).toBe('run:end')
  })
})
