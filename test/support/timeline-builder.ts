import type {
  Timeline,
  TimelineChanges,
  TimelineLink,
  TimelineSession,
  TimelineTable,
} from '../../src/views/timeline/timeline.ts'

/* Timelines for tests of the page, written in seconds since the start. Sequence numbers follow from the times. */

export interface CallScript {
  tool: string
  at: number
  seconds: number
  target?: string
  status?: 'running' | 'waiting' | 'failed'
}

export interface TurnScript {
  session: string
  from: number
  to: number | null
  title: string
  calls?: readonly CallScript[]
}

export interface SessionScript {
  id: string
  agent: string
  from: number
  to: number | null
  title: string
  parent?: string
  call?: string
  group?: string
  status?: TimelineSession['status']
  result?: string
  vote?: { text: string; won: boolean | null }
}

export interface TimelineScript {
  title: string
  pattern: string
  start: number
  agents: readonly { name: string; label?: string; model: string; parent?: string }[]
  sessions: readonly SessionScript[]
  turns: readonly TurnScript[]
  gates?: readonly { agent: string; from: number; to: number | null; question: string; call?: string }[]
  links?: readonly {
    kind: TimelineLink['kind']
    from: string
    to: string
    fromAgent: string
    toAgent: string
    at: number
    until?: number | null
    group?: string
    label: string
  }[]
  phases?: readonly { title: string; from: number; to: number | null }[]
  pauses?: readonly {
    kind: 'waiting' | 'interrupted' | 'blocked'
    session: string | null
    from: number
    to: number | null
    text: string
  }[]
  messages?: readonly { from: string; to: string; at: number; type: string; text: string }[]
  end: number | null
}

const CATEGORY = {
  Read: 'perception',
  Grep: 'perception',
  Glob: 'perception',
  Write: 'action',
  Edit: 'action',
  Bash: 'action',
  Message: 'interaction',
  Plan: 'planning',
  Task: 'task_management',
} as const

const NO_SPAN = { seq: 0, ended_seq: null }

export function timelineOf(script: TimelineScript): Timeline {
  const ms = (seconds: number) => script.start + Math.round(seconds * 1000)
  const span = (from: number, to: number | null) => ({
    ...NO_SPAN,
    started_at: ms(from),
    ended_at: to === null ? null : ms(to),
  })
  const sessionLane = new Map(script.sessions.map(({ id, agent }) => [id, agent]))
  const laneOf = (session: string) => sessionLane.get(session) ?? ''
  const timeline: Timeline = {
    run: [runRow(script, ms)],
    lanes: script.agents.map(({ name, label, model, parent }) => ({
      id: name,
      seq: 0,
      agent: (label ?? name).replace(/-\d+$/, ''),
      ordinal: Number(/-(\d+)$/.exec(name)?.[1] ?? 1),
      label: label ?? name,
      parent: parent ?? null,
      depth: parent ? 1 : 0,
      model,
      origin: 'built-in',
    })),
    sessions: script.sessions.map((session) => ({
      id: session.id,
      session_id: session.id,
      key: session.id,
      background: false,
      lane: session.agent,
      parent: session.parent ?? null,
      call: session.call ?? null,
      group: session.group ?? null,
      title: session.title,
      status: session.status ?? (session.to === null ? 'running' : 'completed'),
      stop_reason: null,
      result: session.result ?? null,
      vote: session.vote ?? null,
      ...span(session.from, session.to),
    })),
    turns: script.turns.map((turn, index) => turnRow(turn, { index, script, span: span(turn.from, turn.to) })),
    calls: script.turns.flatMap((turn, index) =>
      (turn.calls ?? []).map((call, place) => ({
        id: `t${index + 1}c${place + 1}`,
        turn: `t${index + 1}`,
        session: turn.session,
        lane: laneOf(turn.session),
        number: 0,
        tool: call.tool,
        category: CATEGORY[call.tool as keyof typeof CATEGORY] ?? null,
        kind: null,
        status: call.status ?? 'ok',
        target: call.target ?? '',
        error: call.status === 'failed' ? 'exit code 1' : null,
        files: call.tool === 'Edit' || call.tool === 'Write' ? 1 : 0,
        ...span(call.at, call.status === 'running' || call.status === 'waiting' ? null : call.at + call.seconds),
      })),
    ),
    gates: (script.gates ?? []).map((gate, index) => ({
      id: `g${index + 1}`,
      gate_id: `g${index + 1}`,
      lane: gate.agent,
      session: script.sessions.findLast(({ agent, from }) => agent === gate.agent && from <= gate.from)?.id ?? null,
      call: gate.call ?? null,
      question: gate.question,
      choices: ['allow', 'deny'],
      asked_by: gate.agent,
      answer: gate.to === null ? null : 'allow',
      answered_by: gate.to === null ? null : 'you',
      ...span(gate.from, gate.to),
    })),
    links: (script.links ?? []).map((link, index) => ({
      id: `l${index + 1}`,
      kind: link.kind,
      from: link.fromAgent,
      to: link.toAgent,
      from_session: link.from,
      to_session: link.to,
      call: null,
      group: link.group ?? null,
      label: link.label,
      ...span(link.at, link.until === undefined ? link.at : link.until),
    })),
    phases: (script.phases ?? []).map(({ title, from, to }, index) => ({
      id: `p${index + 1}`,
      title,
      ...span(from, to),
    })),
    messages: (script.messages ?? []).map(({ at, ...message }, index) => ({
      id: `m${index + 1}`,
      seq: 0,
      at: ms(at),
      ref: null,
      ...message,
    })),
    pauses: (script.pauses ?? []).map(({ from, to, ...pause }, index) => ({
      id: `b${index + 1}`,
      ...pause,
      ...span(from, to),
    })),
    notices: [],
  }
  return numberRows(timeline)
}

