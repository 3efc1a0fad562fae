import { describe, expect, test } from 'vitest'
import type { CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import {
  contributionJson,
  createCollaborationTroupe,
  permanentError,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import { eventData } from '../../../test/support/manual-doubles.ts'
import { runToEnd } from '../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../entries/models.ts'

const agents = ['a', 'b', 'c'].map((name) => ({ name }))
const conflicting = {
  a: contributionJson('go', 0.9),
  b: contributionJson('wait', 0.8),
  c: contributionJson('stop', 0.7),
}
const scored = JSON.stringify({
  scores: [9, 5, 5].map((score, index) => ({ answer: index + 1, score, reason: 'r' })),
  best: 1,
  reason: 'r',
})

/** Runs with `limits.calls`, then resumes with a higher limit. */
async function runAndResume(replies: Parameters<typeof createCollaborationTroupe>[0], input: object, calls: number) {
  const { troupe, model } = await createCollaborationTroupe(replies)
  const limited = await runToEnd(
    troupe,
    'collaborate' as string,
    { task: 'x', agents, ...input },
    { limits: { calls } },
  )
  const before = model.requests.length
  const done = await (await troupe.resume(limited.run_id, { limits: { calls: 50 } })).result
  const after = model.requests.slice(before).map(({ session }) => session.agent)
  return { limited, done, after, output: done.output as CollaborateRunOutput, troupe }
}

describe('a limit after the first contributions', () => {
  test('CO42 a limit in the mediation round ends the run with budget; resume completes the round', async () => {
    const { limited, done, after, output, troupe } = await runAndResume(
      conflicting,
      { on_conflict: 'mediate', synthesis: 'merge' },
      4,
    )
    expect(limited).toMatchObject({ status: 'failed', stop_reason: 'budget', error: { code: 'limit_reached' } })
    expect((limited.output as CollaborateRunOutput).contributions.map(({ recommendation }) => recommendation)).toEqual([
      'go',
      'wait',
      'stop',
    ])
    expect(done.status).toBe('completed')
    expect(after).toEqual(['b', 'c'])
    expect(output.contributions.map(({ before }) => before?.recommendation)).toEqual(['go', 'wait', 'stop'])
    expect(output.metadata.status).toBe('completed')
    expect(output.metadata.total_tokens).toBe(90)
    const ends = eventData(await troupe.events(limited.run_id).all(), 'tool:collaborative:complete')
    expect(ends.map(({ status }) => status)).toEqual(['failed', 'completed'])
  })

  test('CO42 a limit before the coordinator keeps all contributions; resume writes the answer', async () => {
    const { limited, output, after } = await runAndResume({ ...conflicting, coordinator: 'Final answer.' }, {}, 3)
    expect(limited).toMatchObject({ status: 'failed', stop_reason: 'budget' })
    expect(limited.error?.hint).toContain('troupe resume')
    expect((limited.output as CollaborateRunOutput).contributions).toHaveLength(3)
    expect(after).toEqual(['coordinator'])
    expect(output).toMatchObject({ result: 'Final answer.', metadata: { status: 'completed' } })
  })

  test('CO42 a limit before the evaluator or the hierarchical synthesis can be resumed', async () => {
    const best = await runAndResume({ ...conflicting, evaluator: scored }, { synthesis: 'best_of' }, 3)
    expect(best.limited.stop_reason).toBe('budget')
    expect(best.after).toEqual(['evaluator'])
    expect(best.output.best_of?.agent).toBe('a')
    const division = JSON.stringify({ plan: 'p', assignments: [{ agent: 'b', subtask: 's' }] })
    const a = (request: ModelRequest) => (request.output ? division : 'The answer.')
    const divided = await runAndResume({ ...conflicting, a }, { mode: 'hierarchical' }, 2)
    expect(divided.limited.stop_reason).toBe('budget')
    expect(divided.after).toEqual(['a'])
    expect(divided.output.result).toBe('The answer.')
  })

  test('CO42 a limit before the judge can be resumed', async () => {
    const embedder = {
      id: 'x',
      threshold: 0.8,
      embed: async (texts: readonly string[]) => texts.map(() => new Float32Array([1, 0])),
    }
    const replies = {
      a: contributionJson('Keep the cache for a day', 0.9),
      b: contributionJson('Let the cache live one day long', 0.8),
      judge: '{"pairs":[{"number":1,"same":true}]}',
    }
    const { troupe, model } = await createCollaborationTroupe(replies, { embedder })
    const input = { task: 'x', agents: agents.slice(0, 2), synthesis: 'vote', vote: { wave: 2 } }
    const limited = await runToEnd(troupe, 'collaborate' as string, input, { limits: { calls: 2 } })
    expect(limited).toMatchObject({ status: 'failed', stop_reason: 'budget' })
    const done = await (await troupe.resume(limited.run_id, { limits: { calls: 9 } })).result
    expect((done.output as CollaborateRunOutput).consensus).toMatchObject({ method: 'model', agreement_score: 1 })
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['a', 'b', 'judge'])
  })

  test('CO42 a limit before the correction of assignments can be resumed', async () => {
    const wrong = JSON.stringify({ plan: 'p', assignments: [{ agent: 'x', subtask: 's' }] })
    const right = JSON.stringify({ plan: 'p', assignments: [{ agent: 'b', subtask: 's' }] })
    const a = (request: ModelRequest) => (request.output ? (request.session.turn === 1 ? wrong : right) : 'The answer.')
    const { limited, output } = await runAndResume({ ...conflicting, a }, { mode: 'hierarchical' }, 1)
    expect(limited.stop_reason).toBe('budget')
    expect(output).toMatchObject({ result: 'The answer.', metadata: { status: 'completed' } })
  })
})

describe('failures in the mediation round', () => {
  test('CO81 an agent that fails keeps its contribution, and the status is partial', async () => {
    const b = (request: ModelRequest) => {
      if (request.session.turn > 1) throw permanentError('gone')
      return contributionJson('wait', 0.8)
    }
    const { output, result } = await runCollaboration(
      { ...conflicting, b },
      { on_conflict: 'mediate', synthesis: 'merge' },
    )
    expect(output.contributions[1]).toMatchObject({ recommendation: 'wait', status: 'completed' })
    expect(output.contributions[1]?.before).toBeUndefined()
    expect(output.metadata.problems).toEqual([expect.stringMatching(/^b failed in the mediation round: .*gone/)])
    expect(result.stop_reason).toBe('partial')
  })

  test('CO81 plain text is added to the earlier response', async () => {
    const b = (request: ModelRequest) =>
      request.session.turn === 1 ? contributionJson('wait', 0.8) : 'You convinced me.'
    const { output } = await runCollaboration({ ...conflicting, b }, { on_conflict: 'mediate', synthesis: 'merge' })
    expect(output.contributions[1]).toMatchObject({
      recommendation: 'wait',
      response: 'because of wait\n\nAfter mediation: You convinced me.',
    })
    expect(output.result).toContain('You convinced me.')
  })
})
