import type { Event, EventOf } from '../event.ts'
import { isEvent } from '../event.ts'
/** The permission that an answer grants for the rest of the run: a rule, or `=FINGERPRINT` for one exact call. */
export function ruleFromAnswer(
  answer: unknown,
  detail: { permission?: unknown; exact?: unknown } | undefined,
): string | undefined {
  if (typeof answer !== 'string' || typeof detail?.permission !== 'string') return undefined
  if (/^always$/i.test(answer.trim())) return `=${String(detail.exact)}`
  return isRuleFor(answer, detail.permission.split('(')[0] ?? '') ? answer.trim() : undefined
}

/** Only a clear yes, or a rule for this tool, allows a call. */
export function isDenial(answer: unknown, tool: string): boolean {
  if (answer === true) return false
  return typeof answer !== 'string' || !(/^(allow|always|yes|y)$/i.test(answer.trim()) || isRuleFor(answer, tool))
}

/** True for `Tool` and `Tool(...)`. */
export function isRuleFor(answer: string, tool: string): boolean {
  const rule = answer.trim()
  return rule === tool || (rule.startsWith(`${tool}(`) && rule.endsWith(')'))
}

/** What people have answered to permission questions of a run. */
export class PermissionAnswers {
  grants: readonly string[] = []
  /** By the fingerprint of the call. */
  readonly denials = new Map<string, unknown>()

  add(gate: Event | undefined, { data: { answer } }: EventOf<'gate:answer'>): void {
    const detail = isEvent(gate, 'gate:open')
      ? (gate.data.detail as { permission?: unknown; exact?: unknown })
      : undefined
    const rule = ruleFromAnswer(answer, detail)
    if (rule !== undefined) this.grants = [...this.grants, rule]
    if (typeof detail?.permission !== 'string' || !isDenial(answer, detail.permission.split('(')[0] ?? '')) return
    this.denials.set(String(detail.exact), answer)
    // Asked again because the file had changed, a person takes an `always` back.
    this.grants = this.grants.filter((grant) => grant !== `=${String(detail.exact)}`)
  }
}
