import { TroupeError, unknownName } from '../../errors.ts'
import type { PartValue } from '../condition/evaluate.ts'
import { evaluate } from '../condition/evaluate.ts'
import type { Truth, Value } from '../condition/tree.ts'
import { leavesOf } from '../condition/tree.ts'
import type { Decision, Rule } from '../handoff.ts'
import { decideAmong, rulesFrom } from '../handoff.ts'
import type { Team } from './definition.ts'
import { USER } from './definition.ts'
import { castOf, entryOf } from './parts.ts'
import { rulesOf } from './rules.ts'
import { freshFacts } from './variables.ts'

/** What is taken as given: the answer's words decide nothing, only these do. */
export interface Supposed {
  variables?: Readonly<Record<string, Value>>
  /** Sentences of conditions that hold, and that do not. */
  assume?: readonly string[]
  deny?: readonly string[]
}

export interface ExplainedRule {
  from: string
  to: string
  priority: number
  holds: Truth
  parts: PartValue[]
}

export interface Explanation {
  /** `to` is null when nobody comes next, or nothing is decided yet. */
  decision: { to: string | null; by: Decision['by'] | 'after_work' | 'undecided' }
  rules: ExplainedRule[]
  reason: string
  /** Sentences that somebody has to judge before it is decided. */
  open: string[]
}

/** What would happen after an agent's answer, rule by rule, without running anything. */
export function explainHandoff(team: Team, from: string, supposed: Supposed = {}): Explanation {
  const { agents, groups } = castOf(team)
  const known = [...agents, ...groups, USER]
  if (!known.includes(from)) throw unknownName('unknown_agent', 'agent or group', from, known)
  const every = rulesOf(team).rules
  const failed = from !== USER && supposed.variables?.error_detected === true
  const rules = rulesFrom(every)(from, failed)
  const variables = { ...freshFacts(team, from, failed), ...team.context_variables, ...supposed.variables }
  const verdicts = verdictsOf(sentencesOf(every, variables), supposed)
  const {
    decision,
    rules: values,
    open,
  } = decideAmong(rules, {
    variables,
    verdict: (leaf) => {
      // A turn that failed has judged nothing, and nobody is asked about it.
      const value = failed ? undefined : verdicts.get(plain(leaf))
      return value === undefined ? undefined : { value, by: 'verdict' }
    },
    final: failed,
  })
  const explained = values.map(({ from, to, priority, holds, parts }) => ({
    ...{ from, to, priority, holds },
    parts: parts.map((part) => (part.kind === 'semantic' ? { ...part, reason: supposition(part) } : part)),
  }))
  if (open.length > 0) {
    const reason = `open: ${open.map((leaf) => `'${leaf}'`).join(', ')}`
    return { decision: { to: null, by: 'undecided' }, rules: explained, reason, open }
  }
  if (!decision) return { ...(failed ? FAILED : afterWork(team, from)), rules: explained, open }
  return { decision: { to: decision.to, by: decision.by }, rules: explained, reason: decision.reason, open }
}

const FAILED: Pick<Explanation, 'decision' | 'reason'> = {
  decision: { to: null, by: 'after_work' },
  reason: 'no rule takes up the error: the run fails with it',
}

function supposition({ value, reason }: PartValue): string {
  return value === 'unknown' ? reason : value ? 'assumed' : 'denied'
}

function afterWork(team: Team, from: string): Pick<Explanation, 'decision' | 'reason'> {
  if (from === USER) {
    return { decision: { to: entryOf(team) ?? null, by: 'after_work' }, reason: 'no rule holds; the entry begins' }
  }
  const behaviour = team.after_work_behavior
  const to = { return_to_user: USER, terminate: null, continue: from }[behaviour]
  return { decision: { to, by: 'after_work' }, reason: `no rule holds; after_work_behavior is ${behaviour}` }
}

type Variables = Readonly<Record<string, Value>>

type Sentence = { raw: string; judged: string }

/** The sentences that were given, by the words in which they will be asked for. */
function verdictsOf(sentences: readonly Sentence[], { assume = [], deny = [] }: Supposed): Map<string, boolean> {
  const verdicts = new Map<string, boolean>()
  const given = [...assume.map((text) => [text, true] as const), ...deny.map((text) => [text, false] as const)]
  for (const [text, value] of given) {
    const meant = sentences.filter(({ raw, judged }) => [plain(raw), plain(judged)].includes(plain(text)))
    if (meant.length === 0) {
      throw unknownSentence(
        text,
        sentences.map(({ raw }) => raw),
      )
    }
    for (const { judged } of meant) {
      if (verdicts.get(plain(judged)) === !value) throw bothWays(text)
      verdicts.set(plain(judged), value)
    }
  }
  return verdicts
}

/** Each sentence as it is written, and with the values of its variables. */
function sentencesOf(rules: readonly Rule[], variables: Variables): Sentence[] {
  return rules.flatMap(({ condition }) => {
    const { parts } = evaluate(condition, { variables, verdict: () => undefined })
    return leavesOf(condition).flatMap((leaf, index) =>
      leaf.kind === 'semantic' ? [{ raw: leaf.text, judged: parts[index]?.text ?? leaf.text }] : [],
    )
  })
}

/** Case, blanks, quotes and a full stop do not make another sentence. */
function plain(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/^[\s"'“”]+|[\s"'“”.!]+$/g, '')
}

function unknownSentence(text: string, known: readonly string[]): TroupeError {
  if (known.length > 0) return unknownName('invalid_input', 'sentence', text, [...new Set(known)])
  return new TroupeError('invalid_input', `no condition that applies here has a sentence '${text}'`, {
    hint: 'only sentences can be assumed or denied; --set gives variables their values',
  })
}

function bothWays(text: string): TroupeError {
  return new TroupeError('invalid_input', `'${text}' is both assumed and denied`, { hint: 'say one of them' })
}
