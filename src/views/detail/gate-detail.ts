import { isEvent } from '../../kernel/event.ts'
import { gateBlocks } from '../gate-blocks.ts'
import { answerText } from './call-detail.ts'
import type { Detail } from './detail.ts'
import type { DetailScope } from './detail-scope.ts'
import { eventsWithKey } from './event-index.ts'

/** A question to a person, with everything that was needed to answer it, and the answer. */
export function gateDetail(scope: DetailScope, id: string): Detail | undefined {
  const gate = [...scope.model().byKey.values()].find((node) => node.kind === 'gate' && node.gate_id === id)
  if (gate?.kind !== 'gate') return undefined
  const { question, asked_by, data, session, answer, answered_by, started_at, ended_at } = gate
  const events = eventsWithKey(scope.events, gate.key)
  return {
    ref: { kind: 'gate', id },
    kind: 'Question',
    title: question,
    from: session?.agent ?? asked_by,
    to: null,
    state: ended_at === null ? 'waiting' : 'completed',
    facts: [
      { label: 'asked', value: started_at, unit: 'time' },
      ...(ended_at === null
        ? []
        : [
            { label: 'waited', value: ended_at - started_at, unit: 'ms' as const },
            { label: 'answered by', value: answered_by },
          ]),
    ],
    sections: [
      ...(ended_at === null
        ? []
        : [{ title: 'Answer', blocks: [{ kind: 'text' as const, text: answerText(scope.redact(answer)) }] }]),
      {
        title: 'Question',
        blocks: gateBlocks(scope.events, scope.redact({ ...data, session_id: session?.session_id ?? null })),
      },
    ],
    json: events.filter((event) => isEvent(event, 'gate:open') || isEvent(event, 'gate:answer')),
  }
}
