import { eventFields, patternLines } from '../../../views/pattern-views.ts'
import type { RunView } from '../../../views/run-view.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderPatternLine } from './styled-line.ts'

/** The lines that the pattern of a run shows below it. */
export function patternSection(view: RunView, output: unknown, style: TerminalStyle): string[] {
  const page = { output, width: style.width, ascii: style.ascii === true }
  return patternLines(view, page).map((line) => renderPatternLine(style, line))
}

const EVENTS_SHOWN = 20

/** The latest events of patterns that have no view here, such as those of another program. */
export function otherEventLines({ otherEvents }: RunView, style: TerminalStyle): string[] {
  if (otherEvents.length === 0) return []
  const title = otherEvents.length > EVENTS_SHOWN ? `the last ${EVENTS_SHOWN} events (all with --events)` : 'events'
  return [
    renderPatternLine(style, [['bold', title]]),
    ...otherEvents.slice(-EVENTS_SHOWN).map((event) => renderPatternLine(style, ['  ', ...eventFields(event)])),
  ]
}
