import { TroupeError } from '../../errors.ts'
import type { Agent } from '../agent.ts'
import type { Caller } from '../context.ts'
import type { SessionOpen } from '../event.ts'
import { shortHash } from '../hash.ts'
import type { Execution } from '../journal/execution.ts'
import type { StepScope } from '../journal/step.ts'
import { runStep } from '../journal/step.ts'
import type { PerformRequest } from '../session-request.ts'
import type { SessionWorktree, SessionWorktrees, WorktreeResult } from '../worktree.ts'
import { agentSlug } from './session-state.ts'

/*
 * Sessions with a git worktree of their own (`isolation: worktree`).
 * 1. The worktree is opened before `session:open`, and thus before any model request: without a repository the session fails unpaid.
 * 2. Its work is committed and the worktree removed before `session:end`. The branch stays if there is work on it.
 * 3. Both are steps that a resumed run repeats until they are recorded. A cancelled session keeps its worktree, for the run that resumes it.
 */

/** The worktrees in use by an execution: two turns of one agent share one, but never at the same time. */
const worktreesInUse = new WeakMap<Execution, Set<string>>()

export interface WorktreeRequest {
  agent: Agent
  session_id: string
  caller: Caller | undefined
  request: PerformRequest
}

export function needsWorktree({ agent, request }: Pick<WorktreeRequest, 'agent' | 'request'>): boolean {
  return agent.isolation === 'worktree' && request.workspace === undefined && !request.internal
}

/** Opens the worktree of a new session. */
export async function openSessionWorktree(scope: StepScope, wanted: WorktreeRequest): Promise<SessionWorktree> {
  const { execution, key, signal } = scope
  const base = wanted.caller?.opening.worktree?.branch
  const worktree = await runStep<SessionWorktree>(
    { execution, key: `${key}/worktree`, signal },
    async () => {
      const worktrees = requireWorktrees(execution, wanted.agent.name)
      const id = { run_id: execution.run.id, name: worktreeName(execution, wanted) }
      return worktrees.open({ id, ...(base === undefined ? undefined : { base }) }, signal)
    },
    { kind: 'idempotent' },
  )
  inUse(execution).add(worktree.id.name)
  return worktree
}

/** Opens the worktree of a session that began earlier, if it is gone. */
export async function reopenSessionWorktree(scope: StepScope, { worktree, agent }: SessionOpen): Promise<void> {
  const { execution, key, signal } = scope
  if (!worktree || execution.ports.replayOnly || execution.journalIndex.outcome(`${key}/worktree/end`)) return
  const { id, base } = worktree
  await execution.load(() => requireWorktrees(execution, agent.name).open({ id, base }, signal))
  inUse(execution).add(id.name)
}

/** Commits the work of a session and removes its worktree; the branch stays if there is work on it. */
export async function closeSessionWorktree(
  { execution, key, signal }: StepScope,
  { worktree, agent }: SessionOpen,
): Promise<WorktreeResult | undefined> {
  if (!worktree || signal.aborted) return undefined
  const result = await runStep<WorktreeResult>(
    { execution, key: `${key}/worktree/end`, signal },
    () => requireWorktrees(execution, agent.name).close(worktree, agent.name, signal),
    { kind: 'idempotent' },
  )
  inUse(execution).delete(worktree.id.name)
  return result
}

function inUse(execution: Execution): Set<string> {
  const names = worktreesInUse.get(execution) ?? new Set<string>()
  worktreesInUse.set(execution, names)
  return names
}

/** Turns of a shared conversation continue the worktree of their agent; other sessions have their own. */
function worktreeName(execution: Execution, { agent, session_id, caller, request }: WorktreeRequest): string {
  const slug = agentSlug(agent.name).slice(0, 60) || 'agent'
  const shared = `${slug}-${shortHash(caller?.session_id ?? '')}`
  return request.thread && !inUse(execution).has(shared) ? shared : `${slug}-${shortHash(session_id)}`
}

function requireWorktrees({ ports }: Execution, agent: string): SessionWorktrees {
  if (ports.worktrees) return ports.worktrees
  throw new TroupeError(
    'invalid_input',
    `the agent '${agent}' has \`isolation: worktree\`, but there is no workspace`,
    {
      hint: 'pass a folder of a git repository with --workspace, or remove `isolation` from the agent',
    },
  )
}
