import { USER } from '../../judgement/team/definition.ts'
import { entryOf } from '../../judgement/team/parts.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { checkInput } from './check-input.ts'
import { wordsOf } from './choice.ts'
import { keepRoom } from './compress.ts'
import type { Floor } from './floor.ts'
import { afterUser, newFloor, noteHandoff, say } from './floor.ts'
import { formTeam } from './form.ts'
import { groupTurn } from './group.ts'
import { guardLoop } from './guard.ts'
import type { Handover } from './handover.ts'
import { handOver, handOverFromUser } from './handover.ts'
import type { HistoryEntry, TeamOutput, TeamReason, TeamRunInput } from './input.ts'
import { teamInput, teamOutput } from './input.ts'
import { planOf } from './plan.ts'
import type { Failure, Spoken } from './speak.ts'
import { noteTurn, workOf } from './speak.ts'
import { checkSteer, takeSteering } from './steer.ts'
import { timestampOf } from './timestamp.ts'

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
    const formed = await formTeam(context, input.team)
    const floor = newFloor(context, planOf(input.team, context.roster, formed), input)
    for (const { from, text, artifacts } of input.before) say(floor, { from, text, artifacts })
    say(floor, { from: USER, text: input.message })
    const first = await handOverFromUser(floor, 'start', input.message)
    if (first && 'error' in first) return failed(floor, first, '')
    const entry = first?.to ?? entryOf(input.team) ?? ''
    context.emit('start', 'team:start', {
      ...{ team: input.team.name, agents: floor.plan.names.length, first: entry },
      ...(formed.length > 0 ? { formed: formed.map(({ name, uses }) => ({ name, uses })) } : undefined),
    })
    return work(floor, entry)
  },
})

type Course = { next: string } | { end: PatternResult }

async function work(floor: Floor, first: string): Promise<PatternResult> {
  for (let next = first; ; ) {
    const changed = await takeSteering(floor, next, `steer/${floor.round + 1}`)
    const course = await round(floor, changed.next ?? next)
    if ('end' in course) return course.end
    next = course.next
  }
}

