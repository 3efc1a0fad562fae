import type { Event, EventOf } from '../../kernel/event.ts'
import type { Message } from '../../kernel/model.ts'
import type { Redactor } from '../../kernel/redactor.ts'
import type { SessionFold } from '../../kernel/session/session-fold.ts'
import type { Thread } from '../../kernel/thread.ts'
import type { PanelMessage } from '../panel.ts'
import type { RunView } from '../run-view.ts'
import type { TimelineSources } from '../timeline/reduce-timeline.ts'
import { runModelFrom } from '../timeline/reduce-timeline.ts'
import type { Extents } from './bounded-value.ts'
import { toPanelMessage } from './value-blocks.ts'

/*
 * What the details of one journal share. The prompts of a session repeat their messages: each is folded, redacted and made a block once, so
 * that the details of all places cost as much as the journal is long.
 */

export interface DetailCache {
  /** The journal, reduced when it is first needed. */
  model(): RunView
  /** Secrets are found by the names of fields, too: redact a value before its fields become facts. */
  redact<Value>(value: Value): Value
  panelMessage(message: Message): PanelMessage
  /** The sizes of values that were measured by `boundedValue`. */
  extents: Extents
  /** The conversation of a segment, by its opening, up to the event that it was last asked for. */
  conversations: Map<EventOf<'session:open'>, { fold: SessionFold; seq: number }>
  threads: Map<EventOf<'session:open'>, { thread: Thread | undefined }>
}

export function createDetailCache(
  events: readonly Event[],
  sources: TimelineSources = {},
  redactor = sources.redactor,
): DetailCache {
  let model: RunView | undefined
  const panelMessages = new Map<Message, PanelMessage>()
  return {
    model: () => (model ??= runModelFrom(events, sources)),
    redact: redactor ? memoizedRedaction(redactor) : (value) => value,
    panelMessage(message) {
      const known = panelMessages.get(message) ?? toPanelMessage(message)
      panelMessages.set(message, known)
      return known
    },
    extents: new Map(),
    conversations: new Map(),
    threads: new Map(),
  }
}

/** Like `redactJson`, but an object is copied once, and a text is searched for secrets once. */
function memoizedRedaction(redactor: Redactor): <Value>(value: Value) => Value {
  const objects = new Map<object, object>()
  const texts = new Map<string, Map<string, string>>()
  const redactText = (text: string, field: string): string => {
    const known = texts.get(field) ?? new Map<string, string>()
    texts.set(field, known)
    const before = known.get(text)
    if (before !== undefined) return before
    const after = redactor.redact(text, field)
    known.set(text, after)
    return after
  }
  const redactValue = (value: unknown, field: string): unknown => {
    if (typeof value === 'string') return redactText(value, field)
    if (typeof value !== 'object' || value === null) return value
    // The items of a list stand in the field of the list: another field may find other secrets in the same list.
    if (Array.isArray(value)) return value.map((item) => redactValue(item, field))
    const known = objects.get(value)
    if (known) return known
    const copy = Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactValue(item, name)]))
    objects.set(value, copy)
    return copy
  }
  return <Value>(value: Value) => redactValue(value, '') as Value
}
