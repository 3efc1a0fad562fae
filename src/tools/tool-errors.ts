import { TroupeError } from '../errors.ts'

/** The call violates a security rule of the tool; no permission can allow it. */
export function accessDeniedError(message: string, hint: string): TroupeError {
  return new TroupeError('denied', message, { hint })
}

/** The model can correct the call and try again. */
export function invalidCallError(message: string, hint: string, alternatives: string[] = []): TroupeError {
  return new TroupeError('tool_failed', message, { hint, responsible: 'model', alternatives })
}

/** Something on the machine is missing or broken; only the operator can fix it. */
export function operatorError(message: string, hint: string, cause?: unknown): TroupeError {
  return new TroupeError('tool_failed', message, { hint, responsible: 'operator', retry: false, cause })
}

/** The code of a system error, such as `ENOENT`. */
export function errorCode(thrown: unknown): string {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown ? String(thrown.code) : ''
}
