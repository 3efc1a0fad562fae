import type { Event, SteerAction } from '../../../index.ts'
import type { TeamEvent, TeamEventOf } from '../../../patterns/team/events.ts'
import type { RunView } from '../../../views/run-view.ts'
import { briefReason, formatRoute, teamDepth, teamSessionPurpose } from '../../../views/team-view.ts'
import type { ProgressLine } from './progress-line.ts'
import type { TerminalStyle, TextSpan } from './styled-line.ts'
import { toTerminalLine, wrapText } from './text-width.ts'

/** The progress line of a team event. */
export function teamProgress(event: Event | TeamEvent): ProgressLine | undefined {
  switch (event.type) {
    case 'team:start':
      return teamLine(event.data.key, teamStartSpans(event))
    case 'team:handoff':
      return teamLine(event.data.key, handoffSpans(event))
    case 'team:group': {
      const { key, group, kind, members } = event.data
      const mode = kind === 'parallel' ? 'in parallel' : 'by consensus'
      return teamLine(key, [['bold', toTerminalLine(group)], `  ${members.map(toTerminalLine).join(', ')} ${mode}`])
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
          ['dim', `${toTerminalLine(event.data.by)} requests: ${toTerminalLine(formatSteerAction(event.data.action))}`],
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
}: TeamEventOf<'team:start'>): TextSpan[] {
  const assignments = filled_roles.map(
    ({ name, uses, by = [] }) => `${name} is ${uses}${by.length > 0 ? ` (${by.join(', ')})` : ''}`,
  )
  return [
    `${toTerminalLine(team)}: `,
    ['bold', toTerminalLine(first)],
    ' starts',
    ['dim', assignments.length === 0 ? '' : `  ${toTerminalLine(assignments.join(', '))}`],
    ['yellow', warnings.length === 0 ? '' : `  (${toTerminalLine(warnings.join('; '))})`],
  ]
}

export function loopLabel(kind: string): string {
  return kind === 'max_rounds' ? 'round limit reached' : 'loop detected'
}

export function handoffSpans({ data }: TeamEventOf<'team:handoff'>): TextSpan[] {
  const { key, from, to, handoff_reason, problems = [] } = data
  const [sender, recipient] = [from === 'user' ? 'you' : from, recipientLabel(to, teamDepth(key) > 0)]
  const warnings = problems.length > 0 ? `  (${toTerminalLine(problems.join('; '))})` : ''
  return [
    ['bold', toTerminalLine(sender)],
    ' → ',
    ['bold', toTerminalLine(recipient)],
    ['dim', `  ${toTerminalLine(briefReason(handoff_reason))}`],
    ['yellow', warnings],
  ]
}

/** The recipient of a handoff; a nested team returns to the outer one. */
export function recipientLabel(to: string | null, isNested: boolean): string {
  if (to === null) return isNested ? 'back' : 'the end'
  if (to !== 'user') return to
  return isNested ? 'back' : 'you'
}

function compressionText({ data: { before, after, messages, error } }: TeamEventOf<'team:compress'>): string {
  if (error !== undefined) return `summary failed: ${toTerminalLine(error)}`
  const size = (bytes: number) => `${Math.max(1, Math.round(bytes / 1024))} kB`
  return `summarised ${messages} older messages: ${size(before)} → ${size(after)}`
}

function steeringSpans({ data: { action, by, accepted, reason } }: TeamEventOf<'team:steered'>): TextSpan[] {
  const text = toTerminalLine(formatSteerAction(action))
  return accepted
    ? [`applied: ${text}`]
    : [['yellow', `rejected: ${text} by ${toTerminalLine(by)}: ${toTerminalLine(reason ?? '')}`]]
}

export function formatSteerAction(action: SteerAction): string {
  switch (action.do) {
    case 'override':
      return `next agent ${action.agent}`
    case 'set':
      return `${action.name} = ${JSON.stringify(action.value)}`
    case 'say':
      return `message ${action.text}`
    default:
      return action.do
  }
}

/** A line without a speaker; nested teams are indented. */
function teamLine(key: string, spans: readonly TextSpan[]): ProgressLine {
  return { speaker: { agent: '', depth: teamDepth(key) }, spans }
}

/** The start line of a team session; `undefined` for other sessions. */
export function teamSessionStartSpans(view: RunView, key: string): TextSpan[] | undefined {
  const purpose = teamSessionPurpose(view.team, key)
  if (purpose === undefined) return undefined
  const isTurn = /(^|\/)(agent|group\/member\/[^/]+)$/.test(key)
  // The handoff line before it already shows the reason.
  return isTurn ? ['starts  ', ['dim', purpose.replace(/:.*$/s, '')]] : [['dim', toTerminalLine(purpose)]]
}

export function routeLines(route: readonly string[], style: TerminalStyle): string[] {
  if (route.length === 0) return []
  return wrapText(`route: ${toTerminalLine(formatRoute(route))}`, style.width, 2).map((text) =>
    style.paint('dim', text),
  )
}
