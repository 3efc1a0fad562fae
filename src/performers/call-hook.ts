import type { ErrorCode } from '../errors.ts'
import { TroupeError } from '../errors.ts'
import type { Execution } from '../kernel/journal/execution.ts'
import { isFatal } from '../kernel/journal/fatal-error.ts'
import type { SessionState } from '../kernel/session/session-state.ts'
import type { HookScope, Hooks } from './hook.ts'
import { withTimeout } from './with-timeout.ts'

/** A session whose work hooks see and decide about. */
export interface HookedSession {
  execution: Execution
  session: SessionState
  signal: AbortSignal
}

const HOOK_TIMEOUT_MS = 120_000

/** The hooks of the program that executes the run. */
export function hooksOf({ ports }: Execution): readonly Hooks[] {
  return ports.hooks as readonly Hooks[]
}

/** Tells hooks whose work they are asked about. */
export function hookScope({ execution, session }: Pick<HookedSession, 'execution' | 'session'>): HookScope {
  const { run } = execution
  return { run_id: run.id, session_id: session.id, agent: session.opening.agent.name, run: run.metadata }
}

interface HookErrors {
  /** The code of a fatal error that the hook throws. */
  code: ErrorCode
  /** Gets what the hook failed to do in time. */
  toError(problem: string): TroupeError
}

/** Calls a hook as an effect, for at most two minutes. */
export function callHook<T>(
  { execution, signal }: HookedSession,
  { code, toError }: HookErrors,
  call: () => T | Promise<T>,
): Promise<T> {
  const { world } = execution.ports
  const timeoutError = () => toError(`did not return within ${HOOK_TIMEOUT_MS} ms`)
  const ask = async () => {
    try {
      return await call()
    } catch (thrown) {
      throw toUserCodeError(thrown, code)
    }
  }
  return execution.runEffect(() => withTimeout({ world, signal, ms: HOOK_TIMEOUT_MS, timeoutError }, ask()))
}

/**
 * The error of a tool, a hook or a performer. A fatal one is about another run or store that it works with: it gets this code,
 * and must not end the run.
 */
export function toUserCodeError(thrown: unknown, code: ErrorCode): unknown {
  if (!(thrown instanceof TroupeError) || !isFatal(thrown)) return thrown
  return new TroupeError(code, thrown.message, { hint: thrown.hint, cause: thrown })
}

/**
 * Hooks fail closed: throws for a verdict that is neither `undefined`, a denial with a reason, nor the change that the hook may
 * return, such as `false` or `{ deny: undefined }`.
 */
export function checkVerdict<Verdict extends object>(
  verdict: Verdict | undefined,
  hook: keyof typeof CHANGES,
): Verdict | undefined {
  if (verdict === undefined || verdict === null) return undefined
  const fields = { ...verdict } as Readonly<Record<string, unknown>>
  const change = CHANGES[hook]
  if ('deny' in fields ? typeof fields.deny === 'string' : fields[change] !== undefined) return verdict
  const expected = `undefined, { deny: 'reason' } or { ${change} }`
  throw new Error(`\`hooks[].${hook}\` returned ${JSON.stringify(verdict)}, not ${expected}`)
}

/** The field of a verdict that changes what the hook is asked about. */
const CHANGES = { beforeTool: 'input', beforeModel: 'request', beforeAnswer: 'text' } as const
