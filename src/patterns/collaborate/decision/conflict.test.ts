import { describe, expect, test } from 'vitest'
import type { AgentReplies } from '../../../../test/support/collaboration.ts'
import {
  contributionJson,
  createCollaborationTroupe,
  lastInstruction,
  permanentError,
  runCollaboration,
} from '../../../../test/support/collaboration.ts'
import { memoryStore } from '../../../../test/support/memory-store.ts'
import type { ModelRequest } from '../../../entries/models.ts'

const conflicting: AgentReplies = {
  a: contributionJson('go', 0.9),
  b: contributionJson('wait', 0.8),
  c: contributionJson('stop', 0.7),
  coordinator: 'Final answer.',
}
/** Replies with one text in the first turn and another one later. */
const changeReply = (first: string, later: string) => (request: ModelRequest) =>
  request.session.turn === 1 ? first : later

describe('surface', () => {
  test('CO31 surface reports the positions, agents and severity of a disagreement', async () => {
    const { output, model } = await runCollaboration(conflicting)
    expect(model.requests).toHaveLength(4)
    expect(output.ruling).toBeUndefined()
    expect(output.consensus).toMatchObject({
      has_consensus: false,
      key_disagreements: [
        { severity: 'critical', positions: [{ agents: ['a'] }, { agents: ['b'] }, { agents: ['c'] }] },
      ],
    })
    const prompt = lastInstruction(model.requestsFrom('coordinator')[0] as ModelRequest)
    expect(prompt).toContain('The disagreement is critical.')
  })

  test('CO31 consensus starts at consensus_threshold of the input or the configuration', async () => {
    const replies = { ...conflicting, c: contributionJson('go', 0.7) }
    expect((await runCollaboration(replies)).output.consensus.has_consensus).toBe(true)
    expect((await runCollaboration(replies, { consensus_threshold: 0.9 })).output.consensus.has_consensus).toBe(false)
    const strict = await runCollaboration(replies, {}, { collaborate: { consensus_threshold: 0.7 } })
    expect(strict.output.consensus.has_consensus).toBe(false)
  })
})

