import type { Agent } from '../../../kernel/agent.ts'

/** Globs cannot contain a parenthesis in a permission rule: the rule would end there. */
const RULE_SAFE = /^[^()]+$/

/**
 * A developer whose tools write only within the scope of its task. Commands can write anywhere in its worktree: what they change outside is
 * undone afterwards.
 */
export function scopedDeveloper(agent: Agent, scope: readonly string[], timeout_ms: number): Agent {
  const rules = scope
    .filter((pattern) => RULE_SAFE.test(pattern))
    .flatMap((pattern) => [`Write(${pattern})`, `Edit(${pattern})`])
  const { allow = [], ...rest } = agent.permissions ?? {}
  return {
    ...agent,
    permissions: { ...rest, allow: [...allow.filter((rule) => !/^(?:Write|Edit)\b/.test(rule)), ...rules] },
    timeout_ms: Math.min(agent.timeout_ms ?? Number.POSITIVE_INFINITY, timeout_ms),
  }
}
