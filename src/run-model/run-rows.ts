import type { Event, EventOf, RunEnd } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import { runSubject } from '../kernel/short-text.ts'
import { liveCall, settleCallRow } from './call-rows.ts'
import { closeGate, reopenGate } from './gate-rows.ts'
import { rowText, rowTitle } from './row-text.ts'
import type { TimelinePause } from './rows.ts'
import type { RunModel } from './run-model.ts'
import { addMessage, addNotice, addRow, changeRow, endSpan, endTurn, openSpan, rowId } from './run-model.ts'
import { endSessionRow, reviveSession } from './session-rows.ts'
import { nodeAt } from './step-tree.ts'

/** Steps back of the recorded time below this are rounding, or the difference of two clocks, and no news. */
const CLOCK_TOLERANCE_MS = 1000

/** Moves the clock of the model to this event. It never goes back. */
export function advanceClock(model: RunModel, event: Event): void {
  const { clock, run } = model
  const back = clock.recorded - event.at
  clock.before = clock.now
  clock.now = clock.seq === 0 ? event.at : Math.max(clock.now, event.at)
  clock.recorded = event.at
  clock.seq = event.seq
  run.head = event.seq
  if (back < CLOCK_TOLERANCE_MS) return
  const text = `The clock went back ${model.sources.words.duration(back)}. Order follows the sequence, not the clock.`
  addNotice(model, { kind: 'clock', text })
}

/** Brings the run's row up to date after an event. */
export function finishEvent(model: RunModel, event: Event): void {
  const { run, clock, current } = model
  const { opened, ended } = current.tasks
  run.active_ms = clock.activeBefore + (clock.activeSince === undefined ? 0 : clock.now - clock.activeSince)
  if (!current.hasProgress && opened > 0)
    run.progress = { text: `${ended} of ${opened} task${opened === 1 ? '' : 's'}`, share: ended / opened }
  clock.lastType = event.type
  changeRow(model, run)
}

export function reduceRunStart(model: RunModel, { run_id, seq, data }: EventOf<'run:start'>): void {
  const { pattern, tags = [], limits, forked_from } = data
  model.start = data
  model.costs.ledger.pattern = pattern
  model.costs.ledger.inherited = forked_from?.inherited ?? 0
  Object.assign(model.run, {
    ...{ id: run_id, pattern, title: rowTitle(model, runSubject(data)), tags, seq, started_at: model.clock.now },
    limits: limits ? rowLimits(limits) : null,
    forked_from: forked_from
      ? { run_id: forked_from.run_id, seq: forked_from.seq, inherited: forked_from.inherited }
      : null,
    steerable: model.sources.steerable?.has(pattern) ?? false,
  })
}

function rowLimits({ calls, tokens, usd }: Limits) {
  return { calls, tokens, usd }
}

const CLEAN_STOPS: ReadonlySet<string> = new Set(['run:park', 'run:interrupt', 'run:end', 'run:reopen'])

/** A process begins to execute the run. If the one before died, nobody did since its last event. */
export function reduceRunAttempt(model: RunModel, { data }: EventOf<'run:attempt'>): void {
  const { clock, run } = model
  const { before } = clock
  clock.diedAt = undefined
  if (clock.activeSince !== undefined && !CLEAN_STOPS.has(clock.lastType)) {
    clock.activeBefore += before - clock.activeSince
    clock.diedAt = before
    addPause(model, 'The process died; another one resumed the run', { started_at: before, ...endSpan(model) })
  }
  endPause(model)
  if (data.models)
    addNotice(model, {
      kind: 'note',
      text: rowText(model, `Resumed with other models: ${model.sources.words.models(data.models)}`),
    })
  clock.activeSince = clock.now
  run.status = 'running'
}

/** The machine was suspended, or its clock was set: nobody worked in that time. */
export function reduceClockJump(model: RunModel, { data: { jump_ms } }: EventOf<'run:clock'>): void {
  const { clock } = model
  if (clock.activeSince !== undefined) {
    const started_at = Math.max(clock.activeSince, clock.now - jump_ms)
    clock.activeBefore += started_at - clock.activeSince
    clock.activeSince = clock.now
    addPause(model, 'The machine was suspended', { started_at, ...endSpan(model) })
  }
  const text = `The clock jumped ${model.sources.words.duration(jump_ms)} forward, as after a suspended machine. It does not count as working time.`
  addNotice(model, { kind: 'clock', text })
}

