import type { Event } from '../../src/kernel/event.ts'
import type { ModelRequest } from '../../src/kernel/model.ts'
import { textOf } from '../../src/kernel/model.ts'
import { teamInput } from '../../src/patterns/team/input.ts'
import type { OtherRun } from './play.ts'
import { limits, RUN_ID } from './reference.ts'
import type { Call } from './reference-model.ts'
import { inWords, resultsIn } from './reference-model.ts'

/*
 * A team for the chaos suite: a handoff by verdict, a parallel group, a handoff that a router decides, a team within, one
 * that a person approves, and a wish of the user that was there before the first turn. Its answer names everything that
 * was said, so that two runs that differ anywhere differ in their result.
 */

const team = {
  name: 'Crew',
  agents: [
    { name: 'scout', tools: ['look', 'ship'] },
    { name: 'left', tools: ['charge'] },
    { name: 'right', tools: ['put'], outputs: { height: 'number' } },
    { name: 'inner', team: { name: 'Inner', agents: [{ name: 'worker', tools: ['ship', 'ArtifactWrite'] }] } },
    { name: 'closer', tools: [] },
  ],
  groups: [{ name: 'pair', kind: 'parallel', members: ['left', 'right'] }],
  handoffs: [
    { from_agent: 'scout', to_agent: 'pair', condition: 'the way is known' },
    { from_agent: 'pair', to_agent: 'inner', condition: 'height == 3 and both are ready' },
    { from_agent: 'inner', to_agent: 'closer', approve: true },
  ],
  after_work_behavior: 'terminate',
}

const act = (name: string, input: Record<string, unknown>): Call => ({ name, input })

const FIRST: Record<string, Call[]> = {
  scout: [act('look', { topic: 'sky' }), act('ship', { item: 'scout' })],
  left: [act('charge', { amount: 10 })],
  right: [act('put', { name: 'right' })],
  worker: [act('ship', { item: 'worker' }), act('ArtifactWrite', { name: 'plan', content: 'the plan' })],
}

function answers(request: ModelRequest): { calls: Call[]; text?: string } {
  const { agent, turn } = request.session
  const first = FIRST[agent]
  if (first && turn === 1) return { calls: first }
  const results = resultsIn(request.messages).map(inWords).join(', ')
  const response = agent === 'closer' ? `[closer: ${heard(request)}]` : `[${agent}: ${results}]`
  if (agent === 'router') return { calls: [], text: JSON.stringify({ verdicts: [{ condition: 1, holds: true }] }) }
  if (agent === 'scout')
    return { calls: [], text: JSON.stringify({ response, verdicts: [{ condition: 1, holds: true }] }) }
  if (agent === 'right')
    return { calls: [], text: JSON.stringify({ response, variables: [{ name: 'height', value: 3 }] }) }
  return { calls: [], text: response }
}

/** Everything that others said before, as the closer reads it. */
function heard({ messages }: ModelRequest): string {
  const lines = messages.slice(0, -1).map((message) => JSON.parse(textOf(message)) as Record<string, unknown>)
  const others = lines.filter(({ from }) => from !== 'closer')
  return others.map(({ from, text, artifacts = [] }) => `${from} ${text} ${String(artifacts)}`.trim()).join(' | ')
}

export const teamRun: OtherRun = {
  answers,
  commands: [{ kind: 'steer', action: { do: 'say', text: 'be quick' }, by: 'eve' }],
  start(at): Event {
    const input = teamInput.parse({ team, message: 'begin' })
    const run = { format: 1 as const, project: 'default', pattern: 'team', version: 1, limits }
    return { run_id: RUN_ID, seq: 1, at, type: 'run:start', data: { ...run, input } }
  },
}
