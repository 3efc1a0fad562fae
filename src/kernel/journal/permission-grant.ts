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
