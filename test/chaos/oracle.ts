import { verifyJournal } from '../../src/audit/verify-journal.ts'
import { isEvent } from '../../src/kernel/event.ts'
import type { Spend } from '../../src/kernel/spend.ts'
import { addSpend, NO_SPEND, totalTokens } from '../../src/kernel/spend.ts'
import type { ChaosResult } from './chaos-run.ts'

/** What an undisturbed run looks like, whatever the order of its steps. */
export interface ExpectedRun {
  response: string
  calls: number
  effects: string[]
  sessions: string[]
}

export function expectedFrom(played: ChaosResult): ExpectedRun {
  return {
    response: responseText(played),
    calls: played.ledger.calls.length,
    effects: usedTools(played),
    sessions: sessionRows(played),
  }
}

/** Everything that is wrong with how a disturbed run went; empty when nothing is. */
export function runProblems(played: ChaosResult, expected: ExpectedRun): string[] {
  const { plan } = played
  const powerLost = plan.faults.some(({ kind }) => kind === 'power')
  const disturbed = plan.faults.some(({ kind }) => kind !== 'none' && kind !== 'jump')
  return [
    ...outcomeProblems(played, expected),
    ...actionProblems(played, expected),
    ...sessionProblems(played, expected),
    ...played.unsynced.map((type) => `${type} was not synced to disk`),
    ...verifyJournal(played.journal).map(({ seq, rule, message }) => `journal ${seq} ${rule}: ${message}`),
    ...(powerLost ? [] : spendProblems(played, expected)),
    ...(disturbed ? [] : exactSpendProblems(played)),
  ]
}

function outcomeProblems(played: ChaosResult, expected: ExpectedRun): string[] {
  const found = played.errors
    .filter((error) => !isExpectedError(error, played))
    .map((error) => `died of ${String(error)}`)
  if (played.result?.status !== 'completed') {
    return [...found, `ended ${played.result?.status}: ${JSON.stringify(played.result?.error)}`]
  }
  if (maskUnknown(responseText(played)) !== maskUnknown(expected.response)) {
    found.push(`answered ${responseText(played)} instead of ${expected.response}`)
  }
  for (const event of played.journal) {
    if (!isEvent(event, 'tool:error') || event.data.detail.code !== 'outcome_unknown') continue
    if (event.data.tool !== 'charge') found.push(`${event.data.tool} can be recovered and was reported as unknown`)
  }
  return found
}

/** A full disk stops the process; one that comes second, was taken over, or lost its lease to a set clock is refused. */
function isExpectedError(error: unknown, { plan }: ChaosResult): boolean {
  const code = (error as { code?: string }).code
  const kinds = plan.faults.map(({ kind }) => kind)
  if (code === 'store_full') return kinds.includes('full')
  if (code === 'run_busy' && plan.answer_timing === 'elsewhere') return true
  const rivals = kinds.includes('suspend') || (kinds.includes('jump') && plan.answer_timing === 'elsewhere')
  return (code === 'lease_lost' || code === 'run_busy') && rivals
}

function actionProblems(played: ChaosResult, expected: ExpectedRun): string[] {
  const found: string[] = []
  for (const [key, { tool, times }] of played.ledger.effects) {
    // Who wakes up in the middle of an action can only be refused by the other side, by the idempotency key.
    const most = played.ledger.suspended_calls.has(key) && tool === 'ship' ? 2 : 1
    if (tool !== 'put' && times > most) found.push(`${tool} ${key} was done ${times} times`)
  }
  const unknown = countUnknown(played)
  const missing = expected.effects.length - usedTools(played).length
  if (missing > unknown) found.push(`${missing} effects are missing, ${unknown} are in doubt`)
  return found
}

function sessionProblems(played: ChaosResult, expected: ExpectedRun): string[] {
  const found: string[] = []
  const sessions = sessionRows(played)
  if (sessions.join('\n') !== expected.sessions.join('\n')) found.push(`sessions differ: ${sessions.join('; ')}`)
  if (!played.journal.some((event) => isEvent(event, 'gate:answer'))) found.push('the answer to the gate is lost')
  return found
}

function spendProblems(played: ChaosResult, expected: ExpectedRun): string[] {
  const { ledger, inFlight } = played
  const found = ledger.calls.filter(({ again }) => again).map(({ key }) => `${key} had its answer and was called again`)
  if (ledger.calls.length > expected.calls + inFlight) {
    found.push(`${ledger.calls.length} calls, ${expected.calls} needed, ${inFlight} in flight at the end of a process`)
  }
  const spent = totalSpend(played)
  const tokens = ledger.calls.reduce((sum, { usage }) => sum + totalTokens(usage), 0)
  if (spent.calls + spent.lost.calls < ledger.calls.length) found.push('the ledger knows of fewer calls than were made')
  if (totalTokens(spent) + spent.lost.tokens < tokens) found.push('the ledger knows of fewer tokens than were used')
  return found
}

function exactSpendProblems(played: ChaosResult): string[] {
  const spent = totalSpend(played)
  const tokens = played.ledger.calls.reduce((sum, { usage }) => sum + totalTokens(usage), 0)
  if (spent.calls === played.ledger.calls.length && totalTokens(spent) === tokens && spent.lost.calls === 0) return []
  return [`undisturbed, the ledger says ${spent.calls} calls and ${totalTokens(spent)} tokens`]
}

function totalSpend(played: ChaosResult): Spend {
  return played.journal.reduce(addSpend, NO_SPEND)
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
