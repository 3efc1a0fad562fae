import type { SessionFacts, SessionLabel } from '../../views/pattern-view.ts'
import { definePatternView } from '../../views/pattern-view.ts'
import type { AgentIdentifier, SessionFileMessage } from '../../views/session-file/pattern-session-file.ts'
import { formatSteerAction } from '../../views/steer-text.ts'
import type { TimelineMark } from '../../views/timeline/timeline-mark.ts'
import type { TeamEvent, TeamEventOf } from './events.ts'
import { handoffExplanation } from './handoff-explanation.ts'
import { handoffPanels } from './handoffs-panel.ts'
import { sharedMessages } from './shared-messages.ts'
import type { TeamView } from './team-view.ts'
import { briefReason, isModelFallback, newTeamView, reduceTeam, teamDepth, teamSessionPurpose } from './team-view.ts'

/** The view of a team: its turns and handoffs, and the route that the work took. */
export const teamView = definePatternView<TeamView, TeamEvent>({
  initial: newTeamView,
  reduce(team, event) {
    reduceTeam(team, event)
    return team
  },
  session: teamSession,
  depth: teamDepth,
  timeline: (_team, event) => teamMarks(event),
  panels: handoffPanels,
  explain: (_team, event) => (event.type === 'team:handoff' ? handoffExplanation(event) : undefined),
  sharedMessages,
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

/** A handoff between members, a round, a group at work, a loop, and what people changed. */
function teamMarks(event: TeamEvent): TimelineMark[] {
  const progress = (text: string, agent?: string): TimelineMark => {
    return { kind: 'progress', text, share: null, ...(agent === undefined ? undefined : { agent }) }
  }
  const note = (text: string): TimelineMark => ({ kind: 'notice', notice: 'note', text })
  switch (event.type) {
    case 'team:start':
      return [
        { kind: 'phase', title: event.data.team, text: startText(event) },
        ...(event.data.warnings ?? []).map(note),
      ]
    case 'team:handoff': {
      const { from, to, handoff_reason, problems = [] } = event.data
      const agent = (name: string | null) => (name === 'user' ? null : name)
      const label = briefReason(handoff_reason)
      return [{ kind: 'handoff', from: agent(from), to: agent(to), label }, ...problems.map(note)]
    }
    case 'team:turn':
      return [progress(`round ${event.data.round}`, event.data.agent)]
    case 'team:group': {
      const { key, group, kind, members } = event.data
      const mode = kind === 'parallel' ? 'in parallel' : 'by consensus'
      const sessions = members.map((name) => `${key}/member/${name}`)
      return [
        ...sessions.map((session) => ({ kind: 'session' as const, session, group: `${key} ${group}` })),
        progress(`${members.join(', ')} ${mode}`, group),
      ]
    }
    case 'team:loop':
      return [{ kind: 'notice', notice: 'loop', text: `${loopLabel(event.data.kind)}: ${event.data.message}` }]
    case 'team:compress':
      return [progress(compressionText(event))]
    case 'team:steered': {
      const { action, by, accepted, reason = '' } = event.data
      const text = formatSteerAction(action)
      return [accepted ? progress(`applied: ${text}`) : note(`rejected: ${text} by ${by}: ${reason}`)]
    }
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

/** Who begins, and who took which role. */
function startText({ data: { first, filled_roles = [] } }: TeamEventOf<'team:start'>): string {
  const assignments = filled_roles.map(({ name, uses, by, similarity }) => {
    const reason = similarity === undefined ? by.join(', ') : `similarity ${similarity.toFixed(2)}`
    return `${name} is ${uses} (${reason})`
  })
  return [`${first} starts`, ...assignments].join('; ')
}

export function loopLabel(kind: string): string {
  return kind === 'max_rounds' ? 'round limit reached' : 'loop detected'
}

function compressionText({ data: { before, after, messages, error } }: TeamEventOf<'team:compress'>): string {
  if (error !== undefined) return `summary failed: ${error}`
  const size = (bytes: number) => `${Math.max(1, Math.round(bytes / 1024))} kB`
  return `summarised ${messages} older messages: ${size(before)} → ${size(after)}`
}

/** The part of a session in its team; `undefined` for other sessions. */
function teamSession(team: TeamView, session: SessionFacts): SessionLabel | undefined {
  const purpose = teamSessionPurpose(team, session.key)
  if (purpose === undefined) return undefined
  if (isModelFallback(team, session)) return { purpose, result: 'no model for its role', replaced: true }
  // The handoff before it shows the reason, and the mark of the turn its round.
  const isTurn = /(^|\/)(agent|group\/member\/[^/]+)$/.test(session.key)
  return { purpose, ...(isTurn ? { marked: 'start' as const } : undefined) }
}
