import { describe, expect, test } from 'vitest'
import type { CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import {
  contributionJson,
  createCollaborationTroupe,
  permanentError,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import { eventData } from '../../../test/support/manual-doubles.ts'
import type { ModelRequest } from '../../index.ts'

const agents = ['a', 'b', 'c'].map((name) => ({ name }))
const torn = { a: contributionJson('go', 0.9), b: contributionJson('wait', 0.8), c: contributionJson('stop', 0.7) }
const scored = JSON.stringify({ scores: [{ answer: 1, score: 9, reason: 'r' }], best: 1, reason: 'r' })

/** Ends at this many calls, is resumed with more, and comes to its end. */
async function resumed(lines: Parameters<typeof createCollaborationTroupe>[0], input: object, calls: number) {
  const { troupe, model } = await createCollaborationTroupe(lines)
  const short = await troupe.run('collaborate', { task: 'x', agents, ...input }, { limits: { calls } })
  const before = model.requests.length
  const done = await (await troupe.resume(short.run_id, { limits: { calls: 50 } })).result
  const after = model.requests.slice(before).map(({ session }) => session.agent)
  return { short, done, after, output: done.output as CollaborateRunOutput, troupe }
}

describe('a limit of the run after the first answers', () => {
  test('CO80 in the round of mediation it ends the run as budget; resumed, the others hear each other too', async () => {
    const { short, done, after, output, troupe } = await resumed(
      torn,
      { on_conflict: 'mediate', synthesis: 'merge' },
      4,
    )
    expect(short).toMatchObject({ status: 'failed', stop_reason: 'budget', error: { code: 'limit_reached' } })
    expect((short.output as CollaborateRunOutput).contributions.map(({ recommendation }) => recommendation)).toEqual([
      'go',
      'wait',
      'stop',
    ])
    expect(done.status).toBe('completed')
    expect(after).toEqual(['b', 'c'])
    expect(output.contributions.map(({ before }) => before?.recommendation)).toEqual(['go', 'wait', 'stop'])
    expect(output.metadata.status).toBe('completed')
    expect(output.metadata.total_tokens).toBe(90)
    const ends = eventData(await troupe.events(short.run_id), 'tool:collaborative:complete')
    expect(ends.map(({ status }) => status)).toEqual(['failed', 'completed'])
  })

  test('CO82 before the coordinator it ends the run with all contributions; resumed, the answer is written', async () => {
    const { short, output, after } = await resumed({ ...torn, coordinator: 'So be it.' }, {}, 3)
    expect(short).toMatchObject({ status: 'failed', stop_reason: 'budget' })
    expect(short.error?.hint).toContain('troupe resume')
    expect((short.output as CollaborateRunOutput).contributions).toHaveLength(3)
    expect(after).toEqual(['coordinator'])
    expect(output).toMatchObject({ result: 'So be it.', metadata: { status: 'completed' } })
  })

  test('CO82 so before the evaluator, and before the one who divided the work writes it up', async () => {
    const best = await resumed({ ...torn, evaluator: scored }, { synthesis: 'best_of' }, 3)
    expect(best.short.stop_reason).toBe('budget')
    expect(best.after).toEqual(['evaluator'])
    expect(best.output.best_of?.agent).toBe('a')
    const division = JSON.stringify({ plan: 'p', assignments: [{ agent: 'b', subtask: 's' }] })
    const a = (request: ModelRequest) => (request.output ? division : 'The whole.')
    const divided = await resumed({ ...torn, a }, { mode: 'hierarchical' }, 2)
    expect(divided.short.stop_reason).toBe('budget')
    expect(divided.after).toEqual(['a'])
    expect(divided.output.result).toBe('The whole.')
  })

  test('CO82 so before the model that says which recommendations come to the same', async () => {
    const embedder = {
      id: 'x',
      threshold: 0.8,
      embed: async (texts: readonly string[]) => texts.map(() => new Float32Array([1, 0])),
    }
    const lines = {
      a: contributionJson('Keep the cache for a day', 0.9),
      b: contributionJson('Let the cache live one day long', 0.8),
      judge: '{"pairs":[{"number":1,"same":true}]}',
    }
    const { troupe, model } = await createCollaborationTroupe(lines, { embedder })
    const input = { task: 'x', agents: agents.slice(0, 2), synthesis: 'vote', vote: { wave: 2 } }
    const short = await troupe.run('collaborate', input, { limits: { calls: 2 } })
    expect(short).toMatchObject({ status: 'failed', stop_reason: 'budget' })
    const done = await (await troupe.resume(short.run_id, { limits: { calls: 9 } })).result
    expect((done.output as CollaborateRunOutput).consensus).toMatchObject({ method: 'model', agreement_score: 1 })
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['a', 'b', 'judge'])
  })

  test('CO82 so before a division is corrected: resumed, it is', async () => {
    const wrong = JSON.stringify({ plan: 'p', assignments: [{ agent: 'x', subtask: 's' }] })
    const right = JSON.stringify({ plan: 'p', assignments: [{ agent: 'b', subtask: 's' }] })
    const a = (request: ModelRequest) => (request.output ? (request.session.turn === 1 ? wrong : right) : 'The whole.')
    const { short, output } = await resumed({ ...torn, a }, { mode: 'hierarchical' }, 1)
    expect(short.stop_reason).toBe('budget')
    expect(output).toMatchObject({ result: 'The whole.', metadata: { status: 'completed' } })
  })
})

describe('a round in which some do not answer', () => {
  test('CO81 who fails in it keeps what it had said; that is told, and the status is partial', async () => {
    const b = (request: ModelRequest) => {
      if (request.session.turn > 1) throw permanentError('gone')
      return contributionJson('wait', 0.8)
    }
    const { output, result } = await runCollaboration({ ...torn, b }, { on_conflict: 'mediate', synthesis: 'merge' })
    expect(output.contributions[1]).toMatchObject({ recommendation: 'wait', status: 'completed' })
    expect(output.contributions[1]?.before).toBeUndefined()
    expect(output.metadata.problems).toEqual([expect.stringMatching(/^b could not be asked again: .*gone/)])
    expect(result.stop_reason).toBe('partial')
  })

  test('CO81 prose in it is added to what was said before', async () => {
    const b = (request: ModelRequest) =>
      request.session.turn === 1 ? contributionJson('wait', 0.8) : 'You convinced me.'
    const { output } = await runCollaboration({ ...torn, b }, { on_conflict: 'mediate', synthesis: 'merge' })
    expect(output.contributions[1]).toMatchObject({
      recommendation: 'wait',
      response: 'because of wait\n\nAfter hearing the others: You convinced me.',
    })
    expect(output.result).toContain('You convinced me.')
  })
})