function runRow(script: TimelineScript, ms: (seconds: number) => number): Timeline['run'][number] {
  return {
    id: 'run',
    pattern: script.pattern,
    title: script.title,
    tags: [],
    status: script.end === null ? 'running' : 'completed',
    stop_reason: null,
    error: null,
    head: 0,
    active_ms: 0,
    calls: script.turns.flatMap(({ calls }) => calls ?? []).length,
    requests: script.turns.length,
    tokens: { input: 0, output: 0, cached: 0 },
    usd: 0,
    known_usd: 0,
    limits: null,
    forked_from: null,
    open_gates: script.gates?.filter(({ to }) => to === null).length ?? 0,
    progress: null,
    steerable: true,
    ...NO_SPAN,
    started_at: script.start,
    ended_at: script.end === null ? null : ms(script.end),
  }
}

type TurnPlace = {
  index: number
  script: TimelineScript
  span: Pick<Timeline['turns'][number], 'seq' | 'ended_seq' | 'started_at' | 'ended_at'>
}

function turnRow(turn: TurnScript, { index, script, span }: TurnPlace): Timeline['turns'][number] {
  const session = script.sessions.find(({ id }) => id === turn.session)
  const agent = script.agents.find(({ name }) => name === session?.agent)
  const firstCall = turn.calls?.[0]?.at
  const responded = firstCall ?? (turn.to === null ? null : turn.to)
  return {
    id: `t${index + 1}`,
    phase: 'turn',
    session: turn.session,
    lane: session?.agent ?? '',
    number: script.turns.slice(0, index + 1).filter((other) => other.session === turn.session).length,
    title: turn.title,
    model: agent?.model ?? 'model',
    status: turn.to === null ? 'running' : 'ok',
    attempts: 1,
    tokens: { input: 12_000 + index * 100, output: 400, cached: 9000 },
    usd: 0.02,
    responded_at: responded === null ? null : script.start + Math.round(responded * 1000),
    responded_seq: responded === null ? null : 0,
    ...span,
  }
}

type Numbered = { seq: number; ended_seq?: number | null; responded_seq?: number | null }
type Timed = { started_at?: number; ended_at?: number | null; at?: number; responded_at?: number | null }

/** Numbers all moments by time; those of the same time in the order of the tables. */
function numberRows(timeline: Timeline): Timeline {
  const moments: { at: number; set: (seq: number) => void }[] = []
  for (const table of Object.keys(timeline) as TimelineTable[]) {
    for (const row of timeline[table] as (Numbered & Timed)[]) {
      if (table === 'lanes') continue
      moments.push({ at: row.started_at ?? row.at ?? 0, set: (seq) => Object.assign(row, { seq }) })
      const { responded_at, ended_at } = row
      if (typeof responded_at === 'number') {
        moments.push({ at: responded_at, set: (seq) => Object.assign(row, { responded_seq: seq }) })
      }
      if (typeof ended_at === 'number') {
        moments.push({ at: ended_at, set: (seq) => Object.assign(row, { ended_seq: seq }) })
      }
    }
  }
  moments
    .sort((a, b) => a.at - b.at)
    .forEach(({ set }, index) => {
      set(index + 1)
    })
  for (const lane of timeline.lanes) lane.seq = timeline.sessions.find((session) => session.lane === lane.id)?.seq ?? 1
  timeline.calls
    .sort((a, b) => a.seq - b.seq)
    .forEach((call, index) => {
      call.number = index + 1
    })
  for (const run of timeline.run) run.head = moments.length
  return timeline
}

/** The timeline as it was at an event: later rows left out, later ends open. */
export function timelineUpTo(timeline: Timeline, seq: number): Timeline {
  const cut = structuredClone(timeline)
  for (const table of Object.keys(cut) as TimelineTable[]) {
    const rows = (cut[table] as (Numbered & Timed)[]).filter((row) => row.seq <= seq)
    for (const row of rows) {
      if ((row.ended_seq ?? 0) > seq) Object.assign(row, { ended_seq: null, ended_at: null })
      if ((row.responded_seq ?? 0) > seq) Object.assign(row, { responded_seq: null, responded_at: null })
    }
    Object.assign(cut, { [table]: rows })
  }
  for (const run of cut.run) run.head = seq
  return cut
}

/** The rows of `later` that differ from those of `earlier`. */
export function changesBetween(earlier: Timeline, later: Timeline, seq: number): TimelineChanges {
  const changes: TimelineChanges = { seq, rows: {} }
  for (const table of Object.keys(later) as TimelineTable[]) {
    const before = new Map((earlier[table] as { id: string }[]).map((row) => [row.id, JSON.stringify(row)]))
    const rows = (later[table] as { id: string }[]).filter((row) => before.get(row.id) !== JSON.stringify(row))
    if (rows.length > 0) Object.assign(changes.rows, { [table]: rows })
  }
  return changes
}
