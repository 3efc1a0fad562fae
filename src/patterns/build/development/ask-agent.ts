import { errorFromRecord } from '../../../errors.ts'
import { isResumableFailure } from '../../../kernel/resumable-failure.ts'
import type { Answer, AnswerRequest } from '../../../kernel/session-request.ts'
import type { AnswerShape } from '../../../schema/answer-shape.ts'
import type { BuildScope } from '../build-scope.ts'

/** Asks an agent of the build. Its failure is in the answer: it must not lose the work of the others. */
export async function askAgent<const S extends AnswerShape>(
  { context }: Pick<BuildScope, 'context'>,
  request: AnswerRequest<S>,
): Promise<Answer<S>> {
  const answer = await context.request(request)
  const { error } = answer.first ?? answer
  // The architect cannot decide about an outage, and an abort would remove the work: the run fails, and resume repeats the request.
  if (error?.step !== undefined && isResumableFailure(error)) throw errorFromRecord(error)
  return answer
}
