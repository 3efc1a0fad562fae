import type { EventOf } from '../kernel/event.ts'
import { textFrom, toolCallsFrom } from '../kernel/model.ts'
import { sumUsd, totalTokens } from '../kernel/spend.ts'
import type { AccountRow } from './accounts.ts'
import { addAccount, reduceAccounts } from './accounts.ts'
import { setLaneModel } from './lane-rows.ts'
import { rowText, rowTitle } from './row-text.ts'
import type { TimelineTurn } from './rows.ts'
import type { RunModel } from './run-model.ts'
import { addNotice, addRow, changeRow, endTurn, openSpan, rowId } from './run-model.ts'
import { liveSession, sessionOf } from './session-rows.ts'
import type { SessionNode, TurnEntry } from './step-tree.ts'
import { parentStepKey } from './step-tree.ts'

type ModelEvent = EventOf<'model:begin'> | EventOf<'model:end'> | EventOf<'model:error'> | EventOf<'model:lost'>

/** The requests of an external agent are below the step of its turn. */
const PERFORMER_REQUEST = /\/performer\/model\/\d+$/

export function reduceModelEvent(model: RunModel, event: ModelEvent): void {
  const { key } = event.data
  const account = reduceAccounts(model.costs.ledger, event)
  const session = sessionOf(model, event)
  if (session) session.model_call_since = event.type === 'model:begin' ? event.at : null
  const isPerformers = PERFORMER_REQUEST.test(key)
  const turnKey = isPerformers ? parentStepKey(parentStepKey(key)) : parentStepKey(key)
  const turn = model.index.turns.get(turnKey)
  if (event.type === 'model:begin') {
    if (session) session.sent_to ??= event.data.model
    if (!isPerformers) beginRequest(model, turnKey, event)
    else if (turn) setTurnModel(model, turn, event.data.model)
    return
  }
  if (account) addCost(model, account, { turn, session })
  if (session && event.type !== 'model:lost' && !isPerformers && turn?.row.phase !== 'summary')
    settleSessionRequest(session, event)
  if (turn && !isPerformers) settleRequest(model, event, turn)
}

type RequestOutcome = Exclude<ModelEvent | StepEvent | EventOf<'limit:hit'>, { type: `${string}:begin` | 'model:lost' }>

/** Keeps how the newest request of a session ended: with a response, or with a failure that is not retried. */
function settleSessionRequest(session: SessionNode, { type, seq, data }: RequestOutcome): void {
  if (type === 'model:end' || type === 'step:end') Object.assign(session, { responded_seq: seq, failure: undefined })
  else if (type !== 'model:error' || !data.retry) session.failure = { step: data.key, error: data.error, seq }
}

/** A limit stopped a request, or the turn of an external agent. */
export function reduceLimitHit(model: RunModel, event: EventOf<'limit:hit'>): void {
  const session = sessionOf(model, event)
  const text = rowText(model, event.data.error.message)
  addNotice(model, { kind: 'limit', text, session: session?.row.id ?? null })
  if (session) settleSessionRequest(session, event)
}

function beginRequest(model: RunModel, key: string, event: EventOf<'model:begin'>): void {
  const { model: name, phase = 'turn', unpriced } = event.data
  if (unpriced && !model.costs.unpriced.has(name)) {
    model.costs.unpriced.set(name, event.seq)
    addNotice(model, { kind: 'note', text: `The price of ${name} is unknown: limit usd does not count it` })
  }
  const known = model.index.turns.get(key)
  const isOpen = known?.row.ended_seq === null
  if (isOpen) known.row.attempts += 1
  const turn = isOpen ? known : addTurn(model, liveSession(model, event), { key, phase, known })
  if (turn) setTurnModel(model, turn, name)
}

/** A turn of a session; without a session there is no lane for it. */
function addTurn(
  model: RunModel,
  session: SessionNode | undefined,
  { key, phase, known }: { key: string; phase: TimelineTurn['phase']; known: TurnEntry | undefined },
): TurnEntry | undefined {
  if (!session) return undefined
  // Another session with the same keys works anew.
  const again = known?.session.session_id === session.session_id ? known : undefined
  if (phase !== 'summary') {
    if (session.turn) endTurn(model, session.turn)
    if (!again) session.turns += 1
  }
  const row = addRow(model, 'turns', {
    ...{ id: rowId(model, 'turns', key), phase, session: session.row.id, lane: session.row.lane },
    number: again?.row.number ?? session.turns,
    ...{ title: '', model: '', status: 'running', attempts: 1, tokens: { input: 0, output: 0, cached: 0 } },
    ...{ usd: 0, responded_at: null, responded_seq: null },
    ...openSpan(model),
  })
  const turn: TurnEntry = { row, session, pending: 0 }
  if (phase !== 'summary') session.turn = turn
  model.index.turns.set(key, turn)
  model.open.turns.add(turn)
  return turn
}

