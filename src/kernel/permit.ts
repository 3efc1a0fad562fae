import { TroupeError } from '../errors.ts'
import type { CallSite } from './call-site.ts'
import { isRuleFor } from './grant.ts'
import { canonicalJson, shortHash } from './hash.ts'
import type { ToolCategory, ToolKind } from './tool.ts'

/*
 * Whether a call may be made. What the rules say comes from outside; what happens then is here.
 * 1. `ask` becomes a question in the inbox, from any depth; a denial is final for the call.
 * 2. An answer may grant more than the one call: `always` (exactly this again) or a rule such as `Bash(npm test:*)`. Such
 *    grants hold for the run; they are read from its journal, so that a resumed run has them too.
 */

/** A call that only needs leave. */
export interface ProposedAction {
  tool: { name: string; kind: ToolKind; category: ToolCategory }
  input: unknown
  subject: string | undefined
}

/** Returns when the call may be made; throws `denied` when not. */
export async function permit(site: CallSite, { tool, input, subject }: ProposedAction): Promise<void> {
  const { x, session } = site
  const exact = `${tool.name}:${shortHash(canonicalJson(input ?? null))}`
  const { answer, reason, allowed } = x.ports.permissions.decide({
    agent: session.open.agent,
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
  if (answer === 'allow') return
  if (answer === 'deny') throw denied(tool.name, reason, allowed)
  const call = subject === undefined ? tool.name : `${tool.name}(${subject})`
  const question = {
    question: `May ${session.open.agent.name} call ${call}?`,
    detail: { permission: call, exact, reason, input, answers: ['allow', 'always', 'deny', `${tool.name}(pattern)`] },
  }
  const asker = { session_id: session.id, agent: session.open.agent.name }
  const said = await x.ask(`${site.key}/permission`, question, site.signal, asker)
  if (!grants(said, tool.name)) {
    const words = typeof said === 'string' && !/^(deny|no|n)$/i.test(said.trim()) ? `: ${said}` : ''
    throw denied(tool.name, `a person said no${words}`, allowed)
  }
}

/** True when a person's answer lets the call pass. */
function grants(said: unknown, tool: string): boolean {
  if (said === true) return true
  return typeof said === 'string' && (/^(allow|always|yes|y)$/i.test(said.trim()) || isRuleFor(said, tool))
}

function denied(tool: string, reason: string, allowed: readonly string[]): TroupeError {
  const instead = allowed.length > 0 ? `allowed: ${allowed.join(', ')}` : 'do without it'
  return new TroupeError('denied', `the call of ${tool} was refused: ${reason}`, {
    hint: `this is final for this call; ${instead}`,
    alternatives: [...allowed],
  })
}
