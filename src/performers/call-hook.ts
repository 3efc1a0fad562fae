import type { TroupeError } from '../errors.ts'
import type { HookScope } from '../kernel/hook.ts'
import type { Execution } from '../kernel/journal/execution.ts'
import type { SessionState } from '../kernel/session/session-state.ts'
import { withTimeout } from './with-timeout.ts'

/** A session whose work hooks see and decide about. */
export interface HookedSession {
  execution: Execution
  session: SessionState
  signal: AbortSignal
}

const HOOK_TIMEOUT_MS = 120_000

/** Tells hooks whose work they are asked about. */
export function hookScope({ execution, session }: Pick<HookedSession, 'execution' | 'session'>): HookScope {
  const { run } = execution
  return { run_id: run.id, session_id: session.id, agent: session.opening.agent.name, run: run.metadata }
}

/** Calls a hook as an effect, for at most two minutes. `toError` gets what it failed to do in time. */
export function callHook<T>(
  { execution, signal }: HookedSession,
  toError: (problem: string) => TroupeError,
  call: () => Promise<T>,
): Promise<T> {
  const { world } = execution.ports
  const timeoutError = () => toError(`did not return within ${HOOK_TIMEOUT_MS} ms`)
  return execution.runEffect(() => withTimeout({ world, signal, ms: HOOK_TIMEOUT_MS, timeoutError }, call()))
}
