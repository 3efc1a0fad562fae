import type { ProgressLine, SessionFacts, SessionLabel, TextLine, TextSpan } from '../../views/pattern-view.ts'
import { definePatternView } from '../../views/pattern-view.ts'
import type { AgentIdentifier, SessionFileMessage } from '../../views/session-file/pattern-session-file.ts'
import { formatSteerAction } from '../../views/steer-text.ts'
import { toTerminalLine, wrapText } from '../../views/text-width.ts'
import type { TimelineMark } from '../../views/timeline/timeline-mark.ts'
import type { TeamEvent, TeamEventOf } from './events.ts'
import { handoffExplanation } from './handoff-explanation.ts'
import { handoffPanels } from './handoffs-panel.ts'
import { sharedMessages } from './shared-messages.ts'
import type { TeamView } from './team-view.ts'
import {
  briefReason,
  formatRoute,
  isModelFallback,
  newTeamView,
  reduceTeam,
  routeFromOutput,
  teamDepth,
  teamEventDepth,
  teamSessionPurpose,
} from './team-view.ts'

/** The view of a team: its turns and handoffs, and the route that the work took. */
export const teamView = definePatternView<TeamView, TeamEvent>({
  initial: newTeamView,
  reduce(team, event) {
    reduceTeam(team, event)
    return team
  },
  progress: (_team, event) => teamProgress(event),
  session: teamSession,
  depth: teamDepth,
  timeline: (_team, event) => teamMarks(event),
  panels: handoffPanels,
  explain: (_team, event) => (event.type === 'team:handoff' ? handoffExplanation(event) : undefined),
  sharedMessages,
  lines: (team, { output, width }) => [
    ...routeLines(team.route.length > 0 ? team.route : routeFromOutput(output), width),
    ...problemLines(team.problems, width),
  ],
  json: ({ route }) => (route.length > 0 ? { route } : {}),
  sessionFile: {
    collaboration: ({ route }) => {
      const first = route.find((agent) => agent !== 'user')
      return {
        pattern: 'peer_to_peer',
        ...(first === undefined ? undefined : { orchestrator: { agent_id: first, agent_type: first } }),
      }
    },
    message: handoffMessage,
  },
})

/** A handoff between members, a round, a group at work, or a loop. */
function teamMarks(event: TeamEvent): TimelineMark[] {
  switch (event.type) {
    case 'team:handoff': {
      const { from, to, handoff_reason } = event.data
      const agent = (name: string | null) => (name === 'user' ? null : name)
      return [{ kind: 'handoff', from: agent(from), to: agent(to), label: briefReason(handoff_reason) }]
    }
    case 'team:turn':
      return [{ kind: 'progress', text: `round ${event.data.round}`, share: null }]
    case 'team:group': {
      const { key, group, members } = event.data
      const sessions = members.map((name) => `${key}/member/${name}`)
      return sessions.map((session) => ({ kind: 'session', session, group: `${key} ${group}` }))
    }
    case 'team:loop':
      return [{ kind: 'notice', notice: 'loop', text: `${loopLabel(event.data.kind)}: ${event.data.message}` }]
    default:
      return []
  }
}

const USER: AgentIdentifier = { agent_id: 'user', agent_type: 'user' }

/** A handoff assigns work to the next member; one to the user, or the end of the team, delivers it. */
function handoffMessage(event: TeamEvent): SessionFileMessage | undefined {
  if (event.type !== 'team:handoff') return undefined
  const { from, to, round, by, handoff_reason } = event.data
  const identify = (name: string | null): AgentIdentifier =>
    name === null || name === 'user' ? USER : { agent_id: name, agent_type: name }
  return {
    from_agent: identify(from),
    to_agent: identify(to),
    message_type: identify(to) === USER ? 'task_completion' : 'task_assignment',
    content: { round, by, handoff_reason },
  }
}

/** The progress line of a team event. */
function teamProgress(event: TeamEvent): ProgressLine | undefined {
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
    case 'team:steered':
      return teamLine(event.data.key, steeringSpans(event))
    default:
      return undefined
  }
}

function teamStartSpans({
  data: { team, first, filled_roles = [], warnings = [] },
}: TeamEventOf<'team:start'>): TextSpan[] {
  const assignments = filled_roles.map(({ name, uses, by, similarity }) => {
    const reason = similarity === undefined ? by.join(', ') : `similarity ${similarity.toFixed(2)}`
    return `${name} is ${uses} (${reason})`
  })
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
  const { key, from, to, by, handoff_reason, problems = [] } = data
  // A team that an agent called returns to it after the work, and asks the user where a rule says so.
  const asksUser = to === 'user' && by !== 'after_work' && teamDepth(key) === 0
  const recipient = recipientLabel(to, teamEventDepth(key) > 0 && !asksUser)
  const sender = from === 'user' ? 'you' : from
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

/** A line without a speaker; nested teams are indented. */
function teamLine(key: string, spans: TextLine): ProgressLine {
  return { speaker: { agent: '', depth: teamEventDepth(key) }, spans }
}

/** The part of a session in its team; `undefined` for other sessions. */
function teamSession(team: TeamView, session: SessionFacts): SessionLabel | undefined {
  const purpose = teamSessionPurpose(team, session.key)
  if (purpose === undefined) return undefined
  const isTurn = /(^|\/)(agent|group\/member\/[^/]+)$/.test(session.key)
  // The handoff line before it already shows the reason.
  const start: TextLine = isTurn
    ? ['starts  ', ['dim', purpose.replace(/:.*$/s, '')]]
    : [['dim', toTerminalLine(purpose)]]
  if (!isModelFallback(team, session)) return { purpose, start }
  return { purpose, start, end: [['dim', 'no model for its role']], superseded: true }
}

const MAX_PROBLEM_LINES = 5

/** The newest problems of handoffs: the progress line has no room for them, and they explain where a team stopped. */
function problemLines(problems: TeamView['problems'], width: number): TextLine[] {
  const shown = problems.slice(-MAX_PROBLEM_LINES)
  const earlier = problems.length - shown.length
  const texts = [
    ...(earlier > 0 ? [`${earlier} earlier ${earlier === 1 ? 'problem' : 'problems'}`] : []),
    ...shown.map(({ round, from, text }) => `${toTerminalLine(from)}, round ${round}: ${toTerminalLine(text)}`),
  ]
  return texts.flatMap((text) => wrapText(`! ${text}`, width, 2)).map((text) => [['yellow', text]])
}

export function routeLines(route: readonly string[], width: number): TextLine[] {
  if (route.length === 0) return []
  return wrapText(`route: ${toTerminalLine(formatRoute(route))}`, width, 2).map((text) => [['dim', text]])
}
