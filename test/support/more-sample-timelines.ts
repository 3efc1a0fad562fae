import type { Timeline } from '../../src/views/timeline/timeline.ts'
import type { SessionScript, TurnScript } from './timeline-builder.ts'
import { timelineOf } from './timeline-builder.ts'

const START = Date.UTC(2026, 10, 16, 9, 30, 0)

/** Seven agents that vote in two rounds; one of them dissents, and one fails. */
export function voteSample(): Timeline {
  const names = ['astronomer', 'biologist', 'chemist', 'doctor', 'engineer', 'farmer', 'geologist']
  const sessions: SessionScript[] = []
  const turns: TurnScript[] = []
  for (const [round, from] of [0, 95].entries()) {
    names.forEach((name, place) => {
      const to = from + 40 + ((place * 17) % 35)
      const id = `r${round}${name}`
      const won = place !== 2 && place !== 5
      sessions.push({
        id,
        agent: name,
        from: from + place * 0.4,
        to,
        title: `Round ${round + 1}`,
        group: `round${round}`,
        ...(name === 'farmer' && round === 0 ? { status: 'failed' as const } : {}),
        ...(name === 'farmer' && round === 0 ? {} : { vote: { text: won ? 'Dig a well' : 'Build a dam', won } }),
      })
      turns.push({
        session: id,
        from: from + place * 0.4,
        to: from + 18,
        title: 'Look it up',
        calls: [{ tool: 'Grep', at: from + 8, seconds: 2, target: 'rainfall' }],
      })
      turns.push({ session: id, from: from + 20, to: to - 1, title: 'State a position' })
    })
  }
  return timelineOf({
    title: 'Well or dam?',
    pattern: 'sample',
    start: START,
    end: 175,
    agents: names.map((name) => ({ name, model: 'sonnet-4.5' })),
    sessions,
    turns,
    phases: [
      { title: 'Round 1', from: 0, to: 88 },
      { title: 'Round 2', from: 95, to: 172 },
    ],
  })
}

/** Agents that hand a conversation on, with a pause in which the program was stopped. */
export function handoffSample(): Timeline {
  const route = ['triage', 'billing', 'refunds', 'billing', 'triage']
  const sessions = route.map((agent, index) => ({
    id: `h${index}`,
    agent,
    from: index * 55 + (index > 2 ? 400 : 0),
    to: index * 55 + 48 + (index > 2 ? 400 : 0),
    title: `Segment ${index + 1}`,
  }))
  return timelineOf({
    title: 'Invoice paid twice',
    pattern: 'sample',
    start: START,
    end: 720,
    agents: [...new Set(route)].map((name) => ({ name, model: 'haiku-4.5' })),
    sessions,
    turns: sessions.flatMap(({ id, from }) => [
      {
        session: id,
        from,
        to: from + 20,
        title: 'Read the invoice',
        calls: [{ tool: 'Read', at: from + 6, seconds: 3, target: 'invoice 4711' }],
      },
      {
        session: id,
        from: from + 22,
        to: from + 47,
        title: 'Answer',
        calls: [{ tool: 'Message', at: from + 36, seconds: 8, target: 'customer' }],
      },
    ]),
    links: sessions.slice(1).map((session, index) => ({
      kind: 'handoff' as const,
      from: `h${index}`,
      to: session.id,
      fromAgent: route[index] ?? '',
      toAgent: session.agent,
      at: index * 55 + 48 + (index > 2 ? 400 : 0),
      until: session.from,
      label: `when the subject is ${session.agent}`,
    })),
    pauses: [{ kind: 'interrupted', session: null, from: 165, to: 560, text: 'Interrupted' }],
  })
}

