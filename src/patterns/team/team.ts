import { USER } from '../../judgement/team/definition.ts'
import { entryOf } from '../../judgement/team/parts.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { checkInput, warningsOf } from './check-input.ts'
import { wordsOf } from './choice.ts'
import { keepRoom } from './compress.ts'
import type { Floor } from './floor.ts'
import { newFloor, noteHandoff, takeTurn } from './floor.ts'
import { formTeam } from './form.ts'
import { groupTurn } from './group.ts'
import { guardLoop } from './guard.ts'
import { hearBefore } from './handed-down.ts'
import type { Handover } from './handover.ts'
import { afterWork, handOver } from './handover.ts'
import type { TeamReason, TeamRunInput } from './input.ts'
import { teamInput, teamOutput } from './input.ts'
import { completed, failed } from './output.ts'
import { planOf } from './plan.ts'
import { noteHandover, noteSaid, noteTarget } from './record.ts'
import type { Spoken } from './speak.ts'
import { noteTurn, workOf } from './speak.ts'
import type { Changed } from './steer.ts'
import { checkSteer, takeLastWishes, takeSteering } from './steer.ts'
import { checkSupplies } from './supplies.ts'
import { diverted, remarked, userSpoke } from './user.ts'

/**
 * A team that hands work from one to the other by rules that a person wrote. One round is one turn: people's wishes are
 * taken, the member works, its answer joins the conversation that all share, and the rules say who goes on.
 */
export const team = definePattern<TeamRunInput>({
  name: 'team',
  version: 1,
  description: 'A team of agents that hand work to each other by rules in plain language.',
  category: 'task_management',
  delegates: true,
  input: teamInput,
  output: teamOutput,
  check: checkInput,
  subject: ({ team: { name } }) => name,
  steer: (input, action) => checkSteer(input.team, action),
  async execute(context, input) {
    // A team within another one hears the request first, and then what came of it so far.
    const within = context.within !== undefined
    const missing = within ? [] : await checkSupplies(context, input.team)
    const formed = await formTeam(context, input.team)
    const floor = newFloor(context, planOf(input.team, context.roster, formed), input)
    if (!within) hearBefore(floor)
    const otherwise = { to: entryOf(input.team) ?? '', reason: 'no rule from user holds; the entry begins' }
    const first = await userSpoke(floor, { key: 'start', texts: [input.message], otherwise })
    if ('error' in first) return failed(floor, first, { agent: '', where: '' })
    if (within) hearBefore(floor)
    const warnings = within ? [] : [...warningsOf(input), ...missing]
    context.emit('start', 'team:start', {
      ...{ team: input.team.name, agents: floor.plan.names.length, first: first.to },
      ...(formed.length > 0 ? { formed: formed.map(({ name, uses, by = [] }) => ({ name, uses, by })) } : undefined),
      ...(warnings.length > 0 ? { warnings } : undefined),
    })
    // Where no rule speaks of the user there was nothing to decide.
    if (floor.plan.rules(USER).length > 0) noteHandover(floor, { key: 'start/handoff', from: USER, handover: first })
    return work(floor, { from: USER, next: first.to })
  },
})

type Course = { from: string; next: string } | { end: PatternResult }

async function work(floor: Floor, first: { from: string; next: string }): Promise<PatternResult> {
  for (let { from, next } = first; ; ) {
    const key = `steer/${floor.round + 1}`
    const changed = await takeSteering(floor, next, key)
    await remarked(floor, key, changed.said)
    if (changed.next !== null && changed.next !== next)
      next = diverted(floor, key, { from, over: next, to: changed.next })
    const course = await round(floor, next)
    if ('end' in course) return course.end
    ;({ from, next } = course)
  }
}

