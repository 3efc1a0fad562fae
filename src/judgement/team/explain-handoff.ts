import { TroupeError, unknownNameError } from '../../errors.ts'
import type { Truth, VariableValue } from '../condition/condition-tree.ts'
import { conditionLeaves } from '../condition/condition-tree.ts'
import type { PartResult } from '../condition/evaluate-condition.ts'
import { evaluateCondition } from '../condition/evaluate-condition.ts'
import type { HandoffRule, RoutingDecision } from './handoff-routing.ts'
import { createRuleLookup, handlesFailure, routeHandoff } from './handoff-routing.ts'
import { parseHandoffRules } from './handoff-rules.ts'
import { synchronisationReason, synchronisedAgents } from './synchronisation.ts'
import { entryMember, teamMembers } from './team-members.ts'
import type { Team } from './team-schema.ts'
import { PREVIOUS_AGENT, USER } from './team-schema.ts'
import { initialSystemVariables } from './team-variables.ts'

/** The facts of an explanation: variables, and verdicts on sentences of conditions. */
export interface Assumptions {
  variables?: Readonly<Record<string, VariableValue>>
  /** Sentences that are true. */
  assume?: readonly string[]
  /** Sentences that are false. */
  deny?: readonly string[]
}

export interface ExplainedRule {
  from: string
  to: string
  priority: number
  holds: Truth
  parts: PartResult[]
}

export interface ExplainHandoffResult {
  /** `to` is null when the work ends, or when there is no decision yet. */
  decision: { to: string | null; by: RoutingDecision['by'] | 'after_work' | 'undecided' }
  rules: ExplainedRule[]
  reason: string
  /** Sentences that need a verdict before a decision. */
  open: string[]
}

/** Evaluates every handoff rule after a turn of `from`, without running anything (dry run). */
export function explainHandoff(team: Team, from: string, assumptions: Assumptions = {}): ExplainHandoffResult {
  const { agents, groups } = teamMembers(team)
  const known = [...agents, ...groups, USER]
  if (!known.includes(from)) throw unknownNameError('unknown_agent', { kind: 'agent or group', name: from, known })
  const allRules = parseHandoffRules(team).rules
  const failed = from !== USER && assumptions.variables?.error_detected === true
  const members = team.groups?.find(({ name }) => name === from)?.members ?? []
  const missing = members.filter((member) => assumptions.variables?.[`${member}_complete`] === false)
  const rules = createRuleLookup(allRules, team.groups)(from).filter((rule) => !failed || handlesFailure(rule, missing))
  const variables = {
    ...initialSystemVariables(team, from, failed),
    ...team.context_variables,
    ...assumptions.variables,
  }
  const verdicts = assumedVerdicts(semanticSentences(allRules, variables), assumptions)
  const {
    decision,
    rules: results,
    open,
  } = routeHandoff(rules, {
    variables,
    verdict: (leaf) => {
      // A failed turn has no verdicts, and no model is asked for them.
      const value = failed ? undefined : verdicts.get(normalizeSentence(leaf))
      return value === undefined ? undefined : { value, by: 'verdict' }
    },
    final: failed,
  })
  const explained = results.map(({ from, to, priority, holds, parts }) => ({
    ...{ from, to, priority, holds },
    parts: parts.map((part) => (part.kind === 'semantic' ? { ...part, reason: assumptionReason(part) } : part)),
  }))
  if (open.length > 0) {
    const reason = `open: ${open.map((leaf) => `'${leaf}'`).join(', ')}`
    return { decision: { to: null, by: 'undecided' }, rules: explained, reason, open }
  }
  if (!decision) {
    const fallback = failed ? UNHANDLED_ERROR : (synchronisation(team, allRules, from) ?? afterWorkDecision(team, from))
    return { ...fallback, rules: explained, open }
  }
  return { decision: { to: decision.to, by: decision.by }, rules: explained, reason: decision.reason, open }
}

