import { teamSchema } from '../../src/judgement/team/team-schema.ts'
import type { Event } from '../../src/kernel/event.ts'
import type { ModelRequest } from '../../src/kernel/model.ts'
import { textFrom } from '../../src/kernel/model.ts'
import { teamInput } from '../../src/patterns/team/input.ts'
import type { RunScenario } from './chaos-run.ts'
import type { PlannedCall } from './reference-model.ts'
import { formatResult, toolResultsFrom } from './reference-model.ts'
import { limits, RUN_ID, startEvent } from './reference-run.ts'

/*
 * A team for the crash tests: a handoff by verdict, a parallel group, a handoff decided by a router, a sub-team, a handoff
 * that needs approval, and a user message queued before the first turn. Its response contains the whole conversation, so
 * that two runs that differ anywhere differ in their output.
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

const plannedCall = (name: string, input: Record<string, unknown>): PlannedCall => ({ name, input })

const FIRST_CALLS: Record<string, PlannedCall[]> = {
  scout: [plannedCall('look', { topic: 'sky' }), plannedCall('ship', { item: 'scout' })],
  left: [plannedCall('charge', { amount: 10 })],
  right: [plannedCall('put', { name: 'right' })],
  worker: [
    plannedCall('ship', { item: 'worker' }),
    plannedCall('ArtifactWrite', { name: 'plan', content: 'the plan' }),
  ],
}

function respond(request: ModelRequest): { calls: PlannedCall[]; text?: string } {
  const { agent, turn } = request.session
  const first = FIRST_CALLS[agent]
  if (first && turn === 1) return { calls: first }
  const results = toolResultsFrom(request.messages).map(formatResult).join(', ')
  const response = agent === 'closer' ? `[closer: ${conversationText(request)}]` : `[${agent}: ${results}]`
  if (agent === 'router') return { calls: [], text: JSON.stringify({ verdicts: [{ condition: 1, holds: true }] }) }
  if (agent === 'scout')
    return { calls: [], text: JSON.stringify({ response, verdicts: [{ condition: 1, holds: true }] }) }
  if (agent === 'right')
    return { calls: [], text: JSON.stringify({ response, variables: [{ name: 'height', value: 3 }] }) }
  return { calls: [], text: response }
}

/** The conversation as the closer reads it, without its own messages. */
function conversationText({ messages }: ModelRequest): string {
  const lines = messages.slice(0, -1).map((message) => JSON.parse(textFrom(message)) as Record<string, unknown>)
  const others = lines.filter(({ from }) => from !== 'closer')
  return others.map(({ from, text, artifacts = [] }) => `${from} ${text} ${String(artifacts)}`.trim()).join(' | ')
}

export const teamScenario: RunScenario = {
  respond,
  commands: [{ kind: 'steer', action: { do: 'say', text: 'be quick' }, by: 'eve' }],
  start(at): Event {
    const input = teamInput.parse({ team, message: 'begin' })
    const run = { format: 2 as const, project: 'default', pattern: 'team', version: 1, limits }
    return { run_id: RUN_ID, seq: 1, at, type: 'run:start', data: { ...run, input } }
  },
}

/** The same team, called by an agent of a `task` with the tool `team`. */
export const calledTeamScenario: RunScenario = {
  respond(request) {
    const { agent, turn } = request.session
    if (agent !== 'lead') return respond(request)
    if (turn === 1) return { calls: [plannedCall('team', { team: team.name, message: 'begin' })] }
    return { calls: [], text: `[lead: ${toolResultsFrom(request.messages).map(formatResult).join(', ')}]` }
  },
  commands: [],
  options: { team: { teams: [teamSchema.parse(team)] } },
  start: startEvent,
}