describe('mediate', () => {
  test('CO32 mediate asks each side once more in its session, and keeps the earlier position in before', async () => {
    const replies = {
      ...conflicting,
      b: changeReply(contributionJson('wait', 0.8), contributionJson('go', 0.6)),
      c: changeReply(contributionJson('stop', 0.7), contributionJson('go', 0.5)),
    }
    const { output, model, troupe, result } = await runCollaboration(replies, { on_conflict: 'mediate' })
    expect(model.requests.map(({ session }) => session.agent).sort()).toEqual([
      'a',
      'a',
      'b',
      'b',
      'c',
      'c',
      'coordinator',
    ])
    expect(output.contributions[1]).toMatchObject({
      recommendation: 'go',
      confidence: 0.6,
      before: { recommendation: 'wait', confidence: 0.8 },
    })
    expect(output.consensus).toMatchObject({ has_consensus: true, agreement_score: 1 })
    const again = model.requestsFrom('b')[1] as ModelRequest
    expect(again.messages).toHaveLength(3)
    expect(lastInstruction(again)).toContain('<<<data\n{"agent":"a","role":"role a","response":"because of go"')
    expect(lastInstruction(again)).not.toContain('"agent":"b"')
    const sessions = await troupe.sessions({ run_id: result.run_id }).all()
    expect(sessions).toHaveLength(4)
    expect(sessions.find(({ agent }) => agent === 'b')).toMatchObject({ segment: 2, turn_count: 2 })
  })

  test('CO32 there is only one mediation round', async () => {
    const { output, model } = await runCollaboration(conflicting, { on_conflict: 'mediate', synthesis: 'vote' })
    expect(model.requests).toHaveLength(6)
    expect(output.contributions[0]?.before).toEqual({ recommendation: 'go', confidence: 0.9 })
    expect(output.consensus.has_consensus).toBe(false)
  })

  test('CO32 consensus needs no mediation, and an agent that fails in it keeps its contribution', async () => {
    const agreed = await runCollaboration(
      { ...conflicting, b: contributionJson('go'), c: contributionJson('go') },
      { on_conflict: 'mediate' },
    )
    expect(agreed.model.requests).toHaveLength(4)
    const fails = (request: ModelRequest) => {
      if (request.session.turn > 1) throw permanentError('gone')
      return contributionJson('wait', 0.8)
    }
    const { output } = await runCollaboration({ ...conflicting, b: fails }, { on_conflict: 'mediate' })
    expect(output.contributions[1]).toMatchObject({ recommendation: 'wait', status: 'completed' })
    expect(output.contributions[1]?.before).toBeUndefined()
    expect(output.metadata.status).toBe('partial')
  })

  test('CO32 each side reads only the other sides', async () => {
    const replies = { ...conflicting, c: contributionJson('go', 0.5) }
    const { model } = await runCollaboration(replies, { on_conflict: 'mediate', consensus_threshold: 0.9 })
    const toC = lastInstruction(model.requestsFrom('c')[1] as ModelRequest)
    expect(toC).toContain('"agent":"b"')
    expect(toC).not.toContain('"agent":"a"')
  })

  test('CO63 an agent with two subtasks has one vote, the most confident, including in mediation', async () => {
    const division = JSON.stringify({
      plan: 'two parts for b',
      assignments: [
        { agent: 'b', subtask: 'first' },
        { agent: 'b', subtask: 'second' },
        { agent: 'c', subtask: 'third' },
      ],
    })
    const b = ({ messages }: ModelRequest) =>
      JSON.stringify(messages).includes('<subtask>\\nfirst') ? contributionJson('go', 0.5) : contributionJson('go', 0.6)
    const replies = {
      a: (request: ModelRequest) => (request.output ? division : 'done'),
      b,
      c: contributionJson('wait', 0.9),
    }
    const agents = ['a', 'b', 'c'].map((name) => ({ name }))
    const divided = { agents, mode: 'hierarchical', synthesis: 'vote' }
    const { output } = await runCollaboration(replies, divided)
    expect(output.vote?.winner).toBeNull()
    expect(output.consensus).toMatchObject({ agents_count: 3, agreement_score: 0.5 })
    expect(output.consensus.clusters.map(({ agents: names, score }) => [names, score])).toEqual([
      [['c'], 0.9],
      [['b'], 0.6],
    ])
    const mediated = await runCollaboration(replies, { ...divided, on_conflict: 'mediate' })
    expect(mediated.output.contributions.map(({ subtask, before }) => [subtask, before?.recommendation])).toEqual([
      [undefined, undefined],
      ['first', undefined],
      ['second', 'go'],
      ['third', 'wait'],
    ])
  })

  test('CO64 a vote that is not unanimous, or blocked by a veto, is mediated', async () => {
    const replies = { ...conflicting, b: contributionJson('go'), c: contributionJson('wait') }
    const voteInput = { synthesis: 'vote', on_conflict: 'mediate' }
    expect((await runCollaboration(replies, voteInput)).model.requests).toHaveLength(3)
    const split = await runCollaboration(replies, { ...voteInput, vote: { strategy: 'unanimous' } })
    expect(split.model.requests).toHaveLength(6)
    const concerns = [{ concern: 'no way back', severity: 'critical' }]
    const withdraws = ({ session }: ModelRequest) => contributionJson('go', 0.8, session.turn === 1 ? { concerns } : {})
    const blocked = await runCollaboration(
      { everybody: contributionJson('go'), c: withdraws },
      { ...voteInput, vote: { strategy: 'veto' } },
    )
    expect(lastInstruction(blocked.model.requestsFrom('a')[1] as ModelRequest)).toContain('no way back')
    expect(blocked.model.requests).toHaveLength(6)
    expect(blocked.output.vote).toMatchObject({ winner: 'go' })
  })

  test('CO64 an agent with a critical concern and no recommendation takes part in mediation', async () => {
    const concerns = [{ concern: 'no way back', severity: 'critical' }]
    const objects = ({ session }: ModelRequest) =>
      session.turn === 1 ? contributionJson('', 0.8, { concerns }) : contributionJson('go', 0.6)
    const input = { synthesis: 'vote', on_conflict: 'mediate', vote: { strategy: 'veto' } }
    const { model, output } = await runCollaboration({ everybody: contributionJson('go'), c: objects }, input)
    expect(lastInstruction(model.requestsFrom('a')[1] as ModelRequest)).toContain('no way back')
    expect(lastInstruction(model.requestsFrom('c')[1] as ModelRequest)).toContain('"agent":"a"')
    expect(output.vote?.winner).toBe('go')
  })

  test('CO64 a critical concern raised in the mediation round blocks the vote, with or without a recommendation', async () => {
    const concerns = [{ concern: 'no way back', severity: 'critical' }]
    const input = { synthesis: 'vote', on_conflict: 'mediate', vote: { strategy: 'veto' }, consensus_threshold: 0.9 }
    for (const recommendation of ['', 'wait']) {
      const objects = changeReply(contributionJson('wait', 0.3), contributionJson(recommendation, 0.3, { concerns }))
      const { output } = await runCollaboration({ everybody: contributionJson('go', 0.4), c: objects }, input)
      expect(output.vote).toMatchObject({ winner: null, blocked_by: ['c'] })
      expect(output.contributions[2]).toMatchObject({ recommendation: 'wait', concerns })
    }
  })

  test('CO64 with agreement and without a veto no strategy asks again', async () => {
    for (const strategy of ['weighted', 'unanimous', 'veto']) {
      const input = { synthesis: 'vote', on_conflict: 'mediate', vote: { strategy, wave: 5 } }
      expect((await runCollaboration({ everybody: contributionJson('go') }, input)).model.requests).toHaveLength(3)
    }
  })
})