const UNHANDLED_ERROR: Pick<ExplainHandoffResult, 'decision' | 'reason'> = {
  decision: { to: null, by: 'after_work' },
  reason: 'no rule handles the error: the run fails',
}

function assumptionReason({ value, reason }: PartResult): string {
  return value === 'unknown' ? reason : value ? 'assumed' : 'denied'
}

function synchronisation(team: Team, rules: readonly HandoffRule[], from: string) {
  const [to] = synchronisedAgents(team, rules, from)
  return to === undefined
    ? undefined
    : { decision: { to, by: 'after_work' as const }, reason: synchronisationReason(from, to) }
}

function afterWorkDecision(team: Team, from: string): Pick<ExplainHandoffResult, 'decision' | 'reason'> {
  if (from === USER) {
    return { decision: { to: entryMember(team) ?? null, by: 'after_work' }, reason: 'no rule holds; the entry starts' }
  }
  const isSilentPerson =
    team.agents.some(({ name, kind }) => name === from && kind === 'human') &&
    !team.handoffs.some(({ from_agent }) => from_agent === from)
  if (isSilentPerson && team.handoffs.some(({ to_agent }) => to_agent === from)) {
    return { decision: { to: PREVIOUS_AGENT, by: 'after_work' }, reason: `${from} has no rule and answers who asked` }
  }
  const behavior = team.after_work_behavior
  const to = { return_to_user: USER, terminate: null, continue: from }[behavior]
  return { decision: { to, by: 'after_work' }, reason: `no rule holds; after_work_behavior is ${behavior}` }
}

type Variables = Readonly<Record<string, VariableValue>>

/** A sentence as written, and with the values of its variables inserted. */
type Sentence = { raw: string; rendered: string }

/** Verdicts by normalised sentence. */
function assumedVerdicts(
  sentences: readonly Sentence[],
  { assume = [], deny = [] }: Assumptions,
): Map<string, boolean> {
  const verdicts = new Map<string, boolean>()
  const assumed = [...assume.map((text) => [text, true] as const), ...deny.map((text) => [text, false] as const)]
  for (const [text, value] of assumed) {
    const matching = sentences.filter(({ raw, rendered }) =>
      [normalizeSentence(raw), normalizeSentence(rendered)].includes(normalizeSentence(text)),
    )
    if (matching.length === 0) {
      throw unknownSentence(
        text,
        sentences.map(({ raw }) => raw),
      )
    }
    for (const { rendered } of matching) {
      if (verdicts.get(normalizeSentence(rendered)) === !value) throw contradictoryAssumption(text)
      verdicts.set(normalizeSentence(rendered), value)
    }
  }
  return verdicts
}

function semanticSentences(rules: readonly HandoffRule[], variables: Variables): Sentence[] {
  return rules.flatMap(({ condition }) => {
    const { parts } = evaluateCondition(condition, { variables, verdict: () => undefined })
    return conditionLeaves(condition).flatMap((leaf, index) =>
      leaf.kind === 'semantic' ? [{ raw: leaf.text, rendered: parts[index]?.text ?? leaf.text }] : [],
    )
  })
}

/** Ignores case, blanks, surrounding quotes and a final full stop. */
function normalizeSentence(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/^[\s"'“”]+|[\s"'“”.!]+$/g, '')
}

function unknownSentence(text: string, known: readonly string[]): TroupeError {
  if (known.length > 0)
    return unknownNameError('invalid_input', { kind: 'sentence', name: text, known: [...new Set(known)] })
  return new TroupeError('invalid_input', `no condition of the team contains the sentence '${text}'`, {
    hint: '`--assume` and `--deny` take semantic conditions; set variables with `--set`',
  })
}

function contradictoryAssumption(text: string): TroupeError {
  return new TroupeError('invalid_input', `'${text}' is given in both \`--assume\` and \`--deny\``, {
    hint: 'remove one of them',
  })
}
