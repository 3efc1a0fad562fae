import type { Event } from '../../kernel/event.ts'
import { isKernelEventType } from '../../kernel/event.ts'
import type { Detail } from './detail.ts'
import type { DetailScope } from './detail-scope.ts'
import { agentOf } from './detail-scope.ts'
import { valueBlocks } from './value-blocks.ts'

/** An event as it stands in the journal. */
export function eventDetail(scope: DetailScope, id: string): Detail | undefined {
  const seq = Number(id)
  const event = scope.events.find((each) => each.seq === seq)
  return event && fromEvent(scope, event)
}

function fromEvent(scope: DetailScope, event: Event): Detail {
  const isKnown =
    isKernelEventType(event.type) || (scope.options.views ?? []).some(({ events }) => events.includes(event.type))
  const note = isKnown ? undefined : `Event type "${event.type}" is not known to this version; shown as JSON.`
  const data = scope.redact(event.data)
  return {
    ref: { kind: 'event', id: String(event.seq) },
    kind: `Event ${event.seq}`,
    title: event.type,
    from: agentOf(scope, event.session_id, event.seq),
    to: null,
    state: '',
    facts: [
      { label: 'at', value: event.at, unit: 'time' },
      ...(event.session_id === undefined ? [] : [{ label: 'session', value: event.session_id, unit: 'code' as const }]),
    ],
    sections: [
      {
        title: 'Data',
        ...(note === undefined ? undefined : { note }),
        blocks: isKnown ? valueBlocks(data) : [{ kind: 'json', value: data }],
      },
    ],
    json: [event],
  }
}
