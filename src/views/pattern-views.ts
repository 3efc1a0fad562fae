import type { Event, EventOf, PatternEventType } from '../kernel/event.ts'
import type { Pattern } from '../kernel/pattern.ts'
import { shortText } from '../kernel/short-text.ts'
import { isPatternEvent } from '../run-model/reduce-run.ts'
import type { PatternState } from '../run-model/run-model.ts'
import { findEnclosing, parentStepKey } from '../run-model/step-tree.ts'
import type { Panel } from './panel.ts'
import type {
  PatternView,
  ProgressLine,
  SessionFacts,
  SessionLabel,
  SessionLookup,
  TextLine,
  ViewPage,
} from './pattern-view.ts'
import type { LoadedView, RunView } from './run-view.ts'

/* The views of patterns within the view of a run. Events of patterns that this process does not know are shown by their fields. */

/** The views of these patterns, such as those of `troupe.patterns()`; some are loaded when they are needed. */
export async function loadPatternViews(patterns: readonly Pattern[]): Promise<LoadedView[]> {
  const loaded = patterns.map(async ({ name, events = {}, view }): Promise<LoadedView[]> => {
    if (!view) return []
    const part = typeof view === 'function' ? await view() : view
    // The kernel passes it on without its type.
    return [{ name, events: Object.keys(events), view: part as PatternView }]
  })
  return (await Promise.all(loaded)).flat()
}

/** The progress line of a pattern's event. */
export function patternProgress(view: RunView, event: EventOf<PatternEventType>): ProgressLine | undefined {
  const owner = view.patterns.find(({ events }) => events.has(event.type))
  if (owner?.view.progress) return owner.view.progress(owner.state, event, sessionLookup(view))
  const speaker = findEnclosing(view, event.data.key, 'session')
  return { speaker, spans: eventFields(event) }
}

function sessionLookup(view: RunView): SessionLookup {
  return {
    session: (key) => {
      const node = view.byKey.get(key)
      return node?.kind === 'session' ? node : undefined
    },
    depth: (key) => depthAt(view, key),
  }
}

/** The type of an event and its fields in short: `review:vote  agent: a, approve: true`. */
export function eventFields({ type, data }: EventOf<PatternEventType>): TextLine {
  const { key: _key, ...fields } = data
  const text = Object.entries(fields).map(([name, value]) => `${name}: ${fieldText(value)}`)
  return [`${type}  `, ['dim', text.join(', ')]]
}

function fieldText(value: unknown): string {
  return shortText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 60)
}

function depthAt(view: RunView, key: string): number {
  const session = view.byKey.get(key)
  if (session?.kind === 'session') return session.depth
  const caller = findEnclosing(view, parentStepKey(key), 'session')
  return caller ? caller.depth + 1 : 0
}

/** The labels that the pattern of a session gives it. */
export function sessionLabel(view: RunView, session: SessionFacts): SessionLabel | undefined {
  for (const { view: each, state } of view.patterns) {
    const label = each.session?.(state, session)
    if (label) return label
  }
  return undefined
}

/** The lines that the pattern of the run shows below the run. */
export function patternLines(view: RunView, page: ViewPage): readonly TextLine[] {
  const main = mainPattern(view)
  return main?.view.lines?.(main.state, page) ?? []
}

/** The pages that the patterns of a run bring: those of the pattern of the run first, then those of patterns that agents called. */
export function patternPanels(view: RunView): Panel[] {
  const main = mainPattern(view)
  const others = view.patterns.filter((each) => each !== main)
  const sessions = sessionLookup(view)
  return [...(main ? [main] : []), ...others].flatMap((each) => {
    const own = each === main ? { input: view.start?.input, output: view.end?.output ?? null } : { output: null }
    try {
      return each.view.panels?.(each.state, { ...own, end: view.end, sessions }) ?? []
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

/** The lines of a pattern's view as plain text, from the events of a run; none for a pattern without `view.lines`. */
export async function patternViewText(
  pattern: Pattern,
  events: readonly Event[],
  { width = 80, output = null }: { width?: number; output?: unknown } = {},
): Promise<string[]> {
  const [loaded] = await loadPatternViews([pattern])
  if (!loaded) return []
  const { view } = loaded
  const own = events.filter(isPatternEvent).filter(({ type }) => loaded.events.includes(type))
  const state = own.reduce((before, event) => view.reduce(before, event), view.initial())
  const lines = view.lines?.(state, { output, width, ascii: false }) ?? []
  return lines.map((line) => line.map((span) => (typeof span === 'string' ? span : span[1])).join(''))
}
