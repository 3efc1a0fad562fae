import type { Event, EventOf } from '../../kernel/event.ts'
import { textFrom, toolCallsFrom } from '../../kernel/model.ts'
import { sumUsd, totalTokens } from '../../kernel/spend.ts'
import type { AccountRow } from '../accounts.ts'
import { addAccount, reduceAccounts } from '../accounts.ts'
import { errorSummary } from '../error-summary.ts'
import { plainLine } from '../plain-line.ts'
import { parentStepKey } from '../run-reducer.ts'
import { setModel } from './lane-rows.ts'
import { rowTitle } from './row-text.ts'
import { liveSession } from './session-rows.ts'
import type { TimelineTurn } from './timeline.ts'
import type { TimelineState, TurnEntry } from './timeline-state.ts'
import { addNotice, addRow, markChanged, openSpan, rowId } from './timeline-state.ts'
import { endTurn } from './turn-end.ts'

type ModelEvent = EventOf<'model:begin'> | EventOf<'model:end'> | EventOf<'model:error'> | EventOf<'model:lost'>

/** The requests of an external agent are below the step of its turn. */
const PERFORMER_REQUEST = /\/performer\/model\/\d+$/

export function reduceModelEvent(state: TimelineState, event: ModelEvent): void {
  const account = reduceAccounts(state.costs.ledger, event)
  if (PERFORMER_REQUEST.test(event.data.key)) {
    const turn = state.index.turns.get(parentStepKey(parentStepKey(event.data.key)))
    if (event.type === 'model:begin' && turn) setTurnModel(state, turn, event.data.model)
    if (account) addCost(state, turn, account)
    return
  }
  const key = parentStepKey(event.data.key)
  if (event.type === 'model:begin') {
    beginRequest(state, key, event)
    return
  }
  const turn = state.index.turns.get(key)
  if (account) addCost(state, turn, account)
  if (turn) settleRequest(state, event, turn)
}

function beginRequest(state: TimelineState, key: string, event: EventOf<'model:begin'>): void {
  const { model, phase = 'turn', unpriced } = event.data
  if (unpriced) noticeUnpriced(state, event, model)
  const known = state.index.turns.get(key)
  if (known?.row.ended_seq === null) {
    known.row.attempts += 1
    setTurnModel(state, known, model)
    return
  }
  const turn = addTurn(state, event, { key, phase, again: known })
  if (turn) setTurnModel(state, turn, model)
}

function noticeUnpriced(state: TimelineState, event: Event, model: string): void {
  const name = `unpriced ${model}`
  if (state.notices.noticed.has(name)) return
  state.notices.noticed.add(name)
  addNotice(state, event, { kind: 'note', text: `The price of ${model} is unknown: limit usd does not count it` })
}

/** A turn of a session; without a session there is no lane for it. */
function addTurn(
  state: TimelineState,
  event: Event,
  { key, phase, again }: { key: string; phase: TimelineTurn['phase']; again: TurnEntry | undefined },
): TurnEntry | undefined {
  const session = liveSession(state, event)
  if (!session) return undefined
  if (phase !== 'summary') {
    if (session.turn) endTurn(state, event, { turn: session.turn })
    if (!again) session.counts.turns += 1
  }
  const row: TimelineTurn = {
    id: again ? rowId(state, 'turns', key) : key,
    phase,
    session: session.row.id,
    lane: session.row.lane,
    number: again?.row.number ?? session.counts.turns,
    ...{ title: '', model: '', status: 'running' as const, attempts: 1 },
    tokens: { input: 0, output: 0, cached: 0 },
    ...{ usd: 0, responded_at: null, responded_seq: null },
    ...openSpan(state, event),
  }
  const entry: TurnEntry = { row, session, pending: 0 }
  if (phase !== 'summary') session.turn = entry
  state.index.turns.set(key, entry)
  state.open.turns.add(entry)
  addRow(state, 'turns', row)
  return entry
}

function setTurnModel(state: TimelineState, { row, session }: TurnEntry, model: string): void {
  row.model = model
  markChanged(state, 'turns', row)
  if (row.phase !== 'summary') setModel(state, session.lane, model)
}

