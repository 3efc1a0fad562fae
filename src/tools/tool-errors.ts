import { TroupeError } from '../errors.ts'

/** The call asks for something that a tool never does, whoever asks. */
export function accessDeniedError(message: string, hint = ''): TroupeError {
  return new TroupeError('denied', message, { hint })
}

/** The call could not be carried out as it stands; the model can put it right. */
export function invalidCallError(message: string, hint = '', alternatives: string[] = []): TroupeError {
  return new TroupeError('tool_failed', message, { hint, responsible: 'model', alternatives })
}

/** Something on the machine is missing or broken; whoever operates it has to act. */
export function operatorError(message: string, hint = '', cause?: unknown): TroupeError {
  return new TroupeError('tool_failed', message, { hint, responsible: 'operator', retry: false, cause })
}

/** The code of a system call's error, such as `ENOENT`. */
export function errorCode(thrown: unknown): string {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown ? String(thrown.code) : ''
}
