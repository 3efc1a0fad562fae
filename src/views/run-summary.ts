import type { EventType } from '../kernel/event.ts'
import { activeTime, idleTimes } from './active-time.ts'
import { formatAge } from './format-amount.ts'
import type { TimelineState } from './timeline/reduce-timeline.ts'
import type { TimelineNotice, TimelineRun } from './timeline/timeline.ts'
import type { WaitingRequest } from './waiting.ts'

/* What a list shows about a run and only its journal tells, computed from its timeline. */

export interface RunSummary {
  run_id: string
  /** The seq of the last event. */
  head: number
  /** Labels of the lanes, in order. */
  agents: string[]
  /** The first lanes as bars, each from 0 to 1 of the time in which the run worked: for a thumbnail. */
  lanes: { label: string; bars: [from: number, to: number][] }[]
  last_event: { at: number; text: string; tone: 'neutral' | 'bad' | 'attention' }
  progress: TimelineRun['progress']
  /** Set when the run makes no progress, in words. */
  stalled: string | null
  /** The model requests that it waits for. */
  waiting: WaitingRequest[]
}

/** The events that a summary needs: those of tool calls and the responses of models are most of a journal. */
export const SUMMARY_EVENTS = [
  ...(['run:start', 'run:attempt', 'run:reopen', 'run:park', 'run:interrupt', 'run:cancel', 'run:end'] as const),
  ...(['session:open', 'session:end', 'model:begin', 'model:lost', 'gate:open', 'gate:answer', 'limit:hit'] as const),
] as const satisfies readonly EventType[]

export interface SummaryMoment {
  head: number
  now: number
  /** A live process executes the run. */
  isRunning: boolean
  waiting: WaitingRequest[]
}

const MAX_LANES = 24
const MAX_BARS = 40

/** The summary of a run from its timeline. */
export function summaryFrom(state: TimelineState, { head, now, isRunning, waiting }: SummaryMoment): RunSummary {
  const { run, tables } = state
  const last_event = lastEvent(state)
  return {
    run_id: run.id,
    head,
    agents: tables.lanes.map(({ label }) => label),
    lanes: thumbnail(state),
    last_event,
    progress: run.progress,
    stalled: stallText(state, { now, isRunning }),
    waiting,
  }
}

function lastEvent(state: TimelineState): RunSummary['last_event'] {
  const { run, tables, clock } = state
  const [gate] = state.open.gates
  if (run.ended_seq !== null) return { at: run.ended_at ?? clock.now, ...endText(state) }
  if (gate) {
    const { lane, question, started_at } = gate.row
    return { at: started_at, text: `${laneLabel(state, lane)} asks: ${question}`, tone: 'attention' }
  }
  const candidates = [
    describe(tables.calls.at(-1), ({ lane, tool, target }) => `${laneLabel(state, lane)}: ${tool} ${target}`.trimEnd()),
    describe(tables.sessions.at(-1), ({ lane, title }) => `${laneLabel(state, lane)} starts: ${title}`),
    describe(tables.messages.at(-1), ({ from, text }) => `${laneLabel(state, from)}: ${text}`),
    describe(tables.notices.at(-1), ({ text }) => text),
    describe(tables.pauses.at(-1), ({ text }) => text),
    describe(tables.phases.at(-1), ({ title }) => title),
  ]
  const newest = candidates.reduce((best, each) => (each.seq > best.seq ? each : best), { seq: 0, text: 'Submitted' })
  return { at: clock.now, text: newest.text, tone: 'neutral' }
}

function describe<Row extends { seq: number }>(
  row: Row | undefined,
  text: (row: Row) => string,
): { seq: number; text: string } {
  return row ? { seq: row.seq, text: text(row) } : { seq: -1, text: '' }
}

function laneLabel({ tables }: TimelineState, id: string | null): string {
  return tables.lanes.find((lane) => lane.id === id)?.label ?? 'The run'
}

