import type { Event } from '../../kernel/event.ts'
import { reduceRun } from '../../run-model/reduce-run.ts'
import type { RowWords } from '../../run-model/row-words.ts'
import type { Timeline, TimelineChanges } from '../../run-model/rows.ts'
import type { RunModel, RunModelSources } from '../../run-model/run-model.ts'
import { newRunModel, rowsSince } from '../../run-model/run-model.ts'
import { errorSummary } from '../content-text.ts'
import { formatDuration } from '../format-amount.ts'
import { modelChangesText } from '../needs-text.ts'
import type { PatternView } from '../pattern-view.ts'
import { plainLine } from '../plain-line.ts'
import { formatSteerAction } from '../steer-text.ts'
import { toolTarget } from '../tool-input.ts'
import { readMarks } from './pattern-marks.ts'

export type TimelineSources = Omit<RunModelSources<PatternView>, 'words' | 'readMarks'>
export type TimelineState = RunModel<PatternView> & { taken_seq?: number }

const WORDS: RowWords = {
  line: plainLine,
  target: toolTarget,
  steering: formatSteerAction,
  models: modelChangesText,
  duration: formatDuration,
  error: errorSummary,
}

/** The model of a run in the words of views, without events. */
export function newTimeline(sources: TimelineSources = {}): TimelineState {
  return newRunModel<PatternView>({ ...sources, words: WORDS, readMarks })
}

/** The model of a journal, or of its beginning. */
export function runModelFrom(events: Iterable<Event>, sources?: TimelineSources): TimelineState {
  const state = newTimeline(sources)
  for (const event of events) reduceTimeline(state, event)
  return state
}

/** The timeline of a journal, or of its beginning. With `loadPatternViews(await troupe.patterns())`, patterns contribute to it. */
export function timelineFrom(events: Iterable<Event>, sources?: TimelineSources): Timeline {
  return runModelFrom(events, sources).tables
}

/** Updates a timeline in place with one event. Each event costs the same, however long the journal is. */
export const reduceTimeline: (state: TimelineState, event: Event) => void = reduceRun

/** The rows that changed since the last call, as copies. */
export function takeChanges(state: TimelineState): TimelineChanges {
  const changed = Object.entries<object[]>(rowsSince(state, state.taken_seq ?? 0)).filter(([, rows]) => rows.length > 0)
  state.taken_seq = state.clock.seq
  return { seq: state.clock.seq, rows: Object.fromEntries(changed) }
}

/** All rows, as copies: later events do not change them. */
export function timelineSnapshot(state: TimelineState): Timeline {
  return rowsSince(state, 0)
}
