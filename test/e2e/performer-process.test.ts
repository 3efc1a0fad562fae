import { describe, expect, test } from 'vitest'
import { createTroupe } from '../../src/index.ts'
import { performerContract } from '../../src/testing/performer-contract.ts'
import { jsonLinesPerformer } from '../support/json-lines-performer.ts'
import { agent, runToEnd } from '../support/test-troupe.ts'

performerContract(
  'a child process that speaks JSON lines',
  () => ({ createPerformer: jsonLinesPerformer, dispose: () => {} }),
  { describe, test },
)

const coder = agent('coder', { performer: 'external' })

test('PF6 an agent process that is killed fails the session with the reason, and a resume continues its session', async () => {
  const performer = jsonLinesPerformer({
    actions: [
      { do: 'save', session: 'ext-1' },
      { do: 'report', update: { type: 'text', text: 'So far.' } },
      { do: 'report', update: { type: 'message-end' } },
      { do: 'stall' },
    ],
    resumed: [{ do: 'finish', result: { stop: 'completed', text: 'Back again.' } }],
  })
  const troupe = await createTroupe({ store: 'memory', agents: [coder], performers: { external: performer } })
  const handle = await troupe.stream('task', { agent: 'coder', instruction: 'go' })
  for await (const item of handle) {
    if ('event' in item && item.event.type === 'performer:message') process.kill(performer.pids[0] ?? 0, 'SIGKILL')
  }
  const result = await handle.result
  expect(result.error).toMatchObject({ code: 'performer_failed', message: expect.stringContaining('SIGKILL') })
  const resumed = await (await troupe.resume(result.run_id)).result
  expect(resumed).toMatchObject({ status: 'completed', output: { response: 'Back again.' } })
  await troupe.close()
})

test('PF12 no agent process is left after a turn, however it ends', async () => {
  const performer = jsonLinesPerformer({ actions: [{ do: 'stall' }] })
  const troupe = await createTroupe({
    store: 'memory',
    agents: [{ ...coder, timeout_ms: 300 }],
    performers: { external: performer },
  })
  const result = await runToEnd(troupe, 'task', { agent: 'coder', instruction: 'go' })
  expect(result.error?.code).toBe('timeout')
  const [pid = 0] = performer.pids
  expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  await troupe.close()
})
