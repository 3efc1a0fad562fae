import { USER } from '../../judgement/team/team-schema.ts'
import { MAX_PRIOR_MESSAGES } from './input.ts'
import type { TeamMessage } from './prompts.ts'
import type { TeamState } from './team-state.ts'
import { appendMessage } from './team-state.ts'

/*
 * What those are told who work on a part of the request: a team within the team, a group that is to agree. The request
 * stays the request: what the user says later is said to them as well, and never takes its place.
 */

/** How many of the last messages they are given. */
const MAX_RECENT_MESSAGES = 6

/** The last messages, and whatever the user said beside the request, in the order of the conversation. */
export function inheritedMessages(floor: TeamState): TeamMessage[] {
  const { conversation } = floor
  const request = findRequestMessage(floor)
  const last = new Set(conversation.filter(({ from }) => from !== USER).slice(-MAX_RECENT_MESSAGES))
  return conversation
    .filter((line) => line !== request && (line.from === USER || last.has(line)))
    .slice(-MAX_PRIOR_MESSAGES)
}

/** The line that says what the team was asked to do. */
export function findRequestMessage({ conversation, input }: TeamState): TeamMessage | undefined {
  return conversation.findLast(
    ({ from, round, text }) => from === USER && round === undefined && text === input.message,
  )
}

/** The same for another team, in which others may be called the same: names are those of this team. */
export function toSubTeamContext(floor: TeamState): { from: string; text: string; artifacts: string[] }[] {
  const { name: team } = floor.plan.team
  return inheritedMessages(floor).map(({ from, text, summary, error, artifacts = [] }) => ({
    from: from === USER || from.includes('/') ? from : `${team}/${from}`,
    text: text ?? summary ?? error ?? '',
    artifacts: [...artifacts],
  }))
}

/** What was said before this team came in. */
export function appendPriorMessages(floor: TeamState): void {
  for (const { from, text, artifacts } of floor.input.before) appendMessage(floor, { from, text, artifacts })
}
