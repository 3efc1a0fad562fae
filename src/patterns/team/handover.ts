import { nearest } from '../../errors.ts'
import type { Routing, Rule, Verdict } from '../../judgement/handoff.ts'
import { decideAmong } from '../../judgement/handoff.ts'
import { PREVIOUS_AGENT, USER } from '../../judgement/team/definition.ts'
import type { Explained, HandoffBy } from '../../kernel/team-event.ts'
import { choose, goingOn } from './choice.ts'
import type { Floor } from './floor.ts'
import { noteFacts, previousOf } from './floor.ts'
import type { Judged, Line } from './prompts.ts'
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

/** Somebody has spoken: a member in its turn, or the user. */
export interface Speaking {
  from: string
  key: string
  spoken: Spoken
}

/** Where the work goes when no rule holds. */
export interface Otherwise {
  to: string | null
  reason: string
}

/** Decides who goes on after one has spoken. A failed turn that no rule takes up is the failure of the team. */
export async function handOver(
  floor: Floor,
  { from, key, spoken }: Speaking,
  otherwise: Otherwise,
): Promise<Handover | Failure> {
  const { plan } = floor
  const failed = spoken.failure !== undefined
  noteFacts(floor, from, failed)
  const applying = plan.rules(from, failed)
  const verdicts = new Map(spoken.verdicts)
  const problems = [...spoken.problems, ...suggestionProblems(floor, spoken.next)]
  const refused = new Set<number>()
  for (;;) {
    const rules = refused.size === 0 ? applying : applying.filter(({ index }) => !refused.has(index))
    const at = refused.size === 0 ? key : `${key}/again/${refused.size}`
    const decided = await decideWith(floor, { from, key: at, rules, said: spoken.lines, verdicts, silent: failed })
    if ('failure' in decided) return decided.failure
    problems.push(...decided.problems)
    const { decision } = decided.routing
    if (!decision) return spoken.failure ?? undecided(decided.routing, otherwise, problems)
    const to = decision.to === PREVIOUS_AGENT ? previousOf(floor, from) : decision.to
    const { rule } = decision
    if (to === undefined) {
      problems.push(`rule ${rule + 1} hands to ${PREVIOUS_AGENT}, and nobody spoke before ${from}`)
      refused.add(rule)
      continue
    }
    const handover = { ...explained(decided.routing, decision, to), reason: decision.reason, problems }
    if (!plan.team.handoffs[rule]?.approve) return { to, by: decision.by, ...handover }
    const approved = await approval(floor, { from, to, reason: handover.reason, key: at })
    if (approved === 'no') refused.add(rule)
    else if (approved === 'yes') return { to, by: decision.by, ...handover }
    else return { to: approved, by: 'person', ...handover, reason: `a person chose ${approved} over ${to}` }
  }
}

/** What `after_work_behavior` says about the one who has worked. */
export function afterWork({ plan }: Floor, from: string): Otherwise {
  const behaviour = plan.team.after_work_behavior
  const to = { return_to_user: USER, terminate: null, continue: from }[behaviour]
  return { to, reason: `no rule holds; after_work_behavior is ${behaviour}` }
}

/** What a person decided past the rules. */
export function byPerson(to: string | null, reason: string): Handover {
  return { to, by: 'person', reason, explanation: { decision: { to, by: 'person' }, rules: [] }, problems: [] }
}

/** Exact values and verdicts first; a model is asked only when what is open can change the decision. */
async function decideWith(floor: Floor, deciding: Deciding): Promise<Decided | { failure: Failure }> {
  const { from, key, rules, said, verdicts, silent } = deciding
  const state = { variables: floor.values, verdict: (leaf: string) => verdicts.get(leaf) }
  const first = decideAmong(rules, silent ? { ...state, final: true } : state)
  if (first.open.length === 0) return { routing: first, problems: [] }
  const judged = await judge(floor, key, { from, said, leaves: first.open, ...knownOf(floor, said) })
  if (!judged.ok) return judged
  for (const [leaf, verdict] of judged.verdicts) verdicts.set(leaf, verdict)
  return { routing: decideAmong(rules, { ...state, final: true }), problems: judged.problems }
}

/** What a sentence may be about beside the last words: what the user asked before them, and the team's variables. */
function knownOf({ lines, variables }: Floor, said: readonly Line[]): Pick<Judged, 'asked' | 'variables'> {
  const asked = lines.filter((line) => line.from === USER && !said.includes(line))
  return { asked: asked.map(({ text = '' }) => text), variables }
}

function undecided(routing: Routing, { to, reason }: Otherwise, problems: string[]): Handover {
  return { to, by: 'after_work', ...explained(routing, { by: 'after_work' }, to), reason, problems }
}

/** The decision as `troupe team explain --json` shows it. */
function explained(
  { rules }: Routing,
  { by }: { by: Explained['decision']['by'] },
  to: string | null,
): { explanation: Explained } {
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
      detail: { kind: 'approve', from, to, takes: ['override'], answers: ['yes', 'no', ...plan.names] },
    },
    read: (answer) => goingOn(answer, plan.names),
  })
  if (choice.do === 'override') return choice.agent
  return choice.do === 'stop' ? 'no' : 'yes'
}
