import type { Event, EventOf, PatternEventType } from '../kernel/event.ts'
import { cutNames, stepsCutBy } from '../kernel/journal/cut.ts'
import { rowTitle } from './row-text.ts'
import type { PatternState, RunModel } from './run-model.ts'
import { addNotice } from './run-model.ts'

const OTHER_EVENTS_KEPT = 100

/** Passes an event to the patterns that declare it. */
export function reducePatternEvent(model: RunModel, event: EventOf<PatternEventType>): void {
  const { patterns, otherEvents, sources } = model
  const isOwner = ({ events }: PatternState) => events.has(event.type)
  if (!patterns.some(isOwner)) noticeUnknownType(model, event.type)
  for (const owner of patterns.filter(isOwner)) {
    owner.recorded.push(event)
    const addRows = usePattern(model, owner, () => {
      owner.state = owner.view.reduce(owner.state, event)
      return sources.readMarks?.(model, event, owner)
    })
    addRows?.()
  }
  if (patterns.some(isOwner)) return
  otherEvents.push(event)
  if (otherEvents.length > OTHER_EVENTS_KEPT) otherEvents.shift()
}

/** What was cut stays in the rows, as an earlier attempt; the states of patterns are those without it. */
export function reduceCut(model: RunModel, event: Event): void {
  const cut = new Set(stepsCutBy(event))
  const isCut = ({ data: { key } }: EventOf<PatternEventType>) => cutNames(key).some((each) => cut.has(each))
  for (const pattern of [...model.patterns]) {
    if (!pattern.recorded.some(isCut)) continue
    pattern.recorded = pattern.recorded.filter((each) => !isCut(each))
    const { recorded, view } = pattern
    usePattern(model, pattern, () => {
      pattern.state = recorded.reduce((state, each) => view.reduce(state, each), view.initial())
    })
  }
}

function noticeUnknownType(model: RunModel, type: string): void {
  const types = model.index.unknownTypes
  if (types.has(type) || model.sources.eventTypes?.has(type)) return
  types.add(type)
  const text = `Event type "${rowTitle(model, type)}" is not known to this version; shown as JSON.`
  addNotice(model, { kind: 'unknown_event', text })
}

/**
 * Calls a function of a pattern's view. One that throws is not used again: the journal may be of another version of the pattern, and the run
 * must stay visible.
 */
export function usePattern<T>(model: RunModel, pattern: PatternState, call: () => T): T | undefined {
  try {
    return call()
  } catch {
    const place = model.patterns.indexOf(pattern)
    if (place !== -1) model.patterns.splice(place, 1)
    model.current.failedViews.push(pattern.name)
    return undefined
  }
}

/** Tells which views threw with this event. */
export function noticeFailedViews(model: RunModel): void {
  for (const name of model.current.failedViews.splice(0)) {
    const text = `The view of the pattern ${name} does not understand this journal, which another version may have written.`
    addNotice(model, { kind: 'note', text })
  }
}
