import assert from 'node:assert/strict'
import type { Change } from '../../store/changes.ts'
import type { Store } from '../../store/store.ts'
import { createLeasedRun, NOW, runEndData } from './store-harness.ts'

export async function notifiesOfCommits(store: Store): Promise<void> {
  const seen: string[] = []
  const describe = (change: Change) => {
    if (change.kind === 'events') return `${change.run_id} ${change.events.map(({ seq }) => seq).join(',')}`
    if (change.kind === 'deletion') return `deletion of ${change.run_ids.join(',')}`
    return change.kind === 'command' ? `command to ${change.run_id}` : undefined
  }
  const unsubscribe = store.changes.subscribe((change) => {
    const text = describe(change)
    if (text !== undefined) seen.push(text)
  })
  const one = await createLeasedRun(store, 'r1')
  const two = await createLeasedRun(store, 'r2')
  await store.append([
    one.toAppend([one.nextEvent('run:park', { gates: [] }), one.nextEvent('run:park', { gates: [] })]),
    { ...two.toAppend([two.nextEvent('run:park', { gates: [] })]), epoch: 99 },
  ])
  await store.append([one.toAppend([])])
  await store.enqueueCommand('r1', { kind: 'cancel', reason: '', by: 'eve' }, NOW)
  await one.append('run:end', runEndData('cancelled'))
  await assert.rejects(store.deleteRuns(['r2']), { code: 'run_busy' })
  await store.release(one)
  await store.deleteRuns(['r1'])
  assert.deepEqual(seen, ['r1 1', 'r2 1', 'r1 2,3', 'command to r1', 'r1 4', 'deletion of r1'])
  unsubscribe()
  unsubscribe()
  await createLeasedRun(store, 'r3')
  assert.equal(seen.length, 6)
}

/** `other` is a second store on the same data, as another process has it. */
export async function notifiesOfOtherStores(store: Store, other: Store): Promise<void> {
  const writer = await createLeasedRun(other, 'r1')
  const nextChange = () =>
    new Promise<void>((resolve) => {
      const unsubscribe = store.changes.subscribe(() => {
        unsubscribe()
        resolve()
      })
    })
  const read = async () => {
    const [events, commands] = await Promise.all([store.events('r1'), store.commandsSince(0)])
    return [events.length, commands.length]
  }
  const waitFor = async (expected: readonly number[]) => {
    for (;;) {
      // Subscribe before reading: a change between the two must not be missed.
      const changed = nextChange()
      if (String(await read()) === String(expected)) return
      await changed
    }
  }
  const appended = waitFor([2, 0])
  await writer.append('run:park', { gates: [] })
  await appended
  const commanded = waitFor([2, 1])
  await other.enqueueCommand('r1', { kind: 'cancel', reason: '', by: 'eve' }, NOW)
  await commanded
}
