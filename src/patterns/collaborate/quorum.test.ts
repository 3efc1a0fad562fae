import { expect, test } from 'vitest'
import {
  contributionJson,
  createCollaborationTroupe,
  permanentError,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import { plainStyle } from '../../../test/support/plain-style.ts'
import { agent, createTestTroupe, functionModel } from '../../../test/support/test-troupe.ts'
import { exitCodeFrom } from '../../surfaces/cli/exit-code.ts'
import { summaryLine } from '../../surfaces/cli/render/result-lines.ts'

const down = () => {
  throw permanentError('the key was rejected')
}
const vote = { synthesis: 'vote', categories: ['approve', 'reject'] }
const approve = contributionJson('approve', 0.9)

test('CO131 below the quorum the run fails with `quorum_missing`, contributions are kept, and resume asks the others', async () => {
  let isDown = true
  const flaky = () => (isDown ? down() : approve)
  const { troupe, model } = await createCollaborationTroupe({ a: approve, b: flaky, c: flaky } as never)
  const agents = [{ name: 'a' }, { name: 'b' }, { name: 'c' }]
  const { run_id, result } = await troupe.stream('collaborate' as string, { task: 'Merge it?', agents, ...vote })
  const failed = await result
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'quorum_missing', retry: true } })
  expect(failed.error?.message).toMatch(/^1 of 3 specialists answered, fewer than `quorum` 0\.5 asks for: b: .*; c: /)
  expect(failed.output).not.toHaveProperty('decided')
  expect(failed.output).toMatchObject({ contributions: [{ agent: 'a', recommendation: 'approve' }, {}, {}] })
  expect(failed.error?.hint).toContain('a lower `quorum` needs a new run')
  expect(exitCodeFrom(failed)).toBe(1)
  isDown = false
  const resumed = await (await troupe.resume(run_id)).result
  expect(resumed).toMatchObject({ status: 'completed', output: { decided: true } })
  expect(model.requestsFrom('a')).toHaveLength(1)
})

test('CO131 the quorum is a share of those that were asked: half of them by default, all of them with 1', async () => {
  const one = { a: approve, b: approve, c: down } as never
  const part = await runCollaboration(one, vote)
  expect(part.result).toMatchObject({ status: 'partial', output: { decided: true } })
  expect(exitCodeFrom(part.result)).toBe(4)
  expect((await runCollaboration(one, { ...vote, quorum: 1 })).result.error?.code).toBe('quorum_missing')
  const agents = [{ name: 'a' }, { name: 'b' }]
  expect((await runCollaboration({ a: approve, b: down } as never, { ...vote, agents })).result.status).toBe('partial')
  const gate = { collaborate: { quorum: 1 } }
  expect((await runCollaboration(one, vote, gate)).result.error?.code).toBe('quorum_missing')
  for (const quorum of [0, 1.1, 'all'])
    await expect(runCollaboration(one, { ...vote, quorum })).rejects.toMatchObject({ code: 'invalid_input' })
})

test('CO131 a model that calls the tool can raise the configured quorum, and not lower it', async () => {
  const quorumFor = async (configured: number, quorum: number) => {
    const input = { task: 'Merge it?', agents: [{ name: 'a' }, { name: 'b' }], synthesis: 'vote', quorum }
    const model = functionModel(({ session: { agent: name, turn } }) => {
      if (name !== 'lead') return { text: approve }
      return turn === 1 ? { calls: [{ name: 'collaborate', input }] } : { text: 'done' }
    })
    const agents = ['lead', 'a', 'b'].map((name) => agent(name, { extra_tools: ['collaborate'] }))
    const collaborate = { quorum: configured }
    const { troupe, task } = await createTestTroupe({ agents, model, embedder: false, collaborate })
    const { run_id } = await task('lead', 'go')
    const events = await troupe.events(run_id).all()
    return events.flatMap((event) =>
      event.type === 'step:end' && event.data.key.endsWith('quorum') ? [event.data.result] : [],
    )
  }
  expect(await quorumFor(1, 0.1)).toEqual([1])
  expect(await quorumFor(0.5, 0.8)).toEqual([0.8])
})

test('L64 a run that was done in part says how much, in the words of the pattern, and a failed member is no answer', async () => {
  const { result, troupe } = await runCollaboration({ a: approve, b: approve, c: down } as never, vote)
  const [summary] = await troupe.runSummaries([result.run_id])
  expect(summary?.progress?.text).toBe('2 of 3 answered')
  expect(summaryLine(result, plainStyle(80), summary?.progress)).toMatch(/^◐ partial: 2 of 3 answered {2}/)
})
