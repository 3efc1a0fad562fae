import { verifyJournal } from '../../src/audit/verify-journal.ts'
import type { ChaosResult } from './chaos-run.ts'
import { isComplete } from './chaos-run.ts'

/** Result of an undisturbed collaboration, independent of the order of its steps. */
export interface CollaborationOutcome {
  output: string
  calls: number
  events: string[]
  sessions: string[]
}

export function collaborationOutcome(outcome: ChaosResult): CollaborationOutcome {
  return {
    output: outputText(outcome),
    calls: outcome.ledger.calls.length,
    events: collaborationEvents(outcome),
    sessions: outcome.sessions
      .map(
        ({ session_id, status, segment, turn_count, text }) =>
          `${session_id} ${status} ${segment} ${turn_count} ${maskDuration(text)}`,
      )
      .sort(),
  }
}

/** All problems of a disturbed collaboration compared with the expected one. */
export function collaborationProblems(outcome: ChaosResult, expected: CollaborationOutcome): string[] {
  const { plan, ledger, inFlight, errors, result } = outcome
  const found = errors.map((error) => `process failed with ${String(error)}`)
  if (!isComplete(result)) return [...found, `ended ${result?.status}: ${JSON.stringify(result?.error)}`]
  const actual = collaborationOutcome(outcome)
  if (actual.output !== expected.output) found.push(`returned ${actual.output} instead of ${expected.output}`)
  if (actual.sessions.join('\n') !== expected.sessions.join('\n'))
    found.push(`sessions differ: ${actual.sessions.join('; ')}`)
  if (actual.events.join('\n') !== expected.events.join('\n')) found.push(`events differ: ${actual.events.join('; ')}`)
  for (const { seq, rule, message } of verifyJournal(outcome.journal)) found.push(`journal ${seq} ${rule}: ${message}`)
  if (plan.faults.some(({ kind }) => kind === 'power')) return found
  for (const { key, repeated } of ledger.calls) if (repeated) found.push(`${key} was answered and requested again`)
  if (ledger.calls.length > expected.calls + inFlight) {
    found.push(`${ledger.calls.length} requests, expected ${expected.calls} and ${inFlight} in flight`)
  }
  return found
}

function outputText({ result }: ChaosResult): string {
  return maskDuration(JSON.stringify(result?.output))
}

/** The duration is the only value that may differ. */
function maskDuration(text: string): string {
  return text.replace(/("duration_ms\\*":)\d+/g, '$10')
}

function collaborationEvents({ journal }: ChaosResult): string[] {
  return journal
    .filter(({ type }) => /^(tool:collaborative|consult):/.test(type))
    .map(({ type, data }) => `${type} ${JSON.stringify(data)}`)
    .sort()
}
