import { USER } from '../../judgement/team/definition.ts'
import type { Floor } from './floor.ts'
import { say } from './floor.ts'
import { MOST_BEFORE } from './input.ts'
import type { Line } from './prompts.ts'

/*
 * What those are told who work on a part of the request: a team within the team, a group that is to agree. The request
 * stays the request: what the user says later is said to them as well, and never takes its place.
 */

/** How many of the last messages they are given. */
const LAST = 6

/** The last messages, and whatever the user said beside the request, in the order of the conversation. */
export function handedDown(floor: Floor): Line[] {
  const { lines } = floor
  const request = requestIn(floor)
  const last = new Set(lines.filter(({ from }) => from !== USER).slice(-LAST))
  return lines.filter((line) => line !== request && (line.from === USER || last.has(line))).slice(-MOST_BEFORE)
}

/** The line that says what the team was asked to do. */
export function requestIn({ lines, input }: Floor): Line | undefined {
  return lines.findLast(({ from, round, text }) => from === USER && round === undefined && text === input.message)
}

/** The same for another team, in which others may be called the same: names are those of this team. */
export function toldToTeam(floor: Floor): { from: string; text: string; artifacts: string[] }[] {
  const { name: team } = floor.plan.team
  return handedDown(floor).map(({ from, text, summary, error, artifacts = [] }) => ({
    from: from === USER || from.includes('/') ? from : `${team}/${from}`,
    text: text ?? summary ?? error ?? '',
    artifacts: [...artifacts],
  }))
}

/** What was said before this team came in. */
export function hearBefore(floor: Floor): void {
  for (const { from, text, artifacts } of floor.input.before) say(floor, { from, text, artifacts })
}