function endText({ run, tables }: TimelineState): Pick<RunSummary['last_event'], 'text' | 'tone'> {
  if (run.status === 'failed') return { text: `Failed: ${failureText(run)}`, tone: 'bad' }
  if (run.status === 'cancelled') {
    const notice = tables.notices.findLast(({ text }) => text.startsWith('Cancelled'))
    return { text: notice?.text ?? 'Cancelled', tone: 'neutral' }
  }
  const results = tables.sessions.flatMap(({ parent, result }) => (parent === null && result !== null ? [result] : []))
  // The answer of an agent that works for others, such as a judge, is JSON.
  return {
    text: results.findLast((result) => !/^(?:\{\s*["}]|\[\s*["{[])/.test(result)) ?? 'Completed',
    tone: 'neutral',
  }
}

/** The reason of a failure in one line: the message without its code, and without the JSON or the stack that a provider added. */
function failureText({ error, stop_reason }: TimelineRun): string {
  const message = (error ?? '').replace(/^[a-z_]+:\s*/, '')
  const [words = ''] = message.split(/\s*[:,(]?\s*[[{]"|\s+at \S+ \(|\n/, 1)
  return words.trim() || (stop_reason ?? 'unknown')
}

/** A process that works on one thing for long is no stall before this. */
const SILENCE_MS = 10 * 60_000
/** Time for another process to take over. */
const TAKEOVER_MS = 60_000

function stallText(state: TimelineState, { now, isRunning }: Pick<SummaryMoment, 'now' | 'isRunning'>): string | null {
  const { run, clock, tables } = state
  if (run.ended_seq !== null || run.status === 'waiting') return null
  const silence = now - clock.now
  if (!isRunning && silence >= TAKEOVER_MS)
    return run.status === 'pending'
      ? `Waiting for a process for ${formatAge(silence)}`
      : `Interrupted ${formatAge(silence)} ago: no process executes it`
  const finding = tables.notices.findLast(isFinding)
  // Something else may have happened since: a finding is news until the next turn has ended.
  const isCurrent = finding && !tables.turns.some(({ ended_seq }) => ended_seq !== null && ended_seq > finding.seq)
  if (isCurrent) return `No progress: ${finding.text}`
  return silence >= SILENCE_MS ? `No event for ${formatAge(silence)}` : null
}

function isFinding({ kind }: TimelineNotice): boolean {
  return kind === 'loop' || kind === 'stall'
}

/** Bars of turns; pauses of the whole run are cut out. */
function thumbnail({ run, tables, clock }: TimelineState): RunSummary['lanes'] {
  const [start, until] = [run.started_at, run.ended_at ?? clock.now]
  const axis = { start, idle: idleTimes(tables.pauses, { start, until, seq: null }) }
  const length = Math.max(1, activeTime(axis, until))
  const lanes = tables.lanes.slice(0, MAX_LANES)
  const bars = new Map(lanes.map(({ id }) => [id, [] as [number, number][]]))
  for (const { lane, started_at, ended_at } of tables.turns) {
    const from = activeTime(axis, started_at) / length
    const to = activeTime(axis, ended_at ?? until) / length
    addBar(bars.get(lane), [round(from), round(Math.max(from, to))])
  }
  return lanes.map(({ id, label }) => ({ label, bars: bars.get(id) ?? [] }))
}

/** Neighbouring bars merge: at most `MAX_BARS` are left, because each is at least that far from the next. */
function addBar(bars: [number, number][] | undefined, bar: [number, number]): void {
  const last = bars?.at(-1)
  if (last && bar[0] - last[1] < 1 / MAX_BARS && bar[0] - last[0] >= 0) {
    last[1] = Math.max(last[1], bar[1])
  } else if (last && bar[0] < last[0]) {
    last[0] = bar[0]
    last[1] = Math.max(last[1], bar[1])
  } else bars?.push(bar)
}

function round(share: number): number {
  return Math.round(Math.min(1, Math.max(0, share)) * 1000) / 1000
}
