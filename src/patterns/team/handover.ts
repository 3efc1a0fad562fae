import { nearest } from '../../errors.ts'
import type { Decision, Routing, Rule, Verdict } from '../../judgement/handoff.ts'
import { decideAmong } from '../../judgement/handoff.ts'
import { PREVIOUS_AGENT, USER } from '../../judgement/team/definition.ts'
import type { Explained, HandoffBy } from '../../kernel/team-event.ts'
import { choose, goingOn } from './choice.ts'
import type { Floor } from './floor.ts'
import { noteFacts, previousOf } from './floor.ts'
import type { Line } from './prompts.ts'
import { judge } from './router.ts'
import type { Failure, Spoken } from './speak.ts'

/** Where the work goes: to a member, to the user, or nowhere. */
export interface Handover {
  to: string | null
  by: HandoffBy
  reason: string
  explanation: Explained
  problems: string[]
}

interface Decided {
  routing: Routing
  problems: string[]
}

interface Deciding {
  from: string
  key: string
  rules: readonly Rule[]
  said: readonly Line[]
  verdicts: Map<string, Verdict>
  /** Nobody is asked: what is open stays open. */
  silent: boolean
}

/** Decides who goes on after one has spoken. A failed turn that no rule takes up is the failure of the team. */
export async function handOver(floor: Floor, from: string, spoken: Spoken): Promise<Handover | Failure> {
  const { plan, round } = floor
  noteFacts(floor, from, spoken.failure !== undefined)
  const applying = spoken.failure ? plan.errorRules(from) : plan.rules(from)
  const verdicts = new Map(spoken.verdicts)
  const problems = [...spoken.problems, ...suggestionProblems(floor, spoken.next)]
  const refused = new Set<number>()
  for (;;) {
    const rules = refused.size === 0 ? applying : applying.filter(({ index }) => !refused.has(index))
    const key = refused.size === 0 ? `round/${round}` : `round/${round}/again/${refused.size}`
    const deciding = { from, key, rules, said: spoken.lines, verdicts, silent: spoken.failure !== undefined }
    const decided = await decideWith(floor, deciding)
    if ('failure' in decided) return decided.failure
    problems.push(...decided.problems)
    const { decision } = decided.routing
    if (!decision) return spoken.failure ?? afterWork(floor, from, { ...decided, problems })
    const to = decision.to === PREVIOUS_AGENT ? previousOf(floor, from) : decision.to
    const { rule = -1 } = decision
    if (to === undefined) {
      problems.push(`rule ${rule + 1} hands to ${PREVIOUS_AGENT}, and nobody spoke before ${from}`)
      refused.add(rule)
      continue
    }
    const handover = { ...explained(decided.routing, decision, to), reason: decision.reason, problems }
    if (!plan.team.handoffs[rule]?.approve) return { to, by: decision.by, ...handover }
    const approved = await approval(floor, { from, to, reason: handover.reason, key })
    if (approved === 'no') refused.add(rule)
    else if (approved === 'yes') return { to, by: decision.by, ...handover }
    else return { to: approved, by: 'person', ...handover, reason: `a person chose ${approved} over ${to}` }
  }
}

/** Who a message of the user is for: by the rules from `user`; nobody in particular when none holds. */
export async function handOverFromUser(
  floor: Floor,
  key: string,
  text: string,
): Promise<Handover | Failure | undefined> {
  const rules = floor.plan.rules(USER)
  if (rules.length === 0) return undefined
  const { values } = floor
  values.round = floor.round
  values.error_detected = false
  values.iteration_count = 0
  const deciding = { from: USER, key, rules, said: [{ from: USER, text }], verdicts: new Map(), silent: false }
  const decided = await decideWith(floor, deciding)
  if ('failure' in decided) return decided.failure
  const { decision } = decided.routing
  const to = decision?.to === PREVIOUS_AGENT ? floor.speakers.at(-1) : decision?.to
  if (!decision || to === undefined || to === USER) return undefined
  return {
    to,
    by: decision.by,
    ...explained(decided.routing, decision, to),
    reason: decision.reason,
    problems: decided.problems,
  }
}

/** Exact values and verdicts first; a model is asked only when what is open can change the decision. */
async function decideWith(floor: Floor, deciding: Deciding): Promise<Decided | { failure: Failure }> {
  const { from, key, rules, said, verdicts, silent } = deciding
  const state = { variables: floor.values, verdict: (leaf: string) => verdicts.get(leaf) }
  const first = decideAmong(rules, silent ? { ...state, final: true } : state)
  if (first.open.length === 0) return { routing: first, problems: [] }
  const judged = await judge(floor, key, { from, said, leaves: first.open })
  if (!judged.ok) return judged
  for (const [leaf, verdict] of judged.verdicts) verdicts.set(leaf, verdict)
  return { routing: decideAmong(rules, { ...state, final: true }), problems: judged.problems }
}

function afterWork(floor: Floor, from: string, { routing, problems }: Decided): Handover {
  const behaviour = floor.plan.team.after_work_behavior
  const to = { return_to_user: USER, terminate: null, continue: from }[behaviour]
  const decision = { to: to ?? '', by: 'after_work' as const, reason: '' }
  const reason = `no rule holds; after_work_behavior is ${behaviour}`
  return { to, by: 'after_work', ...explained(routing, decision, to), reason, problems }
}

/** The decision as `troupe team explain --json` shows it. */
function explained({ rules }: Routing, { by }: Decision, to: string | null): { explanation: Explained } {
  const shown = rules.map(({ from, to: target, priority, holds, parts }) => ({
    from,
    to: target,
    priority,
    holds,
    parts,
  }))
  return { explanation: { decision: { to, by }, rules: shown } }
}

function suggestionProblems({ plan }: Floor, next: unknown): string[] {
  if (next === undefined || next === null || next === '') return []
  if (typeof next === 'string' && (plan.names.includes(next) || next === USER)) return []
  const known = typeof next === 'string' ? nearest(next, plan.names).slice(0, 5) : plan.names.slice(0, 5)
  return [`it names ${JSON.stringify(next)} to go on, who is not in the team; known: ${known.join(', ')}`]
}

async function approval(
  { context, plan }: Floor,
  { from, to, reason, key }: { from: string; to: string; reason: string; key: string },
): Promise<string> {
  const choice = await choose(context, `${key}/approve`, {
    question: {
      question: `${from} wants to hand over to ${to}: ${reason}. Answer yes, no, or who should go on instead.`,
      detail: { kind: 'approve', from, to, takes: ['continue', 'override'], answers: ['yes', 'no', ...plan.names] },
    },
    read: (answer) => goingOn(answer, plan.names),
  })
  if (choice.do === 'override') return choice.agent
  return choice.do === 'stop' ? 'no' : 'yes'
}