export function reduceRunPark(model: RunModel): void {
  model.run.status = 'waiting'
  stopWork(model)
  pauseRun(model, 'Waits for a person', 'waiting')
}

export function reduceRunInterrupt(model: RunModel, { data }: EventOf<'run:interrupt'>): void {
  model.run.status = 'pending'
  stopWork(model)
  pauseRun(model, rowText(model, data.reason))
}

export function reduceRunCancel(model: RunModel, { data: { reason } }: EventOf<'run:cancel'>): void {
  addNotice(model, { kind: 'note', text: rowText(model, reason ? `Cancelled: ${reason}` : 'Cancelled') })
}

/** Nobody executes the run from now on. */
function stopWork({ clock }: RunModel): void {
  if (clock.activeSince !== undefined) clock.activeBefore += clock.now - clock.activeSince
  clock.activeSince = undefined
}

function pauseRun(model: RunModel, text: string, kind?: TimelinePause['kind']): void {
  endPause(model)
  model.current.pause = addPause(model, text, { kind })
}

function addPause(
  model: RunModel,
  text: string,
  row: { [Field in keyof TimelinePause]?: TimelinePause[Field] | undefined },
) {
  const { kind = 'interrupted', ...span } = row
  const id = rowId(model, 'pauses', `p${model.clock.seq}`)
  return addRow(model, 'pauses', { id, kind, session: null, text, ...openSpan(model), ...(span as object) })
}

function endPause(model: RunModel): void {
  if (model.current.pause) changeRow(model, model.current.pause, endSpan(model))
  model.current.pause = undefined
}

/** The end of the run ends whatever is open. */
export function reduceRunEnd(model: RunModel, { data }: EventOf<'run:end'>): void {
  const { run, open, current } = model
  const { status, stop_reason, error } = data
  model.end = data
  stopWork(model)
  endPause(model)
  for (const call of [...open.calls]) settleCallRow(model, call, 'The run ended before this call did')
  current.unanswered = [...open.gates]
  for (const gate of current.unanswered) closeGate(model, gate)
  for (const turn of [...open.turns]) endTurn(model, turn)
  for (const session of [...open.sessions]) endSessionRow(model, session, { status: sessionStatus(status) })
  endPhase(model)
  Object.assign(run, { status, stop_reason, error: error && rowText(model, model.sources.words.error(error)) })
  Object.assign(run, endSpan(model))
}

/** A session that has no end of its own was stopped. */
function sessionStatus(status: RunEnd['status']): RunEnd['status'] {
  return status === 'completed' ? 'cancelled' : status
}

export function endPhase(model: RunModel): void {
  if (model.current.phase) changeRow(model, model.current.phase, endSpan(model))
  model.current.phase = undefined
}

/** The failed step is tried again: what contains it works again. */
export function reduceRunReopen(model: RunModel, { data }: EventOf<'run:reopen'>): void {
  const { run, current } = model
  const { key, additional_keys = [], limits } = data
  model.end = undefined
  const ended = run.status === 'completed' ? 'ended' : run.status
  if (run.ended_at !== null)
    current.pause = addPause(model, `The run had ${ended} and was resumed`, { started_at: run.ended_at })
  Object.assign(run, { status: 'pending', stop_reason: null, error: null, ended_at: null, ended_seq: null })
  if (limits) run.limits = rowLimits(limits)
  for (const each of [key, ...additional_keys]) if (each !== null) revivePath(model, each)
  for (const gate of current.unanswered.splice(0)) reopenGate(model, gate)
}

/** From the outermost to the innermost session and call that contain a key. */
function revivePath(model: RunModel, key: string): void {
  for (let end = key.indexOf('/'); end !== -1; end = key.indexOf('/', end + 1)) {
    const path = key.slice(0, end)
    const session = nodeAt(model, path, 'session')
    if (session) reviveSession(model, session)
    const call = nodeAt(model, path, 'call')
    if (call) liveCall(model, call.session, { key: path, tool: call.tool })
  }
}

export function addSteering(model: RunModel, { seq, data: { action, by } }: EventOf<'run:steer'>): void {
  const request = model.sources.words.steering(action)
  const text = rowText(model, action.do === 'say' ? action.text : request)
  addMessage(model, { from: null, to: null, type: action.do, text, ref: { kind: 'event', id: String(seq) } })
  addNotice(model, { kind: 'note', text: rowText(model, `${by} requests: ${request}`) })
}
