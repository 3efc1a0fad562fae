import { verifyJournal } from '../../src/audit/verify-journal.ts'
import { isEvent } from '../../src/kernel/event.ts'
import type { Spend } from '../../src/kernel/spend.ts'
import { addSpend, NO_SPEND, totalTokens } from '../../src/kernel/spend.ts'
import type { ChaosResult } from './chaos-run.ts'
import { isComplete } from './chaos-run.ts'

/** Result of an undisturbed run, independent of the order of its steps. */
export interface ExpectedRun {
  response: string
  calls: number
  effects: string[]
  sessions: string[]
}

export function expectedFrom(outcome: ChaosResult): ExpectedRun {
  return {
    response: responseText(outcome),
    calls: outcome.ledger.calls.length,
    effects: usedTools(outcome),
    sessions: sessionRows(outcome),
  }
}

/** All problems of a disturbed run compared with the expected one. */
export function runProblems(outcome: ChaosResult, expected: ExpectedRun): string[] {
  const { plan } = outcome
  const powerLost = plan.faults.some(({ kind }) => kind === 'power')
  const disturbed = plan.faults.some(({ kind }) => kind !== 'none' && kind !== 'jump')
  return [
    ...outcomeProblems(outcome, expected),
    ...actionProblems(outcome, expected),
    ...sessionProblems(outcome, expected),
    ...outcome.unsynced.map((type) => `${type} was not synced to disk`),
    ...verifyJournal(outcome.journal).map(({ seq, rule, message }) => `journal ${seq} ${rule}: ${message}`),
    ...(powerLost ? [] : spendProblems(outcome, expected)),
    ...(disturbed ? [] : exactSpendProblems(outcome)),
  ]
}

function outcomeProblems(outcome: ChaosResult, expected: ExpectedRun): string[] {
  const found = outcome.errors
    .filter((error) => !isExpectedError(error, outcome))
    .map((error) => `process failed with ${String(error)}`)
  if (!isComplete(outcome.result)) {
    return [...found, `ended ${outcome.result?.status}: ${JSON.stringify(outcome.result?.error)}`]
  }
  if (maskUnknown(responseText(outcome)) !== maskUnknown(expected.response)) {
    found.push(`responded ${responseText(outcome)} instead of ${expected.response}`)
  }
  for (const event of outcome.journal) {
    if (!isEvent(event, 'tool:error') || event.data.detail.code !== 'outcome_unknown') continue
    if (event.data.tool !== 'charge')
      found.push(`${event.data.tool} is recoverable but was reported as outcome_unknown`)
  }
  return found
}

/** A full disk stops the process; a second, suspended or clock-shifted process loses its lease. */
function isExpectedError(error: unknown, { plan }: ChaosResult): boolean {
  const code = (error as { code?: string }).code
  const kinds = plan.faults.map(({ kind }) => kind)
  if (code === 'store_full') return kinds.includes('full')
  if (code === 'run_busy' && plan.answer_timing === 'elsewhere') return true
  const hasRival = kinds.includes('suspend') || (kinds.includes('jump') && plan.answer_timing === 'elsewhere')
  return (code === 'lease_lost' || code === 'run_busy') && hasRival
}

function actionProblems(outcome: ChaosResult, expected: ExpectedRun): string[] {
  const found: string[] = []
  for (const [key, { tool, times }] of outcome.ledger.effects) {
    // A process suspended in the middle of an action can repeat it; only the idempotency key can prevent that.
    const limit = outcome.ledger.suspended_calls.has(key) && tool === 'ship' ? 2 : 1
    if (tool !== 'put' && times > limit) found.push(`${tool} ${key} was executed ${times} times`)
  }
  const unknown = countUnknown(outcome)
  const missing = expected.effects.length - usedTools(outcome).length
  if (missing > unknown) found.push(`${missing} effects are missing, ${unknown} are unknown`)
  return found
}

function sessionProblems(outcome: ChaosResult, expected: ExpectedRun): string[] {
  const found: string[] = []
  const sessions = sessionRows(outcome)
  if (sessions.join('\n') !== expected.sessions.join('\n')) found.push(`sessions differ: ${sessions.join('; ')}`)
  if (!outcome.journal.some((event) => isEvent(event, 'gate:answer'))) found.push('the answer to the gate was lost')
  return found
}

function spendProblems(outcome: ChaosResult, expected: ExpectedRun): string[] {
  const { ledger, inFlight } = outcome
  const found = ledger.calls
    .filter(({ repeated }) => repeated)
    .map(({ key }) => `${key} was answered and requested again`)
  if (ledger.calls.length > expected.calls + inFlight) {
    found.push(`${ledger.calls.length} requests, expected ${expected.calls} and ${inFlight} in flight`)
  }
  const spent = totalSpend(outcome)
  const tokens = ledger.calls.reduce((sum, { usage }) => sum + totalTokens(usage), 0)
  if (spent.calls + spent.lost.calls < ledger.calls.length)
    found.push('the journal records fewer requests than were made')
  if (totalTokens(spent) + spent.lost.tokens < tokens) found.push('the journal records fewer tokens than were used')
  return found
}

function exactSpendProblems(outcome: ChaosResult): string[] {
  const spent = totalSpend(outcome)
  const tokens = outcome.ledger.calls.reduce((sum, { usage }) => sum + totalTokens(usage), 0)
  if (spent.calls === outcome.ledger.calls.length && totalTokens(spent) === tokens && spent.lost.calls === 0) return []
  return [`undisturbed run, but the journal records ${spent.calls} requests and ${totalTokens(spent)} tokens`]
}

function totalSpend(outcome: ChaosResult): Spend {
  return outcome.journal.reduce(addSpend, NO_SPEND)
}

function responseText({ result }: ChaosResult): string {
  return (result?.output as { response?: string } | null)?.response ?? ''
}

function maskUnknown(text: string): string {
  return text.replaceAll('charge unknown', 'charge ok')
}

function countUnknown({ journal }: ChaosResult): number {
  return journal.filter((event) => isEvent(event, 'tool:error') && event.data.detail.code === 'outcome_unknown').length
}

function usedTools({ ledger }: ChaosResult): string[] {
  return [...ledger.effects.values()].map(({ tool }) => tool).sort()
}

function sessionRows({ sessions }: ChaosResult): string[] {
  return sessions
    .map(({ session_id, status, segment, turn_count, text }) =>
      [session_id, status, segment, turn_count, maskUnknown(text)].join(' '),
    )
    .sort()
}
