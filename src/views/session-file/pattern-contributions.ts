import type { Event } from '../../kernel/event.ts'
import { isPatternEvent } from '../../run-model/reduce-run.ts'
import type { LoadedView } from '../run-view.ts'
import type { PatternSessionFile } from './pattern-session-file.ts'

/** The contribution of one pattern, with the state of its view. */
export interface SessionFileContribution {
  name: string
  events: ReadonlySet<string>
  source: PatternSessionFile
  state: unknown
}

/** The contributions of the patterns whose events are in the journal, and of the pattern of the run. */
export function contributionsFrom(events: readonly Event[], views: readonly LoadedView[]): SessionFileContribution[] {
  return views.flatMap(({ name, events: types, view }) => {
    if (!view.sessionFile) return []
    const own = new Set(types)
    try {
      const state = events
        .filter(isPatternEvent)
        .filter(({ type }) => own.has(type))
        .reduce((before, event) => view.reduce(before, event), view.initial())
      return { name, events: own, source: view.sessionFile, state }
    } catch {
      // Written by another version of the pattern: the run must stay exportable, without what only the pattern knows.
      return []
    }
  })
}
