import { isEvent } from '../../kernel/event.ts'
import { gateBlocks } from '../gate-blocks.ts'
import { answerOf, answerText } from './call-detail.ts'
import type { Detail } from './detail.ts'
import type { DetailScope } from './detail-scope.ts'
import { agentOf } from './detail-scope.ts'

/** A question to a person, with everything that was needed to answer it, and the answer. */
export function gateDetail(scope: DetailScope, id: string): Detail | undefined {
  const open = scope.events.find((event) => isEvent(event, 'gate:open') && event.data.gate_id === id)
  if (!isEvent(open, 'gate:open')) return undefined
  const answer = answerOf(scope.events, open)
  const { question, asked_by } = open.data
  const gate = scope.redact({ ...open.data, session_id: open.session_id ?? null })
  return {
    ref: { kind: 'gate', id },
    kind: 'Question',
    title: question,
    from: agentOf(scope, open.session_id, open.seq) ?? asked_by ?? null,
    to: null,
    state: answer ? 'completed' : 'waiting',
    facts: [
      { label: 'asked', value: open.at, unit: 'time' },
      ...(answer
        ? [
            { label: 'waited', value: answer.at - open.at, unit: 'ms' as const },
            { label: 'answered by', value: answer.data.by },
          ]
        : []),
    ],
    sections: [
      ...(answer
        ? [{ title: 'Answer', blocks: [{ kind: 'text' as const, text: answerText(scope.redact(answer.data.answer)) }] }]
        : []),
      { title: 'Question', blocks: gateBlocks(scope.events, gate) },
    ],
    json: answer ? [open, answer] : [open],
  }
}
