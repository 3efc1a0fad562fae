import { originText } from '../../run-model/lane-rows.ts'
import type { PanelBlock, PanelFact } from '../panel.ts'
import { presentFacts, tableBlock } from '../panel-blocks.ts'
import type { TimelineLane } from '../timeline/timeline.ts'
import type { Detail } from './detail.ts'
import type { DetailScope } from './detail-scope.ts'
import { eventsWithKey } from './event-index.ts'
import { laneLabel } from './timeline-rows.ts'

/** An agent of a run, as one of its lanes shows it: where its definition is from, its tools, its sessions and its totals. */
export function agentDetail(scope: DetailScope, id: string): Detail | undefined {
  const timeline = scope.timeline()
  const lane = timeline.lanes.find((each) => each.id === id)
  if (!lane) return undefined
  const sessions = timeline.sessions.filter((session) => session.lane === id)
  const newest = sessions.at(-1)
  const node = scope.model().sessions.get(newest?.session_id ?? '')
  const { data } = node ?? {}
  const agent = scope.redact(data?.agent)
  return {
    ref: { kind: 'agent', id },
    kind: 'Agent of the run',
    title: lane.label,
    from: laneLabel(timeline, lane.parent),
    to: lane.label,
    state: newest?.status ?? 'pending',
    facts: agentFacts(scope, lane),
    sections: [
      {
        title: 'Definition',
        note: originText(data?.agent.origin) ?? 'from the program',
        blocks: [
          ...(agent?.description ? [{ kind: 'text' as const, text: agent.description }] : []),
          ...(agent?.instructions ? [{ kind: 'code' as const, title: 'Instructions', text: agent.instructions }] : []),
          ...(agent?.permissions ? [{ kind: 'json' as const, title: 'Permissions', value: agent.permissions }] : []),
        ],
      },
      { title: `Tools, ${data?.tools.length ?? 0}`, blocks: [{ kind: 'code', text: (data?.tools ?? []).join(', ') }] },
      { title: `Sessions, ${sessions.length}`, blocks: sessionTable(scope, id) },
    ],
    json: eventsWithKey(scope.events, node?.key ?? '').filter(({ type }) => type === 'session:open'),
  }
}

function agentFacts(scope: DetailScope, lane: TimelineLane): PanelFact[] {
  const { turns, calls, sessions } = scope.timeline()
  const own = turns.filter((turn) => turn.lane === lane.id)
  const [input, cached, output] = own.reduce<[number, number, number]>(
    ([a, b, c], { tokens }) => [a + tokens.input, b + tokens.cached, c + tokens.output],
    [0, 0, 0],
  )
  const usd = own.reduce<number | null>((sum, turn) => (sum === null || turn.usd === null ? null : sum + turn.usd), 0)
  const done = sessions.filter((session) => session.lane === lane.id && session.status === 'completed').length
  const all = sessions.filter((session) => session.lane === lane.id).length
  return presentFacts([
    ['model', lane.model],
    ['from', lane.origin],
    ['tasks', `${done} of ${all}`],
    ['turns', own.length, 'count'],
    ['calls', calls.filter((call) => call.lane === lane.id).length, 'count'],
    ['tokens', input + output, 'tokens'],
    ['from the cache', input === 0 ? null : cached / input, 'share'],
    ['cost', usd, 'usd'],
  ])
}

function sessionTable(scope: DetailScope, lane: string): PanelBlock[] {
  const sessions = scope.timeline().sessions.filter((session) => session.lane === lane)
  return tableBlock({}, sessions, {
    title: ['Purpose', ({ title }) => title],
    state: ['State', ({ status }) => status, 'state'],
    at: ['Started', ({ started_at }) => started_at, 'time'],
    took: ['Took', ({ started_at, ended_at }) => ended_at && ended_at - started_at, 'ms'],
    result: ['Result', ({ result }) => result],
  })
}
