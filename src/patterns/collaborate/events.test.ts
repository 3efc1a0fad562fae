import { describe, expect, test } from 'vitest'
import {
  contributionJson,
  createCollaborationTroupe,
  permanentError,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import type { Event } from '../../index.ts'

const two = [
  { name: 'a', role: 'security' },
  { name: 'b', role: 'speed' },
]

/** What the collaboration told, without keys. */
function told(events: readonly Event[]): [string, Record<string, unknown>][] {
  return events
    .filter(({ type }) => type.startsWith('tool:collaborative:'))
    .map(({ type, data }) => {
      const { key: _key, ...rest } = data as unknown as Record<string, unknown>
      return [type.slice('tool:collaborative:'.length), rest]
    })
}

describe('what a collaboration tells', () => {
  test('CO8 start, each agent, synthesis and end, in this order, with the fields of the specification', async () => {
    const { events, output } = await runCollaboration(
      { a: contributionJson('yes', 0.9), b: contributionJson('yes', 0.7), coordinator: 'Yes.' },
      { agents: two, mode: 'sequential' },
    )
    expect(told(events)).toEqual([
      ['start', { task: 'What now?', agents: ['a', 'b'], mode: 'sequential', synthesis: 'coordinator' }],
      ['agent:start', { agent: 'a', role: 'security' }],
      ['agent:complete', { agent: 'a', role: 'security', tokens: 15, recommendation: 'yes', confidence: 0.9 }],
      ['agent:start', { agent: 'b', role: 'speed' }],
      ['agent:complete', { agent: 'b', role: 'speed', tokens: 15, recommendation: 'yes', confidence: 0.7 }],
      ['synthesis:start', { strategy: 'coordinator' }],
      ['synthesis:complete', { strategy: 'coordinator', tokens: 15 }],
      ['complete', { agents_count: 2, total_tokens: 45, status: 'completed', agreement_score: 1 }],
    ])
    expect(output.metadata.total_tokens).toBe(45)
  })

  test('CO8 an agent that fails is told as agent:error with its reason, and the rest goes on', async () => {
    const { events, output } = await runCollaboration(
      { a: permanentError('no luck'), b: contributionJson('yes'), coordinator: 'Yes.' },
      { agents: two, mode: 'sequential' },
    )
    const [type, data] = told(events)[2] ?? []
    expect(type).toBe('agent:error')
    expect(data).toMatchObject({ agent: 'a', role: 'security', error: { message: expect.stringContaining('no luck') } })
    expect(told(events).map(([name]) => name)).toEqual([
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

  test('CO8 when all fail, the end says so; resumed, the events tell what is true then', async () => {
    let broken = true
    const line = (name: string) => () => {
      if (broken) throw permanentError(`${name} is out`)
      return contributionJson('yes')
    }
    const { troupe } = await createCollaborationTroupe({ a: line('a'), b: line('b'), coordinator: 'Yes.' })
    const failed = await troupe.run('collaborate', { task: 'x', agents: two })
    expect(failed).toMatchObject({ status: 'failed', stop_reason: 'failed' })
    expect(told(await troupe.events(failed.run_id)).at(-1)).toEqual([
      'complete',
      { agents_count: 2, total_tokens: 0, status: 'failed', agreement_score: null },
    ])
    broken = false
    const done = await (await troupe.resume(failed.run_id)).result
    expect(done).toMatchObject({ status: 'completed', stop_reason: 'completed' })
    const after = told(await troupe.events(failed.run_id)).slice(-5)
    expect(after.map(([name, data]) => [name, data.agent ?? data.status ?? data.strategy])).toEqual([
      ['agent:complete', 'a'],
      ['agent:complete', 'b'],
      ['synthesis:start', 'coordinator'],
      ['synthesis:complete', 'coordinator'],
      ['complete', 'completed'],
    ])
  })

  test('CO9 all agents failing fails the tool and lists each reason; what little they said is kept', async () => {
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

  test('CO10 one failed specialist is a contribution with its error, and the synthesis is told who is missing', async () => {
    const { output, model } = await runCollaboration({
      a: contributionJson('yes'),
      b: permanentError('no luck'),
      c: contributionJson('yes'),
      coordinator: 'Yes.',
    })
    expect(output.contributions.map(({ agent, status, response }) => [agent, status, response])).toEqual([
      ['a', 'completed', 'because of yes'],
      ['b', 'failed', ''],
      ['c', 'completed', 'because of yes'],
    ])
    expect(output.contributions[1]?.error).toMatchObject({ message: expect.stringContaining('no luck') })
    const [asked] = model.requestsFrom('coordinator')
    expect(JSON.stringify(asked?.messages)).toContain('Who could not be heard')
    expect(JSON.stringify(asked?.messages)).toContain('- b (role b): ')
    const merged = await runCollaboration(
      { a: contributionJson('yes'), b: permanentError('no luck') },
      { agents: two, synthesis: 'merge' },
    )
    expect(merged.output.result).toContain('## Not heard\n- b (speed): ')
  })
})
