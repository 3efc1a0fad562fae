import { TroupeError } from '../../errors.ts'
import { isEvent } from '../event.ts'
import { canonicalJson, sha256 } from '../hash.ts'
import { isRuleFor } from '../journal/permission-grant.ts'
import type { PermissionDecision } from '../permission.ts'
import type { ToolCategory, ToolKind } from '../tool.ts'
import type { ToolCallScope } from './tool-call-scope.ts'

/*
 * Human-in-the-loop permission for one tool call. The rules come from the `permissions` port; this file carries out their
 * decision.
 * 1. `ask` opens a gate, from any depth; a denial is final for the call.
 * 2. An answer may grant more than the one call: `always` (the identical call) or a rule such as `Bash(npm test:*)`. Grants
 *    last for the run; they are read from its journal, so that a resumed run has them too.
 * 3. Prevents TOCTOU: an approval is bound to the call that was shown, its arguments and its subject. If either has changed
 *    by the time the answer is used, the person is asked again. A granted rule must match the call.
 */

/** A resolved call that waits for permission. */
export interface ToolAction {
  tool: { name: string; kind: ToolKind; category: ToolCategory }
  input: unknown
  subject: string | undefined
}

/** Bounds the questions for a call whose subject changes again after each approval. */
const MAX_APPROVAL_REQUESTS = 3
const CALL_CHANGED = 'the call is no longer the one that was approved'

/** Returns the decision that allows the call; throws `denied` otherwise. */
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

/** Why an answered rule does not allow the call. */
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
    // Task lists only change themselves; an agent in plan mode needs them.
    acts: (tool.kind === 'act' || tool.kind === 'idempotent') && tool.category !== 'task_management',
    read_only: session.planMode,
    isRootAgent: session.opening.parent_session_id === null,
    runRules: execution.run.permissions,
    grantedRules: execution.journalIndex.grantedRules(),
    fingerprint,
  })
}

/** The person's answer, and the fingerprint of the call they were shown: the answer may be older than this execution. */
async function requestApproval(
  site: ToolCallScope,
  { tool, input, subject }: ToolAction,
  { exact, judged, time, before }: { exact: string; judged: PermissionDecision; time: number; before: string },
): Promise<{ said: unknown; shown: unknown }> {
  const { execution, session } = site
  const { name } = session.opening.agent
  const call = subject === undefined ? tool.name : `${tool.name}(${subject})`
  const again = before === CALL_CHANGED ? ' The call has changed since it was approved.' : before && ` But ${before}.`
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

/** Only a clear yes, or a rule for this tool, allows a call. */
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
  return new TroupeError('denied', `permission denied for ${tool}: ${reason}`, {
    hint: `this is final for this call; ${instead}`,
    alternatives: [...allowedRules],
  })
}
