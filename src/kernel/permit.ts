import { TroupeError } from '../errors.ts'
import type { CallSite } from './call-site.ts'
import { isEvent } from './event.ts'
import { isRuleFor } from './grant.ts'
import { canonicalJson, sha256 } from './hash.ts'
import type { PermissionAnswer } from './permission.ts'
import type { ToolCategory, ToolKind } from './tool.ts'

/*
 * Whether a call may be made. What the rules say comes from outside; what happens then is here.
 * 1. `ask` becomes a question in the inbox, from any depth; a denial is final for the call.
 * 2. An answer may grant more than the one call: `always` (exactly this again) or a rule such as `Bash(npm test:*)`. Such
 *    grants hold for the run; they are read from its journal, so that a resumed run has them too.
 * 3. A yes is for the call that was shown: its arguments and what they led to. If either is another by the time the
 *    answer is used, it is asked again. A rule lets the call pass only if it covers it; else that is said, and asked again.
 */

/** A call that only needs leave. */
export interface ProposedAction {
  tool: { name: string; kind: ToolKind; category: ToolCategory }
  input: unknown
  subject: string | undefined
}

/** Something may turn into another thing as often as it is asked for: then somebody plays with us. */
const TIMES_ASKED = 3
const CHANGED = 'what was approved is no longer what would be done'

/** Returns when the call may be made, with what the rules say about it; throws `denied` when not. */
export async function permit(site: CallSite, action: ProposedAction): Promise<PermissionAnswer> {
  const { tool, input, subject } = action
  const exact = `${tool.name}:${sha256(canonicalJson([input ?? null, subject ?? null]))}`
  const judged = judge(site, action, exact)
  if (judged.answer === 'allow') return judged
  if (judged.answer === 'deny') throw denied(tool.name, judged)
  let before = ''
  for (let time = 1; time <= TIMES_ASKED; time++) {
    const { said, shown } = await ask(site, action, { exact, judged, time, before })
    if (isRefusal(said, tool.name)) throw denied(tool.name, { ...judged, reason: `a person said no${wordsOf(said)}` })
    const now = judge(site, action, exact)
    if (now.answer === 'allow') return now
    if (now.answer === 'deny') throw denied(tool.name, now)
    const isRule = typeof said === 'string' && isRuleFor(said, tool.name)
    if (!isRule && shown === exact) return judged
    before = isRule ? uncovered(said.trim(), judged) : CHANGED
  }
  throw denied(tool.name, { ...judged, reason: before })
}

/** The person meant yes, and is told why that was not enough. */
function uncovered(rule: string, { unsure }: PermissionAnswer): string {
  return unsure
    ? `the rule ${rule} cannot answer it, only a yes to this very call can`
    : `the rule ${rule} does not cover it`
}

function judge({ x, session }: CallSite, { tool, subject }: ProposedAction, exact: string): PermissionAnswer {
  return x.ports.permissions.decide({
    agent: session.open.agent,
    held: session.open.held ?? [],
    tool: tool.name,
    subject,
    // A list of what is to be done changes nothing but itself: planning needs it.
    acts: (tool.kind === 'act' || tool.kind === 'idempotent') && tool.category !== 'task_management',
    read_only: session.planning,
    root: session.open.parent_session_id === null,
    recorded: x.run.permissions,
    granted: x.recorded.grants(),
    exact,
  })
}

/** What a person says, and which call they were shown: an answer may be older than this execution. */
async function ask(
  site: CallSite,
  { tool, input, subject }: ProposedAction,
  { exact, judged, time, before }: { exact: string; judged: PermissionAnswer; time: number; before: string },
): Promise<{ said: unknown; shown: unknown }> {
  const { x, session } = site
  const { name } = session.open.agent
  const call = subject === undefined ? tool.name : `${tool.name}(${subject})`
  const again = before === CHANGED ? ' It is no longer what was approved.' : before && ` But ${before}.`
  const question = {
    question: `May ${name} call ${call}?${again}`,
    detail: {
      permission: call,
      exact,
      reason: judged.reason,
      input,
      answers: ['allow', 'always', 'deny', ...(judged.unsure ? [] : [`${tool.name}(pattern)`])],
    },
  }
  const key = time === 1 ? `${site.key}/permission` : `${site.key}/permission/${time}`
  const said = await x.ask(key, question, site.signal, { session_id: session.id, agent: name })
  const gate = x.recorded.opened(key)
  const detail = isEvent(gate, 'gate:open') ? (gate.data.detail as { exact?: unknown } | undefined) : undefined
  return { said, shown: detail?.exact }
}

/** Nothing but a clear yes, or a rule about this tool, lets a call pass. */
function isRefusal(said: unknown, tool: string): boolean {
  if (said === true) return false
  return typeof said !== 'string' || !(/^(allow|always|yes|y)$/i.test(said.trim()) || isRuleFor(said, tool))
}

function wordsOf(said: unknown): string {
  return typeof said === 'string' && !/^(deny|no|n)$/i.test(said.trim()) ? `: ${said}` : ''
}

function denied(tool: string, { reason, allowed }: Pick<PermissionAnswer, 'reason' | 'allowed'>): TroupeError {
  const instead = allowed.length > 0 ? `allowed: ${allowed.join(', ')}` : 'do without it'
  return new TroupeError('denied', `the call of ${tool} was refused: ${reason}`, {
    hint: `this is final for this call; ${instead}`,
    alternatives: [...allowed],
  })
}
