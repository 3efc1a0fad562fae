import type { Event, EventOf, RunEnd } from '../../kernel/event.ts'
import { runSubject } from '../../kernel/run-title.ts'
import { errorSummary } from '../error-summary.ts'
import { formatDuration } from '../format-amount.ts'
import { modelChangesText } from '../needs-text.ts'
import { formatSteerAction } from '../steer-text.ts'
import { endCall, liveCall } from './call-rows.ts'
import { closeGate, reopenGate } from './gate-rows.ts'
import { rowText, rowTitle } from './row-text.ts'
import { endSessionRow, reviveSession } from './session-rows.ts'
import type { TimelinePause } from './timeline.ts'
import type { TimelineState } from './timeline-state.ts'
import { addMessage, addNotice, addRow, endSpan, markChanged, openSpan } from './timeline-state.ts'
import { endTurn } from './turn-end.ts'

/** Steps back of the recorded time below this are rounding, or the difference of two clocks, and no news. */
const CLOCK_TOLERANCE_MS = 1000

/** Moves the clock of the timeline to this event. It never goes back. */
export function advanceClock(state: TimelineState, event: Event): void {
  const { clock, run } = state
  const back = clock.recorded - event.at
  if (clock.seq === 0) clock.now = event.at
  clock.now = Math.max(clock.now, event.at)
  clock.recorded = event.at
  clock.seq = event.seq
  run.head = event.seq
  if (back < CLOCK_TOLERANCE_MS) return
  const text = `The clock went back ${formatDuration(back)}. Order follows the sequence, not the clock.`
  addNotice(state, event, { kind: 'clock', text })
}

/** Brings the run's row up to date after an event. */
export function finishEvent(state: TimelineState, event: Event): void {
  const { run, clock, current } = state
  const { tasks } = current
  run.active_ms = clock.activeBefore + (clock.activeSince === undefined ? 0 : clock.now - clock.activeSince)
  if (!state.current.hasProgress && tasks.opened > 0) {
    const text = `${tasks.ended} of ${tasks.opened} task${tasks.opened === 1 ? '' : 's'}`
    run.progress = { text, share: tasks.ended / tasks.opened }
  }
  clock.lastType = event.type
  markChanged(state, 'run', run)
}

export function reduceRunStart(state: TimelineState, event: EventOf<'run:start'>): void {
  const { run, sources } = state
  const { data } = event
  const { pattern, tags = [], limits, forked_from } = data
  state.costs.ledger.pattern = pattern
  state.costs.ledger.inherited = forked_from?.inherited ?? 0
  run.id = event.run_id
  run.pattern = pattern
  run.title = rowTitle(state, runSubject(data))
  run.tags = tags
  run.seq = event.seq
  run.started_at = state.clock.now
  run.limits = limits ? { calls: limits.calls, tokens: limits.tokens, usd: limits.usd } : null
  run.forked_from = forked_from
    ? { run_id: forked_from.run_id, seq: forked_from.seq, inherited: forked_from.inherited }
    : null
  run.steerable = sources.steerable?.has(pattern) ?? false
}

const CLEAN_STOPS: ReadonlySet<string> = new Set(['run:park', 'run:interrupt', 'run:end', 'run:reopen'])

/** A process begins to execute the run. If the one before died, nobody did since its last event. */
export function reduceRunAttempt(state: TimelineState, event: EventOf<'run:attempt'>, before: number): void {
  const { clock, run } = state
  clock.diedAt = undefined
  if (clock.activeSince !== undefined && !CLEAN_STOPS.has(clock.lastType)) {
    clock.activeBefore += before - clock.activeSince
    clock.diedAt = before
    const span = { seq: event.seq, started_at: before, ...endSpan(state, event) }
    const text = 'The process died; another one resumed the run'
    addRow(state, 'pauses', { id: `p${event.seq}`, kind: 'interrupted', session: null, text, ...span })
  }
  endPause(state, event)
  const { models } = event.data
  if (models)
    addNotice(state, event, {
      kind: 'note',
      text: rowText(state, `Resumed with other models: ${modelChangesText(models)}`),
    })
  clock.activeSince = clock.now
  run.status = 'running'
}

