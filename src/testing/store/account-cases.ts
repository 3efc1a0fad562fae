import assert from 'node:assert/strict'
import { ACCOUNT_EVENTS, accountEventFrom } from '../../kernel/account-event.ts'
import type { Event } from '../../kernel/event.ts'
import type { AccountPage, Store } from '../../store/store.ts'
import type { RunWriter } from './store-harness.ts'
import { createLeasedRun, NOW, runEndData, sessionOpenData, testClaimant, testRunStart } from './store-harness.ts'

/** Two projects, a fork, an agent and a key that are stored apart, and requests that ended in every way. */
export async function readsAccountEvents(store: Store): Promise<void> {
  const reserved = { calls: 1, tokens: 5000, usd: 0.1 + 0.2 }
  const usage = { input: 900, output: 80, cache_read: 600, cache_write: 1, reasoning: 2 }
  const fill = async (writer: RunWriter, longKey: boolean) => {
    const key = longKey ? 'k'.repeat(700) : 'k'
    const worker = { name: 'worker', description: '', instructions: 'Answer. '.repeat(100) }
    await writer.append(
      'session:open',
      sessionOpenData(1, { agent: worker, parent_session_id: 's0' }),
      `${writer.run_id} s1`,
    )
    await writer.append('session:open', sessionOpenData(1), `${writer.run_id} s2`)
    const begin = { key, attempt: 1, model: 'm', reserved, input_hash: '' }
    await writer.append('model:begin', begin, `${writer.run_id} s1`)
    await writer.append('model:begin', { ...begin, key: 'summary', phase: 'summary' }, `${writer.run_id} s2`)
    const message = { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'x'.repeat(2000) }] }
    const end = { key, attempt: 1, message, stop: 'end' as const, usage, usd: 1e-7 + 0.3 }
    await writer.append('model:end', end, `${writer.run_id} s1`)
    await writer.append('model:lost', { key: 'summary', attempt: 1, reserved, reason: 'crash' }, `${writer.run_id} s2`)
    await writer.append('model:begin', { ...begin, attempt: 2 }, `${writer.run_id} s1`)
    const error = { code: 'model_failed', message: 'no', hint: '', retry: false } as never
    await writer.append(
      'model:error',
      { ...end, attempt: 2, error, partial: '', usd: null, estimated: true } as never,
      `${writer.run_id} s1`,
    )
    await writer.append('model:begin', { ...begin, attempt: 3 }, `${writer.run_id} s1`)
  }
  for (let n = 0; n < 6; n++) {
    const writer = await createLeasedRun(store, `r${n}`, n === 3 ? 'other' : 'default')
    await fill(writer, n === 4)
    if (n < 3) await writer.append('run:end', runEndData())
  }
  const start = testRunStart('r6')
  const forked_from = { run_id: 'r1', seq: 2, inherited: 2, changes: {} }
  await store.createRun({ ...start, data: { ...start.data, forked_from } } as Event, testClaimant('a'))
  const quoting = { instruction: 'explain "forked_from" to me' }
  await store.createRun(testRunStart('r7', { input: quoting }), testClaimant('a'))
  const readWhole = async (...ids: readonly string[]) => {
    const events = await store.eventsOfRuns(ids, ACCOUNT_EVENTS)
    return toJson(events.map(accountEventFrom))
  }
  const toJson = (events: readonly unknown[]) => JSON.parse(JSON.stringify(events)) as unknown
  const read = async (page: Partial<AccountPage>) =>
    toJson(await store.accountEvents({ project: 'default', limit: 100, ...page }))
  assert.deepEqual(await read({}), await readWhole('r7', 'r6', 'r5', 'r4', 'r2', 'r1', 'r0'))
  assert.deepEqual(await read({ limit: 2 }), await readWhole('r7', 'r6'))
  assert.deepEqual(await read({ before: 'r4', limit: 2 }), await readWhole('r2', 'r1'))
  assert.deepEqual(await read({ run_id: 'r1' }), await readWhole('r1'))
  assert.deepEqual(await read({ run_id: 'r3' }), [])
  assert.deepEqual(await read({ run_id: 'nobody' }), [])
  assert.deepEqual(await read({ project: 'other' }), await readWhole('r3'))
  assert.deepEqual(await read({ since: NOW * 2 }), await readWhole('r7', 'r6', 'r5', 'r4'))
  assert.deepEqual(await read({ since: NOW }), await readWhole('r7', 'r6', 'r5', 'r4', 'r2', 'r1', 'r0'))
}
