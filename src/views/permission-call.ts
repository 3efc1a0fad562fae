import type { Gate } from '../kernel/gate.ts'
import type { ChangePreview } from '../kernel/tool.ts'

/* The tool call that a permission question is about, for every surface that shows one. */

/** A change of a file with its diff. */
export type DiffPreview = ChangePreview & Required<Pick<ChangePreview, 'diff'>>

export interface PermissionCall {
  /** `Bash(npm test)`, as the question names it. */
  text: string
  tool: string
  /** The path, command or address, after resolving it; `undefined` for tools without one. */
  subject: string | undefined
  /** All arguments: the approval covers them. */
  input: unknown
  reason: string | undefined
  /** The source of the agent's definition: a file, a model or the program. */
  agentSource: string | undefined
  /** Binds the answer to exactly this call. */
  fingerprint: string | undefined
  /** The change to a file, as a diff against its content when the question was asked. */
  change: DiffPreview | undefined
  /** The answers that it takes. */
  answers: readonly string[]
}

/** The tool call of a permission gate; `undefined` for other gates. */
export function permissionCallFrom({ detail }: Pick<Gate, 'detail'>): PermissionCall | undefined {
  if (typeof detail !== 'object' || detail === null || !('permission' in detail)) return undefined
  const { permission: text, input, reason, exact, answers, change, agent_from } = detail as Record<string, unknown>
  if (typeof text !== 'string') return undefined
  const open = text.indexOf('(')
  return {
    text,
    tool: open === -1 ? text : text.slice(0, open),
    subject: open === -1 ? undefined : text.slice(open + 1, -1),
    input,
    reason: typeof reason === 'string' ? reason : undefined,
    agentSource: typeof agent_from === 'string' ? agent_from : undefined,
    fingerprint: typeof exact === 'string' ? exact : undefined,
    change: isDiffPreview(change) ? change : undefined,
    answers: Array.isArray(answers) ? answers.map(String) : [],
  }
}

function isDiffPreview(change: unknown): change is DiffPreview {
  if (typeof change !== 'object' || change === null) return false
  const { path, diff } = change as Partial<ChangePreview>
  return typeof path === 'string' && typeof diff === 'string'
}

/** Fields whose text a diff of the tool has: of a new text every line, of a replaced part both. */
const SHOWN_BY_DIFF: ReadonlySet<string> = new Set(['content', 'old_string', 'new_string'])

/** Whether the diff of the call shows what a field of its input has. A diff that was cut or redacted does not. */
export function isShownByDiff({ change }: PermissionCall, field: string): boolean {
  return change !== undefined && change.omitted_lines === undefined && !isRedacted(change) && SHOWN_BY_DIFF.has(field)
}

/** Whether the field is shown whole because the diff, which would show it, has a part left out. */
export function isHiddenInDiff({ change }: PermissionCall, field: string): boolean {
  return change !== undefined && isRedacted(change) && SHOWN_BY_DIFF.has(field)
}

/** A text that looks like a secret is left out of a diff: whoever chose the text could hide code in it. */
function isRedacted({ diff }: DiffPreview): boolean {
  return diff.includes('[redacted')
}

/** A rule is not offered where a deny rule might match the call. */
export function acceptsRule({ answers }: PermissionCall): boolean {
  return answers.length === 0 || answers.some((answer) => answer.endsWith('(pattern)'))
}
