/** The rule that an answer grants for the rest of the run, if it does. */
export function grantedRule(said: unknown, asked: unknown): string | undefined {
  if (typeof said !== 'string' || typeof asked !== 'string') return undefined
  if (/^always$/i.test(said.trim())) return asked
  return isRuleFor(said, asked.split('(')[0] ?? '') ? said.trim() : undefined
}

/** True when a person's words are a rule about this tool. */
export function isRuleFor(said: string, tool: string): boolean {
  const trimmed = said.trim()
  return trimmed === tool || (trimmed.startsWith(`${tool}(`) && trimmed.endsWith(')'))
}
