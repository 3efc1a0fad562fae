import { expect, onTestFinished, test } from 'vitest'
import { plainStyle } from '../../../test/support/plain-style.ts'
import { agent, createTroupeWithStore, functionModel, storeOf } from '../../../test/support/test-troupe.ts'
import type { RunHandle } from '../../index.ts'
import type { Cli } from './cli.ts'
import { followRun } from './follow-run.ts'

function recordingCli(): { cli: Cli; written: string[] } {
  const written: string[] = []
  const write = (text: string) => void written.push(text)
  const style = plainStyle(200)
  const lines = { print: write, note: write, noteSync: write, draw: write }
  const terminal = { ...lines, out: style, err: style, outputIsTTY: false, live: false, interactive: false }
  return { cli: { terminal, options: { tools: true } } as Cli, written }
}

test('L82 a run that another process took at the moment of the answer is reported as continuing there', async () => {
  const held = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const model = functionModel(async () => {
    asked.resolve()
    await held.promise
    return { text: 'done' }
  })
  const worker = await createTroupeWithStore({ model, agents: [agent('lead')] })
  const troupe = await createTroupeWithStore({ store: storeOf(worker), model, agents: [agent('lead')] })
  onTestFinished(async () => {
    held.resolve()
    await troupe.close()
    await worker.close()
  })
  const { run_id } = await worker.stream('task', { agent: 'lead', instruction: 'work' })
  await asked.promise
  const handle: RunHandle = {
    run_id,
    result: troupe.result(run_id),
    cancel: (reason) => troupe.cancel(run_id, reason),
    async *[Symbol.asyncIterator]() {},
  }
  const { cli, written } = recordingCli()
  expect(await followRun(cli, troupe, { handle })).toBe(0)
  expect(written.at(-1)).toBe(`${run_id} continues in another process; follow it with: troupe watch ${run_id}`)
})
