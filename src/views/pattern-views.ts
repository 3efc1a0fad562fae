import type { EventOf, PatternEventType } from '../kernel/event.ts'
import type { Pattern } from '../kernel/pattern.ts'
import { shortText } from '../kernel/short-text.ts'
import type { PatternState } from '../run-model/run-model.ts'
import { findEnclosing } from '../run-model/step-tree.ts'
import { rejectRemovedKeys } from '../schema/removed-names.ts'
import type { Panel } from './panel.ts'
import type { PatternView, SessionFacts, SessionLabel } from './pattern-view.ts'
import type { LoadedView, RunView } from './run-view.ts'
import { patternMarks } from './timeline/pattern-marks.ts'
import type { TimelineMark } from './timeline/timeline-mark.ts'

/* The views of patterns within the view of a run. Events of patterns that this process does not know are shown by their fields. */

/** The views of these patterns, such as those of `troupe.patterns()`; some are loaded when they are needed. */
export async function loadPatternViews(patterns: readonly Pattern[]): Promise<LoadedView[]> {
  const loaded = patterns.map(async ({ name, events = {}, view }): Promise<LoadedView[]> => {
    if (!view) return []
    const part = typeof view === 'function' ? await view() : view
    rejectRemovedKeys(part, 'view', `\`view\` of the pattern '${name}'`)
    // The kernel passes it on without its type.
    return [{ name, events: Object.keys(events), view: part as PatternView }]
  })
  return (await Promise.all(loaded)).flat()
}

/** What an event of a pattern means; `undefined` without a view that says it, or if the view is of another version: its fields are shown then. */
export function eventMarks(
  { patterns }: RunView,
  event: EventOf<PatternEventType>,
): readonly TimelineMark[] | undefined {
  const owner = patterns.find(({ events }) => events.has(event.type))
  if (!owner?.view.timeline) return undefined
  try {
    return patternMarks(owner, event)
  } catch {
    return undefined
  }
}

/** The fields of an event in short: `agent: a, approve: true`. */
export function eventFields({ data }: EventOf<PatternEventType>): string {
  const { key: _key, ...fields } = data
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${fieldText(value)}`)
    .join(', ')
}

function fieldText(value: unknown): string {
  return shortText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 60)
}

/** The depth of the session that a key belongs to, or one below it for what one of its calls does. */
export function depthAt(view: RunView, key: string): number {
  const added = (place: string) => view.patterns.reduce((sum, { view: each }) => sum + (each.depth?.(place) ?? 0), 0)
  const session = findEnclosing(view, key, 'session')
  if (!session) return added(key)
  return findEnclosing(view, key) === session ? session.depth : session.depth + 1 + added(key) - added(session.key)
}

/** The labels that the pattern of a session gives it. */
export function sessionLabel(view: RunView, session: SessionFacts): SessionLabel | undefined {
  for (const { view: each, state } of view.patterns) {
    const label = each.session?.(state, session)
    if (label) return label
  }
  return undefined
}

/** The pages that the patterns of a run bring: those of the pattern of the run first, then those of patterns that agents called. */
export function patternPanels(view: RunView): Panel[] {
  const main = mainPattern(view)
  const others = view.patterns.filter((each) => each !== main)
  return [...(main ? [main] : []), ...others].flatMap((each) => {
    const own = each === main ? { input: view.start?.input, output: view.end?.output ?? null } : { output: null }
    try {
      return each.view.panels?.(each.state, { ...own, end: view.end }) ?? []
    } catch {
      // Written by another version of the pattern: the rest of the run must stay visible.
      return []
    }
  })
}

/** The fields that the pattern of the run adds to `show --json`. */
export function patternJson(view: RunView): Record<string, unknown> {
  const main = mainPattern(view)
  return main?.view.json?.(main.state) ?? {}
}

/** The text of a run's output, or the output as JSON. */
export function outputText(
  views: readonly Pick<LoadedView, 'name' | 'view'>[],
  pattern: string,
  output: unknown,
): string {
  if (output === null || output === undefined) return ''
  if (typeof output === 'string') return output
  if (typeof output === 'object' && 'response' in output && typeof output.response === 'string') return output.response
  const own = views.find(({ name }) => name === pattern)?.view.outputText?.(output)
  return own ?? JSON.stringify(output, undefined, 2)
}

function mainPattern(view: RunView): PatternState<PatternView> | undefined {
  return view.patterns.find(({ name }) => name === view.start?.pattern)
}
