import { TroupeError } from '../../errors.ts'
import { agentSource, formatAgentName } from '../../kernel/agent-name.ts'
import { isEvent } from '../../kernel/event.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import { isDenial, isRuleFor } from '../../kernel/journal/permission-grant.ts'
import type { PermissionDecision } from '../../kernel/permission.ts'
import type { ChangePreview, ToolCategory, ToolKind } from '../../kernel/tool.ts'
import type { ToolCallScope } from './tool-call-scope.ts'

/*
 * Human-in-the-loop permission for one tool call. The rules come from the `permissions` port; this file carries out their
 * decision.
 * 1. `ask` opens a gate, from any depth; a denial is final for the call.
 * 2. An answer may grant more than the one call: `always` (the identical call) or a rule such as `Bash(npm test:*)`. Grants
 *    last for the run; they are read from its journal, so that a resumed run has them too.
 * 3. Prevents TOCTOU: an approval is bound to the call that was shown, its arguments and its subject. If either has changed
 *    by the time the answer is used, the person is asked again, and so is a change of a file whose content is no longer the one that
 *    the diff was shown for. A granted rule must match the call.
 */

/** A resolved call that waits for permission. */
export interface ToolAction {
  tool: { name: string; kind: ToolKind; category: ToolCategory }
  input: unknown
  subject: string | undefined
  /** The agents that a call of a pattern names. */
  agents?: readonly string[]
  /** The tool itself wants a person to approve the call. */
  needsApproval?: boolean
  /** The change that the call would make to a file. */
  preview?(): Promise<ChangePreview | undefined> | undefined
}

/** Bounds the questions for a call whose subject changes again after each approval. */
const MAX_APPROVAL_REQUESTS = 3
const CALL_CHANGED = 'the call is no longer the one that was approved'
/** How a hidden secret begins: two lines that differ in it only look alike. */
const REDACTED = '[redacted'
const FILE_CHANGED = 'the file is no longer the one whose change was approved'

/** Returns the decision that allows the call; throws `denied` otherwise. */
export async function requirePermission(scope: ToolCallScope, action: ToolAction): Promise<PermissionDecision> {
  const { tool, input, subject } = action
  const fingerprint = `${tool.name}:${sha256(canonicalJson([input ?? null, subject ?? null]))}`
  const decision = decidePermission(scope, action, fingerprint)
  // A call that was asked about in an earlier execution: its `always` allows it, but only for the content that was shown.
  const isAnswered = scope.execution.journalIndex.outcome(`${scope.key}/permission`) !== undefined
  if (decision.decision === 'allow' && !isAnswered) return decision
  if (decision.decision === 'deny') throw deniedError(tool.name, decision)
  requireNotDenied(scope, { tool: tool.name, fingerprint, decision })
  let askAgainReason = ''
  for (let attempt = 1; attempt <= MAX_APPROVAL_REQUESTS; attempt++) {
    const request = { fingerprint, decision, attempt, askAgainReason }
    const { answer, shownFingerprint, shownChange } = await requestApproval(scope, action, request)
    if (isDenial(answer, tool.name)) {
      throw deniedError(tool.name, { ...decision, reason: `a person said no${denialComment(answer)}` })
    }
    const updated = decidePermission(scope, action, fingerprint)
    if (updated.decision === 'deny') throw deniedError(tool.name, updated)
    const isRule = typeof answer === 'string' && isRuleFor(answer, tool.name)
    const current = isRule ? undefined : await previewChange(scope, action)
    if (!isRule && !isSameChange(shownChange, current)) {
      askAgainReason = FILE_CHANGED
      continue
    }
    const approved = current?.base === undefined ? undefined : { approvedBase: current.base }
    if (updated.decision === 'allow') return { ...updated, ...approved }
    if (!isRule && shownFingerprint === fingerprint) return { ...decision, ...approved }
    askAgainReason = isRule ? uncoveredReason(answer.trim(), decision) : CALL_CHANGED
  }
  throw deniedError(tool.name, { ...decision, reason: askAgainReason })
}

/** A denial is final: a model that repeats the call must not wear the person down until they agree. */
function requireNotDenied(
  { execution, key }: ToolCallScope,
  { tool, fingerprint, decision }: { tool: string; fingerprint: string; decision: PermissionDecision },
): void {
  const { journalIndex } = execution
  // A call that was already asked about has its own answer, now or to come.
  if (!journalIndex.deniedCalls().has(fingerprint) || journalIndex.opening(`${key}/permission`)) return
  const comment = denialComment(journalIndex.deniedCalls().get(fingerprint))
  throw deniedError(tool, { ...decision, reason: `a person already said no to this call in this run${comment}` })
}

/** Why an answered rule does not allow the call. */
function uncoveredReason(rule: string, { needsExactApproval }: PermissionDecision): string {
  return needsExactApproval
    ? `the rule ${rule} cannot allow it; only an approval of this exact call can`
    : `the rule ${rule} does not match it`
}

