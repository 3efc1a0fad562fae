import { verifyJournal } from '../../src/kernel/verify.ts'
import type { Played } from './play.ts'

/** What an undisturbed collaboration comes to, whatever the order of its steps. */
export interface CollaborationOutcome {
  output: string
  calls: number
  told: string[]
  sessions: string[]
}

export function outcomeOf(played: Played): CollaborationOutcome {
  return {
    output: outputOf(played),
    calls: played.ledger.calls.length,
    told: toldIn(played),
    sessions: played.sessions
      .map(
        ({ session_id, status, segment, turn_count, text }) =>
          `${session_id} ${status} ${segment} ${turn_count} ${timeless(text)}`,
      )
      .sort(),
  }
}

/** Everything that is wrong with how a disturbed collaboration went. */
export function wrongs(played: Played, expected: CollaborationOutcome): string[] {
  const { plan, ledger, inFlight, errors, result } = played
  const found = errors.map((error) => `died of ${String(error)}`)
  if (result?.status !== 'completed') return [...found, `ended ${result?.status}: ${JSON.stringify(result?.error)}`]
  const now = outcomeOf(played)
  if (now.output !== expected.output) found.push(`came to ${now.output} instead of ${expected.output}`)
  if (now.sessions.join('\n') !== expected.sessions.join('\n'))
    found.push(`sessions differ: ${now.sessions.join('; ')}`)
  if (now.told.join('\n') !== expected.told.join('\n')) found.push(`told ${now.told.join('; ')}`)
  for (const { seq, rule, message } of verifyJournal(played.journal)) found.push(`journal ${seq} ${rule}: ${message}`)
  if (plan.faults.some(({ kind }) => kind === 'power')) return found
  for (const { key, again } of ledger.calls) if (again) found.push(`${key} had its answer and was called again`)
  if (ledger.calls.length > expected.calls + inFlight) {
    found.push(`${ledger.calls.length} calls, ${expected.calls} needed, ${inFlight} in flight at the end of a process`)
  }
  return found
}

function outputOf({ result }: Played): string {
  return timeless(JSON.stringify(result?.output))
}

/** How long it took is all that may differ. */
function timeless(text: string): string {
  return text.replace(/("duration_ms\\*":)\d+/g, '$10')
}

/** What was told, each thing once. */
function toldIn({ journal }: Played): string[] {
  return journal
    .filter(({ type }) => type.startsWith('tool:collaborative:'))
    .map(({ type, data }) => `${type} ${JSON.stringify(data)}`)
    .sort()
}
