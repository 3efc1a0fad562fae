import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { canonicalJson } from '../kernel/hash.ts'
import type { Permissions } from '../kernel/permission.ts'
import type { Tool } from '../kernel/tool.ts'

/*
 * Permission questions of a replay. A call that waits for approval has left nothing but its question: the process that replays may have
 * other rules, or lack the tool, and would not ask, or ask in other words.
 */

/** The detail of a permission question, as `requestApproval` records it. */
interface RecordedQuestion {
  /** The tool, and its subject in parentheses. */
  permission: string
  exact: string
  reason: string
  input: unknown
  answers: readonly string[]
}

function recordedQuestions(events: readonly Event[]): RecordedQuestion[] {
  return events.flatMap((event) => {
    if (!isEvent(event, 'gate:open')) return []
    const detail = event.data.detail as Partial<RecordedQuestion> | undefined
    return detail?.permission !== undefined && detail.exact !== undefined ? [detail as RecordedQuestion] : []
  })
}

/** Asks where the run asked, for the recorded reason. Other calls are left to the rules of this process. */
export function recordedPermissions(permissions: Permissions, events: readonly Event[]): Permissions {
  const questions = new Map(recordedQuestions(events).map((question) => [question.exact, question]))
  return {
    decide(call) {
      const question = questions.get(call.fingerprint)
      // An answer may have granted the call since, by a rule.
      if (!question || call.grantedRules.length > 0) return permissions.decide(call)
      const needsExactApproval = !question.answers.includes(`${call.tool}(pattern)`)
      return {
        decision: 'ask',
        reason: question.reason,
        allowedRules: [],
        ...(needsExactApproval ? { needsExactApproval } : undefined),
      }
    },
  }
}

/** The `subject` of a tool that this process lacks: for each call the one that its question shows. */
export function recordedSubject(tool: string, events: readonly Event[]): Pick<Tool, 'subject'> {
  const subjects = new Map(
    recordedQuestions(events)
      .filter(({ permission }) => permission.startsWith(`${tool}(`))
      .map(({ permission, input }) => [canonicalJson(input ?? null), permission.slice(tool.length + 1, -1)]),
  )
  return subjects.size === 0 ? {} : { subject: (input: unknown) => subjects.get(canonicalJson(input ?? null)) ?? '' }
}
