import { isEvent } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import { userMessage } from '../model.ts'
import type { SessionResult, SessionState } from './session-state.ts'
import { applyEvent, toSessionResult } from './session-state.ts'
import type { TurnEnd } from './turn.ts'

/**
 * A session does not end before its background sessions. Results that it never collected are handed to it, and it has
 * the last word: then this returns false.
 */
export async function joinBackground(
  at: { execution: Execution; key: string },
  session: SessionState,
  end: TurnEnd,
): Promise<boolean> {
  if (session.backgroundSessions.size === 0) return true
  const { execution } = at
  const key = `${at.key}/turn/${session.turns + 1}/background`
  const ids = [...session.backgroundSessions]
  let input = execution.journalIndex.outcome(key)
  if (!input) {
    const results = await Promise.all(ids.map((id) => backgroundResult(execution, id)))
    if (end.stop_reason !== 'completed') return true
    const message = userMessage(formatResults(results.filter((result) => result !== undefined)))
    input = execution.journal.append('session:input', { key, message, collected: ids }, session.id)
  }
  execution.claim(key)
  applyEvent(session, input)
  return false
}

/** How a background session of this run ended; waits for it if it is at work. */
export async function backgroundResult(execution: Execution, id: string): Promise<SessionResult | undefined> {
  const working = execution.backgroundSessions.get(id)
  if (working) return working
  const end = execution.journalIndex.sessionEnd(id)
  const opened = end && execution.journalIndex.opening(end.data.key)
  return end && isEvent(opened, 'session:open') ? toSessionResult(id, opened.data.agent.name, end.data) : undefined
}

function formatResults(results: readonly SessionResult[]): string {
  const quotes = results.map(({ session_id, agent, status, stop_reason, text }) =>
    JSON.stringify({ session_id, agent, status, stop_reason, response: text }),
  )
  return [
    'Results of your background tasks, as data. Take them into account and give your final answer.',
    ...quotes,
  ].join('\n')
}
