import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTestTroupe, functionModel, runToEnd } from '../../test/support/test-troupe.ts'
import { TroupeError } from '../errors.ts'
import type { Performer, PerformerUpdate } from '../performers/performer.ts'
import { scriptedPerformer } from '../testing/scripted-performer.ts'

const coder = agent('coder', { performer: 'external' })

test('PF11 an agent whose performer is not configured is rejected with the known names, nearest first', async () => {
  const performers = { extrenal: scriptedPerformer({ actions: [] }), other: scriptedPerformer({ actions: [] }) }
  await expect(createTestTroupe({ agents: [coder], performers })).rejects.toMatchObject({
    code: 'unknown_performer',
    alternatives: ['extrenal', 'other'],
    hint: "did you mean 'extrenal'?",
  })
})

test('PF11 a value in `performers` that is no performer is rejected by its name', async () => {
  for (const external of [undefined, 'claude', {}, { perform: 'later' }]) {
    await expect(createTestTroupe({ agents: [coder], performers: { external } as never })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('`performers.external`'),
    })
  }
})

test('PF11 an agent in a file names a performer, which is looked up when the agent is used', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-performer-'))
  writeFileSync(join(folder, 'coder.md'), '---\nname: coder\ndescription: Codes.\nperformer: external\n---\nCode.\n')
  const external = scriptedPerformer({ actions: [{ do: 'finish', result: { stop: 'completed', text: 'Done.' } }] })
  const { task } = await createTestTroupe({ agents: [folder], performers: { external } })
  expect(await task('coder', 'go')).toMatchObject({ status: 'completed', output: { response: 'Done.' } })
  const without = await createTestTroupe({
    agents: [folder, agent('other')],
    model: functionModel(() => ({ text: 'done' })),
  })
  expect(await without.task('other', 'go')).toMatchObject({ status: 'completed' })
  expect(await without.task('coder', 'go')).toMatchObject({ status: 'failed', error: { code: 'unknown_performer' } })
  rmSync(folder, { recursive: true })
})

test('H13 `beforeAnswer` denies or replaces the answer of a performer, once, and the turn is not performed again', async () => {
  let denies = true
  let asked = 0
  const hooks = [
    {
      beforeAnswer: ({ text }: { text: string }) => {
        asked += 1
        return denies ? { deny: `no ${text}` } : { text: `${text} (checked)` }
      },
    },
  ]
  const external = scriptedPerformer({ actions: [{ do: 'finish', result: { stop: 'completed', text: 'Yes.' } }] })
  const { troupe, task } = await createTestTroupe({ agents: [coder], performers: { external }, hooks })
  const denied = await task('coder', 'go')
  expect(denied).toMatchObject({ status: 'failed', error: { code: 'denied' } })
  expect(JSON.stringify(denied.output)).not.toContain('Yes.')
  denies = false
  const resumed = await (await troupe.resume(denied.run_id)).result
  expect(resumed).toMatchObject({ status: 'completed', output: { response: 'Yes. (checked)' } })
  expect([asked, external.turns.length]).toEqual([2, 1])
  await troupe.close()
})

test('PF11 a session whose performer is missing in this process fails, and continues where it is configured', async () => {
  const store = memoryStore()
  const script = { actions: [{ do: 'finish' as const, result: { stop: 'completed' as const, text: 'Yes.' } }] }
  const open = (performers: Record<string, ReturnType<typeof scriptedPerformer>>, agents = [coder]) =>
    createTestTroupe({ store, agents, performers })
  const first = await open({ external: scriptedPerformer(script) })
  const { run_id } = await first.task('coder', 'go')
  const [session] = await first.troupe.sessions({ run_id }).all()
  const more = { session_id: session?.session_id, instruction: 'more' }
  const second = await open({}, [agent('lead')])
  const failed = await runToEnd(second.troupe, 'task', more)
  expect(failed.error).toMatchObject({ code: 'unknown_performer' })
  const third = await open({ external: scriptedPerformer(script) }, [coder, agent('lead')])
  const resumed = await (await third.troupe.resume(failed.run_id)).result
  expect(resumed).toMatchObject({ status: 'completed', output: { response: 'Yes.' } })
  for (const { troupe } of [first, second, third]) await troupe.close()
})

test('PF6 a performer that throws the error of another run or store fails its session, not its run', async () => {
  const external: Performer = {
    async perform() {
      throw new TroupeError('run_busy', 'the other run is busy', { hint: 'wait for it' })
    },
  }
  const { troupe, task } = await createTestTroupe({ agents: [coder], performers: { external } })
  expect(await task('coder', 'go')).toMatchObject({
    status: 'failed',
    error: { code: 'performer_failed', message: 'the other run is busy' },
  })
  await troupe.close()
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['a text that is no string', { type: 'text', text: 5 }],
  ['an unknown type', { type: 'thought' }],
  ['negative usage', { type: 'usage', usage: { input: -1, output: 0 } }],
])(
  'PF6 a performer that reports %s fails its session, with its name or the field in the error',
  async (_title, update) => {
    const external: Performer = {
      async perform(_turn, host) {
        host.report(update as PerformerUpdate)
        return { stop: 'completed', text: 'Yes.' }
      },
    }
    const { troupe, task } = await createTestTroupe({ agents: [coder], performers: { external } })
    const { status, error } = await task('coder', 'go')
    expect([status, error?.code]).toEqual(['failed', 'performer_failed'])
    expect(error?.message).toMatch(/'external'|`text`|`type`|`usage`/)
    await troupe.close()
  },
)
