import type { Event, EventData, EventOf, PatternEventType } from '../kernel/event.ts'
import type { BuildEvent } from '../patterns/build/events.ts'
import type { CollaborateEvent } from '../patterns/collaborate/events.ts'
import type { ConsultEvent } from '../patterns/consult/events.ts'
import type { TeamEvent } from '../patterns/team/events.ts'

type BuiltInPatternEvent = BuildEvent | CollaborateEvent | ConsultEvent | TeamEvent

/** Tells events apart by their type, those of built-in patterns, too. */
export function isTypedEvent<T extends keyof EventData>(
  event: Event | undefined,
  type: T,
): event is Extract<Event, EventOf<T>>
export function isTypedEvent<T extends BuiltInPatternEvent['type']>(
  event: Event | undefined,
  type: T,
): event is Event & Extract<BuiltInPatternEvent, { type: T }>
export function isTypedEvent(event: Event | undefined, type: string): event is EventOf<PatternEventType>
export function isTypedEvent(event: Event | undefined, type: string): boolean {
  return event?.type === type
}
