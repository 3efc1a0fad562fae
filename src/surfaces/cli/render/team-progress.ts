import type { Event, EventOf } from '../../../kernel/event.ts'
import type { SteerAction } from '../../../kernel/steer-action.ts'
import type { RunView } from '../../../views/run-view.ts'
import { briefReason, formatRoute, teamDepth, teamSessionPurpose } from '../../../views/team-view.ts'
import type { ProgressLine } from './progress-line.ts'
import type { TerminalStyle, TextSpan } from './styled-line.ts'
import { toTerminalLine, wrapText } from './text-width.ts'

/** A line for what a team tells of itself. */
export function teamProgress(event: Event): ProgressLine | undefined {
  switch (event.type) {
    case 'team:start':
      return teamLine(event.data.key, teamStartSpans(event))
    case 'team:handoff':
      return teamLine(event.data.key, handoffSpans(event))
    case 'team:group': {
      const { key, group, kind, members } = event.data
      const how = kind === 'parallel' ? 'at once' : 'for one answer'
      return teamLine(key, [['bold', toTerminalLine(group)], `  ${members.map(toTerminalLine).join(', ')} ${how}`])
    }
    case 'team:loop':
      return teamLine(event.data.key, [
        ['yellow', `${loopLabel(event.data.kind)}  ${toTerminalLine(event.data.message)}`],
      ])
    case 'team:compress':
      return teamLine(event.data.key, [['dim', compressionText(event)]])
    case 'run:steer':
      return {
        spans: [
          ['dim', `${toTerminalLine(event.data.by)} asks: ${toTerminalLine(formatSteerAction(event.data.action))}`],
        ],
      }
    case 'team:steered':
      return teamLine(event.data.key, steeringSpans(event))
    default:
      return undefined
  }
}

function teamStartSpans({
  data: { team, first, filled_roles = [], warnings = [] },
}: EventOf<'team:start'>): TextSpan[] {
  const joined = filled_roles.map(
    ({ name, uses, by = [] }) => `${name} is ${uses}${by.length > 0 ? ` (${by.join(', ')})` : ''}`,
  )
  return [
    `${toTerminalLine(team)}: `,
    ['bold', toTerminalLine(first)],
    ' begins',
    ['dim', joined.length === 0 ? '' : `  ${toTerminalLine(joined.join(', '))}`],
    ['yellow', warnings.length === 0 ? '' : `  (${toTerminalLine(warnings.join('; '))})`],
  ]
}

/** A long way is no circle. */
export function loopLabel(kind: string): string {
  return kind === 'max_rounds' ? 'comes to its limit' : 'goes in circles'
}

/** From whom to whom, and why. */
export function handoffSpans({ data }: EventOf<'team:handoff'>): TextSpan[] {
  const { key, from, to, handoff_reason, problems = [] } = data
  const [who, whom] = [from === 'user' ? 'you' : from, recipientLabel(to, teamDepth(key) > 0)]
  const beside = problems.length > 0 ? `  (${toTerminalLine(problems.join('; '))})` : ''
  return [
    ['bold', toTerminalLine(who)],
    ' → ',
    ['bold', toTerminalLine(whom)],
    ['dim', `  ${toTerminalLine(briefReason(handoff_reason))}`],
    ['yellow', beside],
  ]
}

/** Who gets the work; a team within a team returns to the one above it. */
export function recipientLabel(to: string | null, inside: boolean): string {
  if (to === null) return inside ? 'back' : 'the end'
  if (to !== 'user') return to
  return inside ? 'back' : 'you'
}

function compressionText({ data: { before, after, messages, error } }: EventOf<'team:compress'>): string {
  if (error !== undefined) return `the conversation could not be summed up: ${toTerminalLine(error)}`
  const size = (bytes: number) => `${Math.max(1, Math.round(bytes / 1024))} kB`
  return `${messages} older messages are summed up: ${size(before)} → ${size(after)}`
}

function steeringSpans({ data: { action, by, accepted, reason } }: EventOf<'team:steered'>): TextSpan[] {
  const said = toTerminalLine(formatSteerAction(action))
  return accepted
    ? [`taken: ${said}`]
    : [['yellow', `not taken: ${said}, asked by ${toTerminalLine(by)}: ${toTerminalLine(reason ?? '')}`]]
}

export function formatSteerAction(action: SteerAction): string {
  switch (action.do) {
    case 'override':
      return `${action.agent} goes on`
    case 'set':
      return `${action.name} = ${JSON.stringify(action.value)}`
    case 'say':
      return `says ${action.text}`
    default:
      return action.do
  }
}

/** Nobody's line; what a team within a team tells is indented below it. */
function teamLine(key: string, spans: readonly TextSpan[]): ProgressLine {
  return { who: { agent: '', depth: teamDepth(key) }, spans }
}

/** How a session of a team is announced; `undefined` for all others. */
export function teamSessionStartSpans(view: RunView, key: string): TextSpan[] | undefined {
  const part = teamSessionPurpose(view.team, key)
  if (part === undefined) return undefined
  const speaks = /(^|\/)(agent|group\/member\/[^/]+)$/.test(key)
  // The handoff before it has said why.
  return speaks ? ['speaks  ', ['dim', part.replace(/:.*$/s, '')]] : [['dim', toTerminalLine(part)]]
}

/** The way that the work took. */
export function routeLines(route: readonly string[], style: TerminalStyle): string[] {
  if (route.length === 0) return []
  return wrapText(`route: ${toTerminalLine(formatRoute(route))}`, style.width, 2).map((text) =>
    style.paint('dim', text),
  )
}
