import { USER } from '../../judgement/team/team-schema.ts'
import type { PanelStep } from '../../views/panel.ts'
import type { FactEntry } from '../../views/panel-blocks.ts'
import { presentFacts, textBlock } from '../../views/panel-blocks.ts'
import type { EventExplanation } from '../../views/pattern-view.ts'
import type { HandoffTrace, TeamEventOf } from './events.ts'

/* Why a handoff was made, as blocks: which rules were evaluated, with the value and the reason of each part. */

const SOURCES: Readonly<Record<string, string>> = {
  exact: 'a rule on variables',
  verdict: "the agent's own verdict",
  model: 'a model request',
  after_work: 'no rule matched',
  person: 'a person',
  supervisor: 'the supervisor',
}

/** The decider of a handoff, in words. */
export function handoffSource(by: string): string {
  return SOURCES[by] ?? by
}

const TRUTH_WORDS: Readonly<Record<string, string>> = { true: 'holds', false: 'does not hold', unknown: 'unknown' }

/** The rules that were evaluated, in order, with the value and the reason of each part. */
export function ruleSteps({ rules }: HandoffTrace): PanelStep[] {
  return rules.map(({ from, to, priority, holds, parts }) => ({
    title: `${from} → ${to}`,
    state: TRUTH_WORDS[String(holds)] ?? 'unknown',
    note: `priority ${priority}`,
    steps: parts.map(({ text, kind, value, reason }) => ({
      title: text,
      state: TRUTH_WORDS[String(value)] ?? 'unknown',
      note: `${kind}: ${reason}`,
    })),
  }))
}

/** Everything about one handoff, for its detail. */
export function handoffExplanation({ data }: TeamEventOf<'team:handoff'>): EventExplanation {
  const { round, by, handoff_reason, explanation, suggested, problems = [], variables = {}, agreed } = data
  const facts = presentFacts([
    ['round', round, 'count'],
    ['decided by', handoffSource(by)],
    ['because', handoff_reason],
    ['agent suggested', suggested, 'agent'],
    ...problems.map((value): FactEntry => ['problem', value, '', 'attention']),
  ])
  const set = Object.entries(variables).map(([label, value]) => ({ label, value, unit: 'code' as const }))
  return {
    title: `${data.from === USER ? 'you' : data.from} → ${data.to ?? 'the end'}`,
    facts,
    blocks: [
      { kind: 'steps', title: 'Rules, in order', steps: ruleSteps(explanation) },
      ...(set.length === 0 ? [] : [{ kind: 'facts' as const, title: 'Variables that this turn set', facts: set }]),
      ...textBlock({ title: 'Agreed text', claimed_by: data.from }, agreed),
    ],
  }
}