function decidePermission(
  { execution, session }: ToolCallScope,
  { tool, subject, agents, needsApproval }: ToolAction,
  fingerprint: string,
): PermissionDecision {
  return execution.ports.permissions.decide({
    agent: session.opening.agent,
    inheritedRules: [...(session.opening.inherited_rules ?? []), ...(needsApproval ? [{ ask: [tool.name] }] : [])],
    tool: tool.name,
    subject,
    ...(agents ? { agents } : undefined),
    // Task lists only change themselves; an agent in plan mode needs them.
    acts: (tool.kind === 'act' || tool.kind === 'idempotent') && tool.category !== 'task_management',
    read_only: session.planMode,
    isRootAgent: session.opening.parent_session_id === null,
    runRules: execution.run.permissions,
    grantedRules: execution.journalIndex.grantedRules(),
    fingerprint,
  })
}

interface ApprovalRequest {
  fingerprint: string
  decision: PermissionDecision
  attempt: number
  askAgainReason: string
}

/** A person's answer, which may be older than this execution. */
interface Approval {
  answer: unknown
  /** The call they were shown. */
  shownFingerprint: unknown
  shownChange: ShownDetail['change']
}

async function requestApproval(
  scope: ToolCallScope,
  action: ToolAction,
  { fingerprint, decision, attempt, askAgainReason }: ApprovalRequest,
): Promise<Approval> {
  const { execution, session, signal, key: callKey } = scope
  const { tool, input, subject } = action
  const key = attempt === 1 ? `${callKey}/permission` : `${callKey}/permission/${attempt}`
  const change = execution.journalIndex.opening(key) ? undefined : await previewChange(scope, action)
  const agent = session.opening.agent.name
  const call = subject === undefined ? tool.name : `${tool.name}(${subject})`
  const question = {
    question: `May ${formatAgentName(session.opening.agent)} call ${call}?${askAgainText(askAgainReason)}`,
    detail: {
      permission: call,
      agent_from: agentSource(session.opening.agent),
      exact: fingerprint,
      reason: decision.reason,
      input,
      ...(change ? { change } : undefined),
      answers: ['allow', 'always', 'deny', ...(decision.needsExactApproval ? [] : [`${tool.name}(pattern)`])],
    },
  }
  const answer = await execution.waitForGate({ key, signal }, question, { session_id: session.id, agent })
  const gate = execution.journalIndex.opening(key)
  const detail = isEvent(gate, 'gate:open') ? (gate.data.detail as ShownDetail | undefined) : undefined
  return { answer, shownFingerprint: detail?.exact, shownChange: detail?.change }
}

/**
 * Whether a change of a file is the one that was shown. Another approved call may have changed the file elsewhere meanwhile: then the diff must be
 * the same at another line, and shown whole as it is.
 */
function isSameChange(shown: Partial<ChangePreview> | undefined, current: ChangePreview | undefined): boolean {
  if (shown?.base === current?.base) return true
  if (shown?.diff === undefined || current?.diff === undefined || shown.omitted_lines || current.omitted_lines)
    return false
  return !shown.diff.includes(REDACTED) && withoutLineNumbers(shown.diff) === withoutLineNumbers(current.diff)
}

function withoutLineNumbers(diff: string): string {
  return diff.replaceAll(/^@@.*$/gm, '@@')
}

interface ShownDetail {
  exact?: unknown
  change?: Partial<ChangePreview>
}

/** A preview that fails is left out: the question shows the whole call, too. */
async function previewChange({ execution }: ToolCallScope, action: ToolAction): Promise<ChangePreview | undefined> {
  const { preview } = action
  if (!preview) return undefined
  return execution.runEffect(async () => {
    try {
      const change = await preview()
      const { redactor } = execution.ports
      if (change?.diff === undefined || !redactor) return change
      return { ...change, diff: redactor.redact(change.diff, '') }
    } catch {
      return undefined
    }
  })
}

function askAgainText(reason: string): string {
  if (reason === CALL_CHANGED) return ' The call has changed since it was approved.'
  if (reason === FILE_CHANGED) return ' The file has changed since you approved.'
  return reason && ` But ${reason}.`
}

function denialComment(answer: unknown): string {
  return typeof answer === 'string' && !/^(deny|no|n)$/i.test(answer.trim()) ? `: ${answer}` : ''
}

function deniedError(
  tool: string,
  { reason, allowedRules }: Pick<PermissionDecision, 'reason' | 'allowedRules'>,
): TroupeError {
  const instead = allowedRules.length > 0 ? `allowed: ${allowedRules.join(', ')}` : 'do without it'
  return new TroupeError('denied', `permission denied for the tool ${tool}: ${reason}`, {
    hint: `this is final for this call; ${instead}`,
    alternatives: [...allowedRules],
  })
}
