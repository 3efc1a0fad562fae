import type { LoopJudgement } from '../../../judgement/loop/consultation-loop.ts'
import type { Consultation } from '../consultation.ts'
import type { LoopAdvice } from './loop-advice.ts'

/** Records each finding as `consult:loop`, with the consultations it rests on and what is done about it. */
export function recordLoop(
  { context, request: { collaboration_id } }: Pick<Consultation, 'context' | 'request'>,
  { findings }: Pick<LoopJudgement, 'findings'>,
  { key, resolution }: { key: string; resolution: LoopAdvice['resolution'] },
): void {
  for (const [index, { type, evidence, description }] of findings.entries()) {
    context.emit(`${key}/${index}`, 'consult:loop', {
      ...{ collaboration_id, loop_type: type, evidence, resolution, notes: description },
    })
  }
}