async function round(floor: Floor, name: string): Promise<Course> {
  const { context } = floor
  floor.round += 1
  context.emit(`round/${floor.round}/turn`, 'team:turn', { round: floor.round, agent: name })
  await keepRoom(floor)
  const spoken = await turnOf(floor, name)
  const { failure } = spoken
  // A cancelled run, or one that has used up a limit, has nobody left who could take care of it.
  if (failure && (failure.stop_reason === 'cancelled' || failure.error.code === 'limit_reached')) {
    return { end: failed(floor, failure, name) }
  }
  const handover = await handOver(floor, name, spoken)
  if ('error' in handover) return { end: failed(floor, handover, name) }
  await note(floor, { from: name, spoken, handover })
  if (handover.to === null) return ending(floor, name, 'terminated')
  if (handover.to === USER) return toUser(floor, name, spoken)
  return passOn(floor, spoken, { from: name, to: handover.to })
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

interface Turn {
  from: string
  spoken: Spoken
  handover: Handover
}

/** Writes down what was said and decided: in the history, and as an event that settles everything of this round. */
async function note(floor: Floor, { from, spoken, handover }: Turn): Promise<void> {
  const { context, round: at, history, handoffs } = floor
  const timestamp = timestampOf(await context.now(`round/${at}/at`))
  const { to, by, reason, explanation, problems } = handover
  const goesOn = to !== null && to !== USER && to !== from
  const target = { handoff_triggered: goesOn, handoff_target: goesOn ? to : null, handoff_reason: reason }
  for (const [index, line] of spoken.lines.entries()) {
    const step_id = spoken.lines.length === 1 ? `round/${at}` : `round/${at}/${index + 1}`
    history.push(historyEntry(step_id, line, { timestamp, ...target }))
  }
  handoffs.push({ round: at, from, to, by, handoff_reason: reason })
  const suggested = typeof spoken.next === 'string' ? { suggested: spoken.next } : undefined
  context.emit(`round/${at}`, 'team:handoff', {
    ...{ round: at, from, to, by, handoff_reason: reason, explanation, ...suggested },
    ...(problems.length > 0 ? { problems } : undefined),
    ...(spoken.variables.size > 0 ? { variables: Object.fromEntries(spoken.variables) } : undefined),
    ...(spoken.joint ? { agreed: spoken.text } : undefined),
  })
}

function historyEntry(
  step_id: string,
  { from, text = '', artifacts = [], error }: Spoken['lines'][number],
  rest: Pick<HistoryEntry, 'timestamp' | 'handoff_triggered' | 'handoff_target' | 'handoff_reason'>,
): HistoryEntry {
  const said = { step_id, agent_name: from, parts: [{ type: 'text' as const, text }], artifacts: [...artifacts] }
  return { ...said, ...rest, ...(error === undefined ? undefined : { error }) }
}

async function passOn(floor: Floor, spoken: Spoken, move: { from: string; to: string }): Promise<Course> {
  const guarded = await guardLoop(floor, spoken, move)
  if (guarded?.to === null) return ending(floor, move.from, 'stopped')
  const to = guarded?.to ?? move.to
  noteHandoff(floor, move.from, to)
  return { next: to }
}

/** The question is what was said last. Within a team, the team above is the one to return to. */
async function toUser(floor: Floor, from: string, spoken: Spoken): Promise<Course> {
  const { context, round: at } = floor
  if (floor.input.nested > 0) return { end: completed(floor, from, 'returned') }
  // Whoever spoke while it worked has answered before being asked.
  const early = await takeSteering(floor, null, `reply/${at}/early`)
  if (early.next !== null) return { next: early.next }
  if (early.spoke) return replied(floor, from, floor.lines.at(-1)?.text ?? '')
  const answer = await context.ask(`reply/${at}/gate`, {
    question: spoken.text.trim() === '' ? `${from} returns to you.` : spoken.text,
    detail: { kind: 'reply', agent: from, takes: ['say'], ends: 'an empty answer ends the conversation' },
  })
  const text = wordsOf(answer)
  if (text === undefined) return ending(floor, from, 'ended_by_user')
  say(floor, { from: USER, round: at, text })
  return replied(floor, from, text)
}

/** The user has spoken to the one that returned, unless a rule from the user says otherwise. */
async function replied(floor: Floor, from: string, text: string): Promise<Course> {
  const { context, round: at, history } = floor
  afterUser(floor)
  const timestamp = timestampOf(await context.now(`reply/${at}/at`))
  const handover = await handOverFromUser(floor, `reply/${at}`, text)
  if (handover && 'error' in handover) return { end: failed(floor, handover, from) }
  const to = handover?.to ?? from
  const reason = handover?.reason ?? `no rule from ${USER} holds; the answer goes to the one that returned`
  const target = { handoff_triggered: true, handoff_target: to, handoff_reason: reason }
  history.push(historyEntry(`reply/${at}`, { from: USER, text }, { timestamp, ...target }))
  const by = handover?.by ?? 'after_work'
  floor.handoffs.push({ round: at, from: USER, to, by, handoff_reason: reason })
  context.emit(`reply/${at}`, 'team:handoff', {
    ...{ round: at, from: USER, to, by, handoff_reason: reason },
    explanation: handover?.explanation ?? { decision: { to, by }, rules: [] },
    ...(handover && handover.problems.length > 0 ? { problems: handover.problems } : undefined),
  })
  return { next: to }
}

/** The team would end here; what people asked meanwhile is not lost. */
async function ending(floor: Floor, from: string, reason: TeamReason): Promise<Course> {
  const { next, spoke } = await takeSteering(floor, null, `ending/${floor.round}`)
  if (next !== null) return { next }
  if (spoke) return { next: from }
  return { end: completed(floor, from, reason) }
}

function completed(floor: Floor, agent: string, reason: TeamReason): PatternResult {
  floor.context.emit('complete', 'team:complete', { rounds: floor.round, agent, reason })
  return { success: true, output: outputOf(floor, { agent, status: 'completed', reason }), stop_reason: 'completed' }
}

/** Everything that was done is in the output; whoever resumes the run tries the failed step again. */
function failed(floor: Floor, { error, stop_reason }: Failure, agent: string): PatternResult {
  const status = stop_reason === 'cancelled' ? 'cancelled' : 'failed'
  const output = outputOf(floor, { agent, status, reason: status })
  const where = agent === '' ? '' : `${agent}, round ${floor.round}: `
  const detail = { ...error, message: `${where}${error.message}` }
  return { success: false, output, error: detail.message, stop_reason, detail }
}

function outputOf(floor: Floor, end: Pick<TeamOutput, 'agent' | 'status' | 'reason'>): TeamOutput {
  const { history, round: rounds, variables, artifacts, handoffs, totals } = floor
  const last = history.findLastIndex(({ agent_name }) => agent_name !== USER)
  let from = last
  while (from > 0 && stepOf(history[from - 1]) === stepOf(history[last])) from -= 1
  const response = last === -1 ? [] : history.slice(from, last + 1)
  return {
    response: response.map(({ parts }) => parts.map(({ text }) => text).join('')).join('\n\n'),
    ...end,
    ...{ rounds, history, variables, artifacts: [...new Set(artifacts)], handoffs, totals },
  }
}

/** The round of a step: members of a group spoke in one. */
function stepOf(entry: HistoryEntry | undefined): string | undefined {
  return entry?.step_id.split('/').slice(0, 2).join('/')
}
