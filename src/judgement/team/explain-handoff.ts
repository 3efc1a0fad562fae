import { TroupeError, unknownNameError } from '../../errors.ts'
import type { Truth, VariableValue } from '../condition/condition-tree.ts'
import { conditionLeaves } from '../condition/condition-tree.ts'
import type { PartResult } from '../condition/evaluate-condition.ts'
import { evaluateCondition } from '../condition/evaluate-condition.ts'
import type { HandoffRule, RoutingDecision } from './handoff-routing.ts'
import { createRuleLookup, routeHandoff } from './handoff-routing.ts'
import { parseHandoffRules } from './handoff-rules.ts'
import { entryMember, teamMembers } from './team-members.ts'
import type { Team } from './team-schema.ts'
import { USER } from './team-schema.ts'
import { initialSystemVariables } from './team-variables.ts'

/** What is taken as given: the answer's words decide nothing, only these do. */
export interface Assumptions {
  variables?: Readonly<Record<string, VariableValue>>
  /** Sentences of conditions that hold, and that do not. */
  assume?: readonly string[]
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
  /** `to` is null when nobody comes next, or nothing is decided yet. */
  decision: { to: string | null; by: RoutingDecision['by'] | 'after_work' | 'undecided' }
  rules: ExplainedRule[]
  reason: string
  /** Sentences that somebody has to judge before it is decided. */
  open: string[]
}

/** What would happen after an agent's answer, rule by rule, without running anything. */
export function explainHandoff(team: Team, from: string, supposed: Assumptions = {}): ExplainHandoffResult {
  const { agents, groups } = teamMembers(team)
  const known = [...agents, ...groups, USER]
  if (!known.includes(from)) throw unknownNameError('unknown_agent', { kind: 'agent or group', name: from, known })
  const every = parseHandoffRules(team).rules
  const failed = from !== USER && supposed.variables?.error_detected === true
  const rules = createRuleLookup(every)(from, failed)
  const variables = { ...initialSystemVariables(team, from, failed), ...team.context_variables, ...supposed.variables }
  const verdicts = assumedVerdicts(semanticSentences(every, variables), supposed)
  const {
    decision,
    rules: values,
    open,
  } = routeHandoff(rules, {
    variables,
    verdict: (leaf) => {
      // A turn that failed has judged nothing, and nobody is asked about it.
      const value = failed ? undefined : verdicts.get(normalizeSentence(leaf))
      return value === undefined ? undefined : { value, by: 'verdict' }
    },
    final: failed,
  })
  const explained = values.map(({ from, to, priority, holds, parts }) => ({
    ...{ from, to, priority, holds },
    parts: parts.map((part) => (part.kind === 'semantic' ? { ...part, reason: assumptionReason(part) } : part)),
  }))
  if (open.length > 0) {
    const reason = `open: ${open.map((leaf) => `'${leaf}'`).join(', ')}`
    return { decision: { to: null, by: 'undecided' }, rules: explained, reason, open }
  }
  if (!decision) return { ...(failed ? UNHANDLED_ERROR : afterWorkDecision(team, from)), rules: explained, open }
  return { decision: { to: decision.to, by: decision.by }, rules: explained, reason: decision.reason, open }
}

const UNHANDLED_ERROR: Pick<ExplainHandoffResult, 'decision' | 'reason'> = {
  decision: { to: null, by: 'after_work' },
  reason: 'no rule takes up the error: the run fails with it',
}

function assumptionReason({ value, reason }: PartResult): string {
  return value === 'unknown' ? reason : value ? 'assumed' : 'denied'
}

function afterWorkDecision(team: Team, from: string): Pick<ExplainHandoffResult, 'decision' | 'reason'> {
  if (from === USER) {
    return { decision: { to: entryMember(team) ?? null, by: 'after_work' }, reason: 'no rule holds; the entry begins' }
  }
  const behaviour = team.after_work_behavior
  const to = { return_to_user: USER, terminate: null, continue: from }[behaviour]
  return { decision: { to, by: 'after_work' }, reason: `no rule holds; after_work_behavior is ${behaviour}` }
}

type Variables = Readonly<Record<string, VariableValue>>

type Sentence = { raw: string; judged: string }

/** The sentences that were given, by the words in which they will be asked for. */
function assumedVerdicts(
  sentences: readonly Sentence[],
  { assume = [], deny = [] }: Assumptions,
): Map<string, boolean> {
  const verdicts = new Map<string, boolean>()
  const given = [...assume.map((text) => [text, true] as const), ...deny.map((text) => [text, false] as const)]
  for (const [text, value] of given) {
    const meant = sentences.filter(({ raw, judged }) =>
      [normalizeSentence(raw), normalizeSentence(judged)].includes(normalizeSentence(text)),
    )
    if (meant.length === 0) {
      throw unknownSentence(
        text,
        sentences.map(({ raw }) => raw),
      )
    }
    for (const { judged } of meant) {
      if (verdicts.get(normalizeSentence(judged)) === !value) throw contradictoryAssumption(text)
      verdicts.set(normalizeSentence(judged), value)
    }
  }
  return verdicts
}

/** Each sentence as it is written, and with the values of its variables. */
function semanticSentences(rules: readonly HandoffRule[], variables: Variables): Sentence[] {
  return rules.flatMap(({ condition }) => {
    const { parts } = evaluateCondition(condition, { variables, verdict: () => undefined })
    return conditionLeaves(condition).flatMap((leaf, index) =>
      leaf.kind === 'semantic' ? [{ raw: leaf.text, judged: parts[index]?.text ?? leaf.text }] : [],
    )
  })
}

/** Case, blanks, quotes and a full stop do not make another sentence. */
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
  return new TroupeError('invalid_input', `no condition that applies here has a sentence '${text}'`, {
    hint: 'only sentences can be assumed or denied; --set gives variables their values',
  })
}

function contradictoryAssumption(text: string): TroupeError {
  return new TroupeError('invalid_input', `'${text}' is both assumed and denied`, { hint: 'say one of them' })
}
