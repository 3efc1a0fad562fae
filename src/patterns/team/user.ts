import { USER } from '../../judgement/team/definition.ts'
import type { Floor } from './floor.ts'
import { afterUser, personSpoke, say } from './floor.ts'
import type { Handover } from './handover.ts'
import { byPerson, handOver } from './handover.ts'
import type { Line } from './prompts.ts'
import { noteHandover, noteSaid, noteTarget } from './record.ts'
import type { Failure } from './speak.ts'
import { nothing } from './speak.ts'

/** Words of the user, and who is to answer them unless a rule from `user` says otherwise. */
interface Words {
  key: string
  texts: readonly string[]
  otherwise: { to: string; reason: string }
}

/**
 * The user spoke: the request, a follow-up, what was said before the team asked or while it was about to end. It joins
 * conversation and history, what was counted before counts no more, and the rules from `user` say who answers.
 */
export async function userSpoke(
  floor: Floor,
  { key, texts, otherwise }: Words,
): Promise<(Handover & { to: string }) | Failure> {
  const lines = joined(floor, texts)
  afterUser(floor)
  floor.latest = await noteSaid(floor, { key, at: `${key}/at`, lines })
  const spoken = { ...nothing(), text: texts.join('\n'), lines }
  const handover = await handOver(floor, { from: USER, key, spoken }, otherwise)
  if ('error' in handover) return handover
  const to = handover.to ?? otherwise.to
  noteTarget(floor, USER, { ...handover, to })
  return { ...handover, to }
}

/** What the user says to a team at work: the next one reads it, and whose turn it is stays as it was. */
export async function remarked(floor: Floor, key: string, texts: readonly string[]): Promise<void> {
  if (texts.length === 0) return
  personSpoke(floor)
  await noteSaid(floor, { key, at: `${key}/at`, lines: joined(floor, texts) })
}

function joined(floor: Floor, texts: readonly string[]): Line[] {
  const at = floor.round > 0 ? { round: floor.round } : undefined
  const lines = texts.map((text) => ({ from: USER, ...at, text }))
  for (const line of lines) say(floor, line)
  return lines
}

/** A person sends the work elsewhere than it would have gone. */
export function diverted(
  floor: Floor,
  key: string,
  { from, over, to }: { from: string; over: string; to: string },
): string {
  const handover = byPerson(to, `a person chose ${to} over ${over}`)
  noteTarget(floor, from, handover)
  noteHandover(floor, { key: `${key}/handoff`, from, handover })
  return to
}