describe('escalate', () => {
  const escalate = { task: 'Ship it?', agents: [{ name: 'a' }, { name: 'b' }, { name: 'c' }], on_conflict: 'escalate' }

  test('CO33 escalate asks a person with all positions; a number chooses one', async () => {
    const { troupe, model } = await createCollaborationTroupe(conflicting)
    const waiting = await troupe.run('collaborate' as string, escalate)
    expect(waiting.status).toBe('waiting')
    const [gate] = waiting.gates
    expect(gate?.question).toBe(
      'The specialists do not agree on: Ship it?\n1. go (a; 38 %)\n2. wait (b; 33 %)\n3. stop (c; 29 %)\n' +
        'Answer with a number, or describe what to do instead.',
    )
    const done = await (await troupe.answer(gate?.gate_id ?? '', '2')).result
    expect(done.status).toBe('completed')
    expect(done.output).toMatchObject({ ruling: { by: 'person', decision: 'wait' }, result: 'Final answer.' })
    expect(lastInstruction(model.requestsFrom('coordinator')[0] as ModelRequest)).toContain(
      '<decision>\nwait\n</decision>',
    )
    expect(model.requests).toHaveLength(4)
  })

  test('CO33 any text decides, for every synthesis, even after a restart', async () => {
    const best = JSON.stringify({ scores: [{ answer: 1, score: 9, reason: 'r' }], best: 1, reason: 'r' })
    for (const synthesis of ['vote', 'merge', 'best_of', 'coordinator']) {
      const store = memoryStore()
      const first = await createCollaborationTroupe(conflicting, { store })
      const waiting = await first.troupe.run('collaborate' as string, { ...escalate, synthesis })
      await first.troupe.drain()
      const second = await createCollaborationTroupe({ coordinator: 'Monday, then.', evaluator: best }, { store })
      const [gate] = await second.troupe.gates().all()
      const done = await (await second.troupe.answer(gate?.gate_id ?? '', 'wait until Monday')).result
      expect(done.run_id).toBe(waiting.run_id)
      const output = done.output as { ruling: object; result: string }
      expect(output.ruling).toEqual({ by: 'person', decision: 'wait until Monday' })
      if (synthesis === 'vote' || synthesis === 'merge') {
        expect(output.result).toMatch(/^Decided by a person: wait until Monday/)
      } else {
        expect(JSON.stringify(second.model.requests[0]?.messages)).toContain('wait until Monday')
      }
      expect(second.model.requests.every(({ session }) => ['coordinator', 'evaluator'].includes(session.agent))).toBe(
        true,
      )
    }
  })

  test('CO64 escalate applies to a vote that is blocked or not unanimous', async () => {
    const concerns = [{ concern: 'no way back', severity: 'critical' }]
    const replies = { everybody: contributionJson('go'), c: contributionJson('go', 0.8, { concerns }) }
    for (const [strategy, agentReplies] of [
      ['veto', replies],
      ['unanimous', { everybody: contributionJson('go'), c: contributionJson('wait') }],
    ] as const) {
      const { troupe } = await createCollaborationTroupe(agentReplies)
      const waiting = await troupe.run('collaborate' as string, { ...escalate, synthesis: 'vote', vote: { strategy } })
      expect(waiting.status).toBe('waiting')
      if (strategy === 'veto') expect(waiting.gates[0]?.question).toContain('\nCritical concern of c: no way back\n')
      const done = await (await troupe.answer(waiting.gates[0]?.gate_id ?? '', '1')).result
      expect(done.output).toMatchObject({ ruling: { decision: 'go' } })
    }
  })

  test('CO33 with agreement no person is asked', async () => {
    const agreed = await runCollaboration(
      { everybody: contributionJson('go'), coordinator: 'Go.' },
      { on_conflict: 'escalate' },
    )
    expect(agreed.result.status).toBe('completed')
    expect(agreed.output.ruling).toBeUndefined()
  })
})