function setTurnModel(model: RunModel, { row, session }: TurnEntry, name: string): void {
  changeRow(model, row, { model: name })
  if (row.phase !== 'summary') setLaneModel(model, session.lane, name)
}

/** Costs of the turn and, unless another run paid for them, of the run: the same sums as those of `sumAccounts`. */
function addCost(
  model: RunModel,
  account: AccountRow,
  { turn, session }: { turn: TurnEntry | undefined; session: SessionNode | undefined },
): void {
  const { run, costs } = model
  const { sum } = costs
  const { inherited, status, usage, usd } = account
  if (!inherited) {
    addAccount(sum, account)
    run.requests = sum.calls
    run.tokens = { input: sum.usage.input, output: sum.usage.output, cached: sum.usage.cache_read }
    run.usd = sum.usd
    run.known_usd = sum.known_usd
  }
  if (status === 'lost') return
  if (session) {
    session.calls += 1
    session.tokens += totalTokens(usage)
  }
  if (!turn) return
  const { row } = turn
  const { input, output, cached } = row.tokens
  changeRow(model, row, {
    tokens: { input: input + usage.input, output: output + usage.output, cached: cached + usage.cache_read },
    usd: row.usd === null || usd === null ? null : sumUsd(row.usd, usd),
  })
}

function settleRequest(model: RunModel, event: Exclude<ModelEvent, EventOf<'model:begin'>>, turn: TurnEntry): void {
  const { row } = turn
  if (row.ended_seq !== null) return
  if (event.type === 'model:lost') {
    const isCrash = event.data.reason === 'crash'
    const text = isCrash ? 'A model request was lost when the process died' : 'A model request was aborted'
    addNotice(model, { kind: 'lost', text, session: row.session })
    endTurn(model, turn, { status: 'lost', ended_at: isCrash ? model.clock.diedAt : undefined })
    return
  }
  noteUnusualResponse(model, event, row)
  if (event.type === 'model:error') {
    changeRow(model, row, { title: rowTitle(model, model.sources.words.error(event.data.error)) })
    if (!event.data.retry) endTurn(model, turn, { status: 'failed' })
    return
  }
  const { message } = event.data
  const calls = toolCallsFrom(message)
  setResponse(model, turn, textFrom(message) || calls.map(({ name }) => name).join(', '))
  turn.pending += calls.length
  if (turn.pending <= 0) endTurn(model, turn)
}

function noteUnusualResponse(
  model: RunModel,
  event: EventOf<'model:end'> | EventOf<'model:error'>,
  { session }: TimelineTurn,
): void {
  const { refused_usage } = event.data
  if (refused_usage !== undefined) {
    const text = `The provider reported usage that cannot be true (${refused_usage}); it was estimated instead`
    addNotice(model, { kind: 'note', text, session })
  }
  if (event.type === 'model:end' && event.data.cut_off) {
    const text = 'The model sent more than max_output allows; the rest of its response was not read'
    addNotice(model, { kind: 'note', text, session })
  }
}

function setResponse(model: RunModel, { row }: TurnEntry, text: string): void {
  const { now, seq } = model.clock
  changeRow(model, row, {
    ...{ title: rowTitle(model, model.sources.words.line(text)), responded_at: now, responded_seq: seq },
  })
}

/** A call of this turn has ended; the last one ends the turn. */
export function endTurnCall(model: RunModel, turn: TurnEntry): void {
  turn.pending -= 1
  if (turn.pending <= 0 && turn.row.responded_seq !== null && turn.row.phase !== 'performer') endTurn(model, turn)
}

type StepEvent = EventOf<'step:begin'> | EventOf<'step:end'> | EventOf<'step:error'>

/** The turn of an external agent is a step. */
export function reducePerformerStep(model: RunModel, event: StepEvent): void {
  const { key } = event.data
  if (!key.endsWith('/performer') || event.session_id === undefined) return
  const turn = model.index.turns.get(key)
  const isOpen = turn?.row.ended_seq === null
  if (event.type === 'step:begin') {
    if (isOpen) turn.row.attempts += 1
    else addTurn(model, liveSession(model, event), { key, phase: 'performer', known: turn })
    return
  }
  const session = sessionOf(model, event)
  if (session) settleSessionRequest(session, event)
  if (!isOpen) return
  if (event.type === 'step:error') turn.row.title = rowTitle(model, model.sources.words.error(event.data.error))
  endTurn(model, turn, { status: event.type === 'step:end' ? 'ok' : 'failed' })
}

export function addPerformerMessage(model: RunModel, { data }: EventOf<'performer:message'>): void {
  const turn = model.index.turns.get(parentStepKey(parentStepKey(data.key)))
  const text = textFrom(data.message)
  if (turn && text !== '') setResponse(model, turn, text)
}
