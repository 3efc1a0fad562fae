import { describe, expect, test } from 'vitest'
import {
  contributionJson,
  createCollaborationTroupe,
  permanentError,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import { runToEnd } from '../../../test/support/test-troupe.ts'
import type { Event } from '../../index.ts'

const two = [
  { name: 'a', role: 'security' },
  { name: 'b', role: 'speed' },
]

/** The events of the collaboration, without keys. */
function collaborationEvents(events: readonly Event[]): [string, Record<string, unknown>][] {
  return events
    .filter(({ type }) => type.startsWith('tool:collaborative:'))
    .map(({ type, data }) => {
      const { key: _key, ...rest } = data as unknown as Record<string, unknown>
      return [type.slice('tool:collaborative:'.length), rest]
    })
}

describe('events', () => {
  test('CO8 start, agents, synthesis and end are events with the fields of the specification', async () => {
    const { events, output } = await runCollaboration(
      { a: contributionJson('yes', 0.9), b: contributionJson('yes', 0.7), coordinator: 'Yes.' },
      { agents: two, mode: 'sequential' },
    )
    expect(collaborationEvents(events)).toEqual([
      ['start', { task: 'What now?', agents: ['a', 'b'], mode: 'sequential', synthesis: 'coordinator' }],
      ['agent:start', { agent: 'a', role: 'security' }],
      ['agent:complete', { agent: 'a', role: 'security', tokens: 15, recommendation: 'yes', confidence: 0.9 }],
      ['agent:start', { agent: 'b', role: 'speed' }],
      ['agent:complete', { agent: 'b', role: 'speed', tokens: 15, recommendation: 'yes', confidence: 0.7 }],
      ['synthesis:start', { strategy: 'coordinator' }],
      ['synthesis:complete', { strategy: 'coordinator', tokens: 15 }],
      ['complete', { agents_count: 2, total_tokens: 45, status: 'completed', agreement_score: 1, winning: ['a', 'b'] }],
    ])
    expect(output.metadata.total_tokens).toBe(45)
  })

  test('CO8 a failed agent is an agent:error event, and the others continue', async () => {
    const { events, output } = await runCollaboration(
      { a: permanentError('agent failed'), b: contributionJson('yes'), coordinator: 'Yes.' },
      { agents: two, mode: 'sequential' },
    )
    const [type, data] = collaborationEvents(events)[2] ?? []
    expect(type).toBe('agent:error')
    expect(data).toMatchObject({
      agent: 'a',
      role: 'security',
      error: { message: expect.stringContaining('agent failed') },
    })
    expect(collaborationEvents(events).map(([name]) => name)).toEqual([
      'start',
      'agent:start',
      'agent:error',
      'agent:start',
      'agent:complete',
      'synthesis:start',
      'synthesis:complete',
      'complete',
    ])
    expect(output.metadata.status).toBe('partial')
  })

  test('CO8 when all agents fail, complete has status failed; resume emits the new events', async () => {
    let broken = true
    const failWhileBroken = (name: string) => () => {
      if (broken) throw permanentError(`${name} is out`)
      return contributionJson('yes')
    }
    const { troupe } = await createCollaborationTroupe({
      a: failWhileBroken('a'),
      b: failWhileBroken('b'),
      coordinator: 'Yes.',
    })
    const failed = await runToEnd(troupe, 'collaborate' as string, { task: 'x', agents: two })
    expect(failed).toMatchObject({ status: 'failed', stop_reason: 'failed' })
    expect(collaborationEvents(await troupe.events(failed.run_id).all()).at(-1)).toEqual([
      'complete',
      { agents_count: 2, total_tokens: 0, status: 'failed', agreement_score: null },
    ])
    broken = false
    const done = await (await troupe.resume(failed.run_id)).result
    expect(done).toMatchObject({ status: 'completed', stop_reason: 'completed' })
    const after = collaborationEvents(await troupe.events(failed.run_id).all()).slice(-5)
    expect(after.map(([name, data]) => [name, data.agent ?? data.status ?? data.strategy])).toEqual([
      ['agent:complete', 'a'],
      ['agent:complete', 'b'],
      ['synthesis:start', 'coordinator'],
      ['synthesis:complete', 'coordinator'],
      ['complete', 'completed'],
    ])
  })

  test('CO9 when all agents fail, the error lists each reason, and the contributions are kept', async () => {
    const { result } = await runCollaboration({
      a: permanentError('one'),
      b: permanentError('two'),
      c: permanentError('three'),
    })
    expect(result.status).toBe('failed')
    for (const reason of ['all 3 agents failed', 'a: ', 'one', 'b: ', 'two', 'c: ', 'three']) {
      expect(result.error?.message).toContain(reason)
    }
    const { contributions } = result.output as { contributions: { agent: string; status: string }[] }
    expect(contributions.map(({ agent, status }) => [agent, status])).toEqual([
      ['a', 'failed'],
      ['b', 'failed'],
      ['c', 'failed'],
    ])
  })

  test('CO10 a failed specialist is a contribution with its error, and the synthesis names it as missing', async () => {
    const { output, model } = await runCollaboration({
      a: contributionJson('yes'),
      b: permanentError('agent failed'),
      c: contributionJson('yes'),
      coordinator: 'Yes.',
    })
    expect(output.contributions.map(({ agent, status, response }) => [agent, status, response])).toEqual([
      ['a', 'completed', 'because of yes'],
      ['b', 'failed', ''],
      ['c', 'completed', 'because of yes'],
    ])
    expect(output.contributions[1]?.error).toMatchObject({ message: expect.stringContaining('agent failed') })
    const [request] = model.requestsFrom('coordinator')
    expect(JSON.stringify(request?.messages)).toContain('<not_heard>')
    expect(JSON.stringify(request?.messages)).toContain('- b (role b): ')
    const merged = await runCollaboration(
      { a: contributionJson('yes'), b: permanentError('agent failed') },
      { agents: two, synthesis: 'merge' },
    )
    expect(merged.output.result).toContain('## No answer\n- b (speed): ')
  })
})
