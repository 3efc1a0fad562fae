import type { TimelineMessage } from '../../src/views/timeline/timeline.ts'

export interface MessageFilter {
  text: string
  /** Types that are shown; all if empty. */
  types: ReadonlySet<string>
  /** A lane that sent or received it. */
  lane: string | null
}

export const ALL_MESSAGES: MessageFilter = { text: '', types: new Set(), lane: null }

/** The messages up to an event that the filter lets through, newest first. */
export function visibleMessages(
  messages: readonly TimelineMessage[],
  filter: MessageFilter,
  seq: number | null,
): TimelineMessage[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean)
  return messages
    .filter(
      (message) =>
        (seq === null || message.seq <= seq) &&
        (filter.types.size === 0 || filter.types.has(message.type)) &&
        (filter.lane === null || message.from === filter.lane || message.to === filter.lane) &&
        words.every((word) => message.text.toLowerCase().includes(word) || message.type.includes(word)),
    )
    .reverse()
}

/** Types in order of appearance, with their number. */
export function messageTypes(messages: readonly TimelineMessage[]): { type: string; count: number }[] {
  return [...Map.groupBy(messages, ({ type }) => type)].map(([type, group]) => ({ type, count: group.length }))
}
