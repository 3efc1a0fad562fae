import type { TroupeError } from '../../errors.ts'
import { unknownNameError } from '../../errors.ts'
import type { Performer } from '../performer.ts'

export function unknownPerformerError(
  name: string,
  performers: ReadonlyMap<string, Performer> | undefined,
): TroupeError {
  return unknownNameError('unknown_performer', { kind: 'performer', name, known: [...(performers?.keys() ?? [])] })
}
