import type { Event } from '../kernel/event.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Redactor } from '../kernel/redactor.ts'
import { redactJson } from '../kernel/redactor.ts'
import { loadPatternViews } from '../views/pattern-views.ts'
import type { AgentSession, MultiAgentSession } from '../views/session-file/agent-session.ts'
import { sessionFileFrom } from '../views/session-file/session-file.ts'

/**
 * The session file of a journal. The journal has no secrets of tool results; instructions and arguments, which it keeps as they were
 * given, are redacted here, because a file leaves the machine.
 */
export async function exportSession(
  events: readonly Event[],
  patterns: readonly Pattern[],
  redactor: Redactor | undefined,
): Promise<AgentSession | MultiAgentSession> {
  const session = sessionFileFrom(events, await loadPatternViews(patterns))
  return redactor ? (redactJson(redactor, session) as AgentSession | MultiAgentSession) : session
}
