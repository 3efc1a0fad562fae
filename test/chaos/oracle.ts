import { isEvent } from '../../src/kernel/event.ts'
import type { Spend } from '../../src/kernel/ledger.ts'
import { NO_SPEND, spend, tokensOf } from '../../src/kernel/ledger.ts'
import { verifyJournal } from '../../src/kernel/verify.ts'
import type { Played } from './play.ts'

/** What an undisturbed run looks like, whatever the order of its steps. */
export interface Expected {
  response: string
  calls: number
  effects: string[]
  sessions: string[]
}

export function expectedOf(played: Played): Expected {
  return {
    response: responseOf(played),
    calls: played.ledger.calls.length,
    effects: toolsUsed(played),
    sessions: sessionsOf(played),
  }
}

/** Everything that is wrong with how a disturbed run went; empty when nothing is. */
export function complaints(played: Played, expected: Expected): string[] {
  const { plan } = played
  const powerLost = plan.faults.some(({ kind }) => kind === 'power')
  const disturbed = plan.faults.some(({ kind }) => kind !== 'none' && kind !== 'jump')
  return [
    ...endsRight(played, expected),
    ...actsOnce(played, expected),
    ...losesNothing(played, expected),
    ...played.unsynced.map((type) => `${type} was not synced to disk`),
    ...verifyJournal(played.journal).map(({ seq, rule, message }) => `journal ${seq} ${rule}: ${message}`),
    ...(powerLost ? [] : paysOnce(played, expected)),
    ...(disturbed ? [] : paysExactly(played)),
  ]
}

function endsRight(played: Played, expected: Expected): string[] {
  const found = played.errors.filter((error) => !excused(error, played)).map((error) => `died of ${String(error)}`)
  if (played.result?.status !== 'completed') {
    return [...found, `ended ${played.result?.status}: ${JSON.stringify(played.result?.error)}`]
  }
  if (withoutDoubt(responseOf(played)) !== withoutDoubt(expected.response)) {
    found.push(`answered ${responseOf(played)} instead of ${expected.response}`)
  }
  for (const event of played.journal) {
    if (!isEvent(event, 'tool:error') || event.data.detail.code !== 'outcome_unknown') continue
    if (event.data.tool !== 'charge') found.push(`${event.data.tool} can be recovered and was reported as unknown`)
  }
  return found
}

/** A full disk stops the process; one that comes second, was taken over, or lost its lease to a set clock is refused. */
function excused(error: unknown, { plan }: Played): boolean {
  const code = (error as { code?: string }).code
  const kinds = plan.faults.map(({ kind }) => kind)
  if (code === 'store_full') return kinds.includes('full')
  if (code === 'run_busy' && plan.answers === 'elsewhere') return true
  const rivals = kinds.includes('suspend') || (kinds.includes('jump') && plan.answers === 'elsewhere')
  return (code === 'lease_lost' || code === 'run_busy') && rivals
}

function actsOnce(played: Played, expected: Expected): string[] {
  const found: string[] = []
  for (const [key, { tool, times }] of played.ledger.effects) {
    // Who wakes up in the middle of an action can only be refused by the other side, by the idempotency key.
    const most = played.ledger.asleep.has(key) && tool === 'ship' ? 2 : 1
    if (tool !== 'put' && times > most) found.push(`${tool} ${key} was done ${times} times`)
  }
  const unknown = unknownOf(played)
  const missing = expected.effects.length - toolsUsed(played).length
  if (missing > unknown) found.push(`${missing} effects are missing, ${unknown} are in doubt`)
  return found
}

function losesNothing(played: Played, expected: Expected): string[] {
  const found: string[] = []
  const sessions = sessionsOf(played)
  if (sessions.join('\n') !== expected.sessions.join('\n')) found.push(`sessions differ: ${sessions.join('; ')}`)
  if (!played.journal.some((event) => isEvent(event, 'gate:answer'))) found.push('the answer to the gate is lost')
  return found
}

function paysOnce(played: Played, expected: Expected): string[] {
  const { ledger, inFlight } = played
  const found = ledger.calls.filter(({ again }) => again).map(({ key }) => `${key} had its answer and was called again`)
  if (ledger.calls.length > expected.calls + inFlight) {
    found.push(`${ledger.calls.length} calls, ${expected.calls} needed, ${inFlight} in flight at the end of a process`)
  }
  const spent = spentOf(played)
  const tokens = ledger.calls.reduce((sum, { usage }) => sum + tokensOf(usage), 0)
  if (spent.calls + spent.lost.calls < ledger.calls.length) found.push('the ledger knows of fewer calls than were made')
  if (tokensOf(spent) + spent.lost.tokens < tokens) found.push('the ledger knows of fewer tokens than were used')
  return found
}

function paysExactly(played: Played): string[] {
  const spent = spentOf(played)
  const tokens = played.ledger.calls.reduce((sum, { usage }) => sum + tokensOf(usage), 0)
  if (spent.calls === played.ledger.calls.length && tokensOf(spent) === tokens && spent.lost.calls === 0) return []
  return [`undisturbed, the ledger says ${spent.calls} calls and ${tokensOf(spent)} tokens`]
}

function spentOf(played: Played): Spend {
  return played.journal.reduce(spend, NO_SPEND)
}

function responseOf({ result }: Played): string {
  return (result?.output as { response?: string } | null)?.response ?? ''
}

function withoutDoubt(text: string): string {
  return text.replaceAll('charge unknown', 'charge ok')
}

function unknownOf({ journal }: Played): number {
  return journal.filter((event) => isEvent(event, 'tool:error') && event.data.detail.code === 'outcome_unknown').length
}

function toolsUsed({ ledger }: Played): string[] {
  return [...ledger.effects.values()].map(({ tool }) => tool).sort()
}

function sessionsOf({ sessions }: Played): string[] {
  return sessions
    .map(({ session_id, status, segment, turn_count, text }) =>
      [session_id, status, segment, turn_count, withoutDoubt(text)].join(' '),
    )
    .sort()
}
