import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import { contributionJson, createCollaborationTroupe, runCollaboration } from '../../../test/support/collaboration.ts'
import { eventData } from '../../../test/support/manual-doubles.ts'
import { expectReplayMatches } from '../../../test/support/replay-harness.ts'
import { agent, storeOf } from '../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../entries/models.ts'
import { defineTool } from '../../index.ts'

const tool = (name: string, kind: 'read' | 'idempotent' | 'act') =>
  defineTool({
    name,
    description: name,
    kind,
    category: 'action',
    input: z.object({}),
    execute: () => ({ success: true }),
  })
const tools = [tool('Look', 'read'), tool('Write', 'act'), tool('Put', 'idempotent')]
const replies = { everybody: contributionJson('go'), coordinator: 'Go.' }

describe('agents defined in the call', () => {
  test('CO90 an agent defined without tools has only read-only tools', async () => {
    const agents = [
      { name: 'defined' },
      { name: 'acting', config: { tools: ['Write', 'task'] } },
      'known',
      { name: 'known2' },
    ]
    const roster = [agent('known'), agent('known2')]
    const { events } = await runCollaboration(replies, { agents }, { tools, agents: roster })
    const opened = new Map(eventData(events, 'session:open').map((open) => [open.agent.name, open.tools]))
    expect(opened.get('defined')).toEqual(['Look'])
    expect(opened.get('acting')).toEqual(['Write', 'task'])
    expect(opened.get('known')).toEqual(expect.arrayContaining(['Look', 'Write', 'Put', 'task', 'ask_user']))
    expect(opened.get('known2')).toEqual(opened.get('known'))
  })

  test('CO90 the coordinator of a hierarchy and mediated agents are read-only too', async () => {
    const division = JSON.stringify({ plan: 'p', assignments: [{ agent: 'b', subtask: 's' }] })
    const a = (request: ModelRequest) => (request.output ? division : 'Done.')
    const two = [{ name: 'a' }, { name: 'b' }]
    const divided = await runCollaboration(
      { a, b: contributionJson('go') },
      { agents: two, mode: 'hierarchical' },
      { tools },
    )
    const conflicting = { a: contributionJson('go'), b: contributionJson('wait') }
    const mediated = await runCollaboration(
      conflicting,
      { agents: two, synthesis: 'merge', on_conflict: 'mediate' },
      { tools },
    )
    for (const { events } of [divided, mediated]) {
      const opened = eventData(events, 'session:open')
      expect(opened.length).toBeGreaterThanOrEqual(3)
      for (const open of opened) expect(open.tools).toEqual(['Look'])
    }
  })

  test('CO91 cache applies to them, and metadata.problems names the others', async () => {
    const { troupe, model } = await createCollaborationTroupe(replies, { tools })
    const agents = [{ name: 'defined' }, { name: 'acting', config: { tools: ['Write'] } }]
    const input = { task: 'x', agents, synthesis: 'merge', cache: true }
    await troupe.run('collaborate' as string, input)
    const again = await troupe.run('collaborate' as string, input)
    const { contributions, metadata } = again.output as CollaborateRunOutput
    expect(contributions.map(({ cached }) => cached)).toEqual([true, undefined])
    expect(metadata).toMatchObject({
      status: 'completed',
      problems: ['`cache` was not used for agents that are not read-only: acting'],
    })
    expect(model.requestsFrom('defined')).toHaveLength(1)
    await expectReplayMatches(storeOf(troupe), again.run_id, { tools, embedder: false })
    const plain = await troupe.run('collaborate' as string, { ...input, agents: [{ name: 'defined' }] })
    expect((plain.output as CollaborateRunOutput).metadata.problems).toBeUndefined()
  })
})