/** Costs of the turn and, unless another run paid for them, of the run: the same sums as those of `sumAccounts`. */
function addCost(state: TimelineState, turn: TurnEntry | undefined, account: AccountRow): void {
  const { run, costs } = state
  const { sum } = costs
  if (!account.inherited) {
    addAccount(sum, account)
    run.requests = sum.calls
    run.tokens = { input: sum.usage.input, output: sum.usage.output, cached: sum.usage.cache_read }
    run.usd = sum.usd
    run.known_usd = sum.known_usd
  }
  if (!turn || account.status === 'lost') return
  const { row, session } = turn
  const { usage, usd } = account
  row.tokens = {
    input: row.tokens.input + usage.input,
    output: row.tokens.output + usage.output,
    cached: row.tokens.cached + usage.cache_read,
  }
  row.usd = row.usd === null || usd === null ? null : sumUsd(row.usd, usd)
  markChanged(state, 'turns', row)
  session.counts.requests += 1
  session.counts.tokens += totalTokens(usage)
}

function settleRequest(
  state: TimelineState,
  event: Exclude<ModelEvent, EventOf<'model:begin'>>,
  turn: TurnEntry,
): void {
  const { row } = turn
  if (row.ended_seq !== null) return
  if (event.type === 'model:lost') {
    const { reason } = event.data
    const text = reason === 'crash' ? 'A model request was lost when the process died' : 'A model request was aborted'
    addNotice(state, event, { kind: 'lost', text, session: row.session })
    const { diedAt } = state.clock
    endTurn(state, event, {
      turn,
      status: 'lost',
      ...(reason === 'crash' && diedAt !== undefined && { ended_at: diedAt }),
    })
    return
  }
  noteUnusualResponse(state, event, row)
  if (event.type === 'model:error') {
    row.title = rowTitle(state, errorSummary(event.data.error))
    markChanged(state, 'turns', row)
    if (!event.data.retry) endTurn(state, event, { turn, status: 'failed' })
    return
  }
  const { message } = event.data
  const calls = toolCallsFrom(message)
  const text = textFrom(message) || calls.map(({ name }) => name).join(', ')
  setResponse(state, event, { turn, text })
  turn.pending += calls.length
  if (turn.pending <= 0) endTurn(state, event, { turn })
}

function noteUnusualResponse(
  state: TimelineState,
  event: EventOf<'model:end'> | EventOf<'model:error'>,
  { session }: TurnEntry['row'],
): void {
  const { refused_usage } = event.data
  if (refused_usage !== undefined) {
    const text = `The provider reported usage that cannot be true (${refused_usage}); it was estimated instead`
    addNotice(state, event, { kind: 'note', text, session })
  }
  if (event.type === 'model:end' && event.data.cut_off) {
    const text = 'The model sent more than max_output allows; the rest of its response was not read'
    addNotice(state, event, { kind: 'note', text, session })
  }
}

function setResponse(state: TimelineState, event: Event, { turn, text }: { turn: TurnEntry; text: string }): void {
  const { row } = turn
  row.title = rowTitle(state, plainLine(text))
  row.responded_at = state.clock.now
  row.responded_seq = event.seq
  markChanged(state, 'turns', row)
}

/** A call of this turn has ended; the last one ends the turn. */
export function endTurnCall(state: TimelineState, event: Event, turn: TurnEntry): void {
  turn.pending -= 1
  if (turn.pending <= 0 && turn.row.responded_seq !== null && turn.row.phase !== 'performer')
    endTurn(state, event, { turn })
}

type StepEvent = EventOf<'step:begin'> | EventOf<'step:end'> | EventOf<'step:error'>

/** The turn of an external agent is a step. */
export function reducePerformerStep(state: TimelineState, event: StepEvent): void {
  const { key } = event.data
  if (!key.endsWith('/performer') || event.session_id === undefined) return
  const turn = state.index.turns.get(key)
  if (event.type === 'step:begin') {
    if (turn?.row.ended_seq === null) turn.row.attempts += 1
    else addTurn(state, event, { key, phase: 'performer', again: turn })
    return
  }
  if (!turn || turn.row.ended_seq !== null) return
  if (event.type === 'step:error') turn.row.title = rowTitle(state, errorSummary(event.data.error))
  endTurn(state, event, { turn, status: event.type === 'step:end' ? 'ok' : 'failed' })
}

export function addPerformerMessage(state: TimelineState, event: EventOf<'performer:message'>): void {
  const turn = state.index.turns.get(parentStepKey(parentStepKey(event.data.key)))
  const text = textFrom(event.data.message)
  if (turn && text !== '') setResponse(state, event, { turn, text })
}