/** A worker that asks two experts while it works. */
export function consultationSample(): Timeline {
  const sessions: SessionScript[] = [
    { id: 'w', agent: 'worker', from: 0, to: null, title: 'Migrate the database' },
    { id: 'e1', agent: 'postgres-expert', from: 32, to: 58, title: 'Lock time of ALTER TABLE' },
    { id: 'e2', agent: 'security-expert', from: 92, to: 130, title: 'Row level security' },
  ]
  return timelineOf({
    title: 'Migrate the database',
    pattern: 'sample',
    start: START,
    end: null,
    agents: [
      { name: 'worker', model: 'sonnet-4.5' },
      { name: 'postgres-expert', model: 'opus-4.5', parent: 'worker' },
      { name: 'security-expert', model: 'opus-4.5', parent: 'worker' },
    ],
    sessions,
    turns: [
      {
        session: 'w',
        from: 0,
        to: 70,
        title: 'Write the migration',
        calls: [
          { tool: 'Read', at: 6, seconds: 2, target: 'schema.sql' },
          { tool: 'Message', at: 28, seconds: 32, target: 'postgres-expert' },
        ],
      },
      {
        session: 'w',
        from: 72,
        to: 140,
        title: 'Check permissions',
        calls: [{ tool: 'Message', at: 88, seconds: 44, target: 'security-expert' }],
      },
      {
        session: 'w',
        from: 142,
        to: null,
        title: 'Apply',
        calls: [{ tool: 'Bash', at: 150, seconds: 20, target: 'psql -f 0042.sql', status: 'running' }],
      },
      {
        session: 'e1',
        from: 33,
        to: 57,
        title: 'Answer',
        calls: [{ tool: 'Grep', at: 40, seconds: 1, target: 'lock_timeout' }],
      },
      {
        session: 'e2',
        from: 93,
        to: 129,
        title: 'Answer',
        calls: [{ tool: 'Read', at: 101, seconds: 2, target: 'policies.sql' }],
      },
    ],
    links: [
      {
        kind: 'consultation',
        from: 'w',
        to: 'e1',
        fromAgent: 'worker',
        toAgent: 'postgres-expert',
        at: 29,
        until: 60,
        label: 'How long does it lock?',
      },
      {
        kind: 'consultation',
        from: 'w',
        to: 'e2',
        fromAgent: 'worker',
        toAgent: 'security-expert',
        at: 89,
        until: 132,
        label: 'Is the policy complete?',
      },
    ],
  })
}

export const CONSULTATION_SAMPLE_NOW = START + 175_000

/** Many lanes and calls: each lane works in sessions of ten turns. */
export function largeSample(lanes: number, calls: number): Timeline {
  const tools = ['Read', 'Grep', 'Edit', 'Bash', 'Message', 'Plan', 'Task', 'Write']
  const perLane = Math.ceil(calls / (lanes - 1))
  let random = 7
  const next = () => {
    random = (random * 48_271) % 2_147_483_647
    return random / 2_147_483_647
  }
  const agents = [{ name: 'architect', model: 'opus-4.5' }]
  const sessions: SessionScript[] = [{ id: 's', agent: 'architect', from: 0, to: null, title: 'Lead' }]
  const turns: TurnScript[] = [{ session: 's', from: 0, to: 30, title: 'Plan', calls: [] }]
  const links = []
  for (let lane = 1; lane < lanes; lane += 1) {
    const name = `${['developer', 'reviewer', 'tester', 'writer'][lane % 4]}-${lane}`
    agents.push({ name, model: 'sonnet-4.5', parent: 'architect' } as (typeof agents)[number])
    let at = 30 + next() * 600
    for (let made = 0; made < perLane; ) {
      const id = `s${lane}.${made}`
      const from = at
      for (let turn = 0; turn < 10 && made < perLane; turn += 1) {
        const start = at
        const list = Array.from({ length: Math.min(perLane - made, 1 + Math.floor(next() * 4)) }, (_, index) => ({
          tool: tools[Math.floor(next() * tools.length)] ?? 'Read',
          at: start + 4 + index * (2 + next() * 6),
          seconds: 0.5 + next() * 5,
          target: `src/file-${Math.floor(next() * 900)}.ts`,
          ...(next() < 0.03 ? { status: 'failed' as const } : {}),
        }))
        made += list.length
        at = (list.at(-1)?.at ?? start) + 6
        turns.push({ session: id, from: start, to: at, title: `Turn ${turn + 1}`, calls: list })
        at += 1
      }
      sessions.push({
        id,
        agent: name,
        from,
        to: at,
        title: `Task ${made}`,
        parent: 's',
        group: `g${Math.floor(from / 60)}`,
      })
      links.push({
        kind: 'delegation' as const,
        from: 's',
        to: id,
        fromAgent: 'architect',
        toAgent: name,
        at: from - 3,
        until: at,
        group: `g${Math.floor(from / 60)}`,
        label: 'Task',
      })
      at += 20 + next() * 200
    }
  }
  return timelineOf({ title: 'Large', pattern: 'sample', start: START, end: null, agents, sessions, turns, links })
}