/** The machine was suspended, or its clock was set: nobody worked in that time. */
export function reduceClockJump(state: TimelineState, event: EventOf<'run:clock'>): void {
  const { clock } = state
  const { jump_ms } = event.data
  if (clock.activeSince !== undefined) {
    const started_at = Math.max(clock.activeSince, clock.now - jump_ms)
    clock.activeBefore += started_at - clock.activeSince
    clock.activeSince = clock.now
    const span = { seq: event.seq, started_at, ...endSpan(state, event) }
    addRow(state, 'pauses', {
      ...{ id: `p${event.seq}`, kind: 'interrupted', session: null, text: 'The machine was suspended' },
      ...span,
    })
  }
  const text = `The clock jumped ${formatDuration(jump_ms)} forward, as after a suspended machine. It does not count as working time.`
  addNotice(state, event, { kind: 'clock', text })
}

/** Nobody executes the run from now on. */
export function stopWork(state: TimelineState, event: Event, pause?: Pick<TimelinePause, 'kind' | 'text'>): void {
  const { clock } = state
  if (clock.activeSince !== undefined) clock.activeBefore += clock.now - clock.activeSince
  clock.activeSince = undefined
  if (!pause) return
  endPause(state, event)
  const row: TimelinePause = { id: `p${event.seq}`, session: null, ...pause, ...openSpan(state, event) }
  state.current.pause = addRow(state, 'pauses', row)
}

function endPause(state: TimelineState, event: Event): void {
  if (!state.current.pause) return
  Object.assign(state.current.pause, endSpan(state, event))
  markChanged(state, 'pauses', state.current.pause)
  state.current.pause = undefined
}

/** The end of the run ends whatever is open. */
export function reduceRunEnd(state: TimelineState, event: EventOf<'run:end'>): void {
  const { run, open } = state
  const { status, stop_reason, error } = event.data
  stopWork(state, event)
  endPause(state, event)
  for (const call of [...open.calls]) endCall(state, event, { call, error: 'The run ended before this call did' })
  state.current.unanswered = [...open.gates]
  for (const gate of state.current.unanswered) closeGate(state, event, gate)
  for (const turn of [...open.turns]) endTurn(state, event, { turn })
  for (const entry of [...open.sessions]) endSessionRow(state, event, { entry, status: sessionStatus(status) })
  endPhase(state, event)
  Object.assign(run, { status, stop_reason, error: error && rowText(state, errorSummary(error)) })
  Object.assign(run, endSpan(state, event))
}

/** A session that has no end of its own was stopped. */
function sessionStatus(status: RunEnd['status']): RunEnd['status'] {
  return status === 'completed' ? 'cancelled' : status
}

export function endPhase(state: TimelineState, event: Event): void {
  if (!state.current.phase) return
  Object.assign(state.current.phase, endSpan(state, event))
  markChanged(state, 'phases', state.current.phase)
  state.current.phase = undefined
}

/** The failed step is tried again: what contains it works again. */
export function reduceRunReopen(state: TimelineState, event: EventOf<'run:reopen'>): void {
  const { run } = state
  const { key, additional_keys = [], limits } = event.data
  const text =
    run.status === 'completed' ? 'The run had ended and was resumed' : `The run had ${run.status} and was resumed`
  if (run.ended_at !== null) {
    const span = { seq: event.seq, ended_seq: null, started_at: run.ended_at, ended_at: null }
    state.current.pause = addRow(state, 'pauses', {
      id: `p${event.seq}`,
      kind: 'interrupted',
      session: null,
      text,
      ...span,
    })
  }
  Object.assign(run, { status: 'pending', stop_reason: null, error: null, ended_at: null, ended_seq: null })
  if (limits) run.limits = { calls: limits.calls, tokens: limits.tokens, usd: limits.usd }
  for (const each of [key, ...additional_keys]) if (each !== null) revivePath(state, event, each)
  for (const gate of state.current.unanswered.splice(0)) reopenGate(state, event, gate)
}

/** From the outermost to the innermost session and call that contain a key. */
function revivePath(state: TimelineState, event: Event, key: string): void {
  for (let end = key.indexOf('/'); end !== -1; end = key.indexOf('/', end + 1)) {
    const path = key.slice(0, end)
    const session = state.index.sessionsByKey.get(path)
    if (session) reviveSession(state, event, session)
    const call = state.index.calls.get(path)
    if (call) liveCall(state, event, { key: path, tool: call.row.tool })
  }
}

export function addSteering(state: TimelineState, event: EventOf<'run:steer'>): void {
  const { action, by } = event.data
  const text = rowText(state, action.do === 'say' ? action.text : formatSteerAction(action))
  addMessage(state, event, {
    from: null,
    to: null,
    type: action.do,
    text,
    ref: { kind: 'event', id: String(event.seq) },
  })
  addNotice(state, event, {
    kind: 'note',
    text: rowText(state, `${by} requests: ${formatSteerAction(action)}`),
  })
}
