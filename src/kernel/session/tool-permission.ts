import { TroupeError } from '../../errors.ts'
import { isEvent } from '../event.ts'
import { canonicalJson, sha256 } from '../hash.ts'
import { isRuleFor } from '../journal/permission-grant.ts'
import type { PermissionDecision } from '../permission.ts'
import type { ToolCategory, ToolKind } from '../tool.ts'
import type { ToolCallScope } from './tool-call-scope.ts'

/*
 * Whether a call may be made. What the rules say comes from outside; what happens then is here.
 * 1. `ask` becomes a question in the inbox, from any depth; a denial is final for the call.
 * 2. An answer may grant more than the one call: `always` (exactly this again) or a rule such as `Bash(npm test:*)`. Such
 *    grants hold for the run; they are read from its journal, so that a resumed run has them too.
 * 3. A yes is for the call that was shown: its arguments and what they led to. If either is another by the time the
 *    answer is used, it is asked again. A rule lets the call pass only if it covers it; else that is said, and asked again.
 */

/** A call that only needs leave. */
export interface ToolAction {
  tool: { name: string; kind: ToolKind; category: ToolCategory }
  input: unknown
  subject: string | undefined
}

/** Something may turn into another thing as often as it is asked for: then somebody plays with us. */
const MAX_APPROVAL_REQUESTS = 3
const CALL_CHANGED = 'what was approved is no longer what would be done'

/** Returns when the call may be made, with what the rules say about it; throws `denied` when not. */
export async function requirePermission(site: ToolCallScope, action: ToolAction): Promise<PermissionDecision> {
  const { tool, input, subject } = action
  const exact = `${tool.name}:${sha256(canonicalJson([input ?? null, subject ?? null]))}`
  const judged = decidePermission(site, action, exact)
  if (judged.decision === 'allow') return judged
  if (judged.decision === 'deny') throw deniedError(tool.name, judged)
  let before = ''
  for (let time = 1; time <= MAX_APPROVAL_REQUESTS; time++) {
    const { said, shown } = await requestApproval(site, action, { exact, judged, time, before })
    if (isDenial(said, tool.name))
      throw deniedError(tool.name, { ...judged, reason: `a person said no${denialComment(said)}` })
    const now = decidePermission(site, action, exact)
    if (now.decision === 'allow') return now
    if (now.decision === 'deny') throw deniedError(tool.name, now)
    const isRule = typeof said === 'string' && isRuleFor(said, tool.name)
    if (!isRule && shown === exact) return judged
    before = isRule ? uncoveredReason(said.trim(), judged) : CALL_CHANGED
  }
  throw deniedError(tool.name, { ...judged, reason: before })
}

/** The person meant yes, and is told why that was not enough. */
function uncoveredReason(rule: string, { needsExactApproval }: PermissionDecision): string {
  return needsExactApproval
    ? `the rule ${rule} cannot answer it, only a yes to this very call can`
    : `the rule ${rule} does not cover it`
}

function decidePermission(
  { execution, session }: ToolCallScope,
  { tool, subject }: ToolAction,
  fingerprint: string,
): PermissionDecision {
  return execution.ports.permissions.decide({
    agent: session.opening.agent,
    inheritedRules: session.opening.inherited_rules ?? [],
    tool: tool.name,
    subject,
    // A list of what is to be done changes nothing but itself: planning needs it.
    acts: (tool.kind === 'act' || tool.kind === 'idempotent') && tool.category !== 'task_management',
    read_only: session.planMode,
    isRootAgent: session.opening.parent_session_id === null,
    runRules: execution.run.permissions,
    grantedRules: execution.journalIndex.grantedRules(),
    fingerprint,
  })
}

/** What a person says, and which call they were shown: an answer may be older than this execution. */
async function requestApproval(
  site: ToolCallScope,
  { tool, input, subject }: ToolAction,
  { exact, judged, time, before }: { exact: string; judged: PermissionDecision; time: number; before: string },
): Promise<{ said: unknown; shown: unknown }> {
  const { execution, session } = site
  const { name } = session.opening.agent
  const call = subject === undefined ? tool.name : `${tool.name}(${subject})`
  const again = before === CALL_CHANGED ? ' It is no longer what was approved.' : before && ` But ${before}.`
  const question = {
    question: `May ${name} call ${call}?${again}`,
    detail: {
      permission: call,
      exact,
      reason: judged.reason,
      input,
      answers: ['allow', 'always', 'deny', ...(judged.needsExactApproval ? [] : [`${tool.name}(pattern)`])],
    },
  }
  const key = time === 1 ? `${site.key}/permission` : `${site.key}/permission/${time}`
  const said = await execution.waitForGate({ key, signal: site.signal }, question, {
    session_id: session.id,
    agent: name,
  })
  const gate = execution.journalIndex.opening(key)
  const detail = isEvent(gate, 'gate:open') ? (gate.data.detail as { exact?: unknown } | undefined) : undefined
  return { said, shown: detail?.exact }
}

/** Nothing but a clear yes, or a rule about this tool, lets a call pass. */
function isDenial(said: unknown, tool: string): boolean {
  if (said === true) return false
  return typeof said !== 'string' || !(/^(allow|always|yes|y)$/i.test(said.trim()) || isRuleFor(said, tool))
}

function denialComment(said: unknown): string {
  return typeof said === 'string' && !/^(deny|no|n)$/i.test(said.trim()) ? `: ${said}` : ''
}

function deniedError(
  tool: string,
  { reason, allowedRules }: Pick<PermissionDecision, 'reason' | 'allowedRules'>,
): TroupeError {
  const instead = allowedRules.length > 0 ? `allowed: ${allowedRules.join(', ')}` : 'do without it'
  return new TroupeError('denied', `the call of ${tool} was refused: ${reason}`, {
    hint: `this is final for this call; ${instead}`,
    alternatives: [...allowedRules],
  })
}
