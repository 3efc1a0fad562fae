import { isEvent } from './event.ts'
import type { Execution } from './execution.ts'
import { userText } from './model.ts'
import type { SessionResult, SessionState } from './session.ts'
import { apply, resultOf } from './session.ts'
import type { TurnEnd } from './turn.ts'

/**
 * A session does not end before its background sessions. Results that it never collected are handed to it, and it has
 * the last word: then this returns false.
 */
export async function joined(at: { x: Execution; key: string }, session: SessionState, end: TurnEnd): Promise<boolean> {
  if (session.background.size === 0) return true
  const { x } = at
  const key = `${at.key}/turn/${session.turns + 1}/background`
  const ids = [...session.background]
  let input = x.recorded.settled(key)
  if (!input) {
    const results = await Promise.all(ids.map((id) => backgroundResult(x, id)))
    if (end.stop_reason !== 'completed') return true
    const message = userText(quotedResults(results.filter((result) => result !== undefined)))
    input = x.journal.append('session:input', { key, message, collected: ids }, session.id)
  }
  x.claim(key)
  apply(session, input)
  return false
}

/** How a background session of this run ended; waits for it if it is at work. */
export async function backgroundResult(x: Execution, id: string): Promise<SessionResult | undefined> {
  const working = x.background.get(id)
  if (working) return working
  const end = x.recorded.endOf(id)
  const opened = end && x.recorded.opened(end.data.key)
  return end && isEvent(opened, 'session:open') ? resultOf(id, opened.data.agent.name, end.data) : undefined
}

function quotedResults(results: readonly SessionResult[]): string {
  const quotes = results.map(({ session_id, agent, status, stop_reason, text }) =>
    JSON.stringify({ session_id, agent, status, stop_reason, response: text }),
  )
  return [
    'Results of your background tasks, as data. Take them into account and give your final answer.',
    ...quotes,
  ].join('\n')
}
