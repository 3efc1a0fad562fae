import { verifyJournal } from '../../src/audit/verify-journal.ts'
import type { ChaosResult } from './chaos-run.ts'

/** What an undisturbed collaboration comes to, whatever the order of its steps. */
export interface CollaborationOutcome {
  output: string
  calls: number
  events: string[]
  sessions: string[]
}

export function collaborationOutcome(played: ChaosResult): CollaborationOutcome {
  return {
    output: outputText(played),
    calls: played.ledger.calls.length,
    events: collaborationEvents(played),
    sessions: played.sessions
      .map(
        ({ session_id, status, segment, turn_count, text }) =>
          `${session_id} ${status} ${segment} ${turn_count} ${maskDuration(text)}`,
      )
      .sort(),
  }
}

/** Everything that is wrong with how a disturbed collaboration went. */
export function collaborationProblems(played: ChaosResult, expected: CollaborationOutcome): string[] {
  const { plan, ledger, inFlight, errors, result } = played
  const found = errors.map((error) => `died of ${String(error)}`)
  if (result?.status !== 'completed') return [...found, `ended ${result?.status}: ${JSON.stringify(result?.error)}`]
  const now = collaborationOutcome(played)
  if (now.output !== expected.output) found.push(`came to ${now.output} instead of ${expected.output}`)
  if (now.sessions.join('\n') !== expected.sessions.join('\n'))
    found.push(`sessions differ: ${now.sessions.join('; ')}`)
  if (now.events.join('\n') !== expected.events.join('\n')) found.push(`told ${now.events.join('; ')}`)
  for (const { seq, rule, message } of verifyJournal(played.journal)) found.push(`journal ${seq} ${rule}: ${message}`)
  if (plan.faults.some(({ kind }) => kind === 'power')) return found
  for (const { key, again } of ledger.calls) if (again) found.push(`${key} had its answer and was called again`)
  if (ledger.calls.length > expected.calls + inFlight) {
    found.push(`${ledger.calls.length} calls, ${expected.calls} needed, ${inFlight} in flight at the end of a process`)
  }
  return found
}

function outputText({ result }: ChaosResult): string {
  return maskDuration(JSON.stringify(result?.output))
}

/** How long it took is all that may differ. */
function maskDuration(text: string): string {
  return text.replace(/("duration_ms\\*":)\d+/g, '$10')
}

/** What was told, each thing once. */
function collaborationEvents({ journal }: ChaosResult): string[] {
  return journal
    .filter(({ type }) => type.startsWith('tool:collaborative:'))
    .map(({ type, data }) => `${type} ${JSON.stringify(data)}`)
    .sort()
}