async function round(floor: Floor, name: string): Promise<Course> {
  const { context } = floor
  takeTurn(floor, name)
  const key = `round/${floor.round}`
  context.emit(`${key}/turn`, 'team:turn', { round: floor.round, agent: name })
  await keepRoom(floor)
  const spoken = await turnOf(floor, name)
  const { failure } = spoken
  const where = `${name}, round ${floor.round}: `
  if (failure?.stop_reason === 'cancelled') return { end: failed(floor, failure, { agent: name, where }) }
  await heard(floor, key, spoken)
  // Who has used up a limit of the run has nobody left who could take care of it.
  if (failure?.error.code === 'limit_reached') return { end: failed(floor, failure, { agent: name, where }) }
  const speaking = { from: name, key, spoken }
  const handover = await handOver(floor, speaking, afterWork(floor, name))
  if ('error' in handover) {
    return { end: failed(floor, handover, { agent: name, where: handover === failure ? where : `after ${where}` }) }
  }
  const guarded = await guardLoop(floor, speaking, handover)
  noteTarget(floor, name, guarded)
  noteHandover(floor, { key, from: name, handover: guarded, spoken })
  return onward(floor, { name, spoken, stopped: guarded.to === null && guarded.by === 'person' }, guarded)
}

async function turnOf(floor: Floor, name: string): Promise<Spoken> {
  const { plan } = floor
  const member = plan.member(name)
  const leaves = plan.leaves(name, floor.values)
  const key = `round/${floor.round}`
  if (member.kind === 'group') return groupTurn(floor, member.group, { key: `${key}/group`, leaves })
  const spoken = await workOf(floor, member, { key: `${key}/${member.kind}`, leaves })
  noteTurn(floor, name, spoken)
  return spoken
}

/** A turn that failed is tried again on resume, and then has been at another time. */
async function heard(floor: Floor, key: string, { lines, failure }: Spoken): Promise<void> {
  floor.latest = await noteSaid(floor, { key, at: failure ? `${key}/failed` : `${key}/at`, lines })
  const words = lines.map(({ text = '' }) => text).join('\n\n')
  if (!failure || words.trim() !== '') floor.response = words
}

async function onward(
  floor: Floor,
  { name, spoken, stopped }: { name: string; spoken: Spoken; stopped: boolean },
  { to }: Handover,
): Promise<Course> {
  if (to === null) return ending(floor, name, stopped ? 'stopped' : 'terminated')
  if (to === USER) return toUser(floor, name, spoken)
  noteHandoff(floor, name, to)
  return { from: name, next: to }
}

/** The question is what was said last. Within a team, the team above is the one to return to. */
async function toUser(floor: Floor, from: string, spoken: Spoken): Promise<Course> {
  const { context, round: at } = floor
  if (context.within !== undefined) return { end: completed(floor, from, 'returned') }
  // Whoever spoke while it worked has answered before being asked.
  const key = `reply/${at}/early`
  const early = await changedCourse(floor, from, { key, over: USER, changed: await takeSteering(floor, null, key) })
  if (early) return early
  const answer = await context.ask(`reply/${at}/gate`, {
    question: spoken.text.trim() === '' ? `${from} returns to you.` : spoken.text,
    detail: { kind: 'reply', agent: from, takes: ['say'], ends: 'an empty answer ends the conversation' },
  })
  const text = wordsOf(answer)
  return text === undefined ? ending(floor, from, 'ended_by_user') : replied(floor, from, [text])
}

/** What people asked for while the team was about to stop: somebody else goes on, or what they said is answered. */
async function changedCourse(
  floor: Floor,
  from: string,
  { key, over, changed: { next, said } }: { key: string; over: string; changed: Changed },
): Promise<Course | undefined> {
  if (next === null) return said.length > 0 ? replied(floor, from, said) : undefined
  await remarked(floor, key, said)
  return { from, next: diverted(floor, key, { from, over, to: next }) }
}

/** The user has spoken to the one that returned, unless a rule from the user says otherwise. */
async function replied(floor: Floor, from: string, texts: readonly string[]): Promise<Course> {
  const key = `reply/${floor.round}`
  const otherwise = { to: from, reason: `no rule from ${USER} holds; the answer goes to the one that returned` }
  const handover = await userSpoke(floor, { key, texts, otherwise })
  if ('error' in handover) return { end: failed(floor, handover, { agent: from, where: '' }) }
  noteHandover(floor, { key, from: USER, handover })
  return { from: USER, next: handover.to }
}

/** The team would end here; what people asked meanwhile is not lost. */
async function ending(floor: Floor, from: string, reason: TeamReason): Promise<Course> {
  const key = `ending/${floor.round}`
  const changed = await takeLastWishes(floor, key)
  const course = await changedCourse(floor, from, { key, over: 'the end', changed })
  return course ?? { end: completed(floor, from, reason) }
}
