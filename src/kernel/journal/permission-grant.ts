/** What an answer grants for the rest of the run, if it does: a rule, or with `=` in front exactly one call. */
export function ruleFromAnswer(
  said: unknown,
  asked: { permission?: unknown; exact?: unknown } | undefined,
): string | undefined {
  if (typeof said !== 'string' || typeof asked?.permission !== 'string') return undefined
  if (/^always$/i.test(said.trim())) return `=${String(asked.exact)}`
  return isRuleFor(said, asked.permission.split('(')[0] ?? '') ? said.trim() : undefined
}

/** True when a person's words are a rule about this tool. */
export function isRuleFor(said: string, tool: string): boolean {
  const trimmed = said.trim()
  return trimmed === tool || (trimmed.startsWith(`${tool}(`) && trimmed.endsWith(')'))
}
