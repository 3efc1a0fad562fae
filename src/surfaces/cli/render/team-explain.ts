import type { Truth } from '../../../judgement/condition/tree.ts'
import type { ExplainedRule, Explanation } from '../../../judgement/team/explain.ts'
import type { Look, Style } from './line.ts'
import { line } from './line.ts'
import { oneLine, wrap } from './width.ts'

const MARKS: Readonly<Record<`${Truth}`, readonly [Style, string]>> = {
  true: ['green', '✓'],
  false: ['red', '✗'],
  unknown: ['yellow', '?'],
}

/** What would happen, or what happened: then others than the rules may have decided. */
export interface ShownExplanation extends Omit<Explanation, 'decision'> {
  decision: { to: string | null; by: Explanation['decision']['by'] | 'person' | 'supervisor' }
}

const BEYOND_RULES: ReadonlySet<string> = new Set(['after_work', 'person', 'supervisor'])

/**
 * Every rule in the order in which it is tried, with each part of its condition; the decision comes last. What was said
 * stands above them: it settles nothing by itself.
 */
export function explanationLines(
  { decision, rules, reason, open }: ShownExplanation,
  look: Look,
  words?: { from: string; text: string },
): string[] {
  const [style, said] =
    decision.by === 'undecided' ? (['yellow', 'undecided'] as const) : (['green', decided(decision)] as const)
  return [
    ...(words ? wrap(`${oneLine(words.from)} says: ${oneLine(words.text)}`, look.width, 2) : []),
    ...(rules.length === 0 ? [line(look, [['dim', 'no rule leads on from here']])] : []),
    ...rules.flatMap((rule) => ruleLines(rule, look)),
    '',
    line(look, ['decision: ', [style, said]]),
    // Where a rule decided, its parts have said why.
    ...(BEYOND_RULES.has(decision.by) ? wrap(`  ${oneLine(reason)}`, look.width, 2) : []),
    ...open.flatMap((leaf) => wrap(`  settle it with --assume or --deny "${oneLine(leaf)}"`, look.width, 4)),
  ]
}

function decided({ to, by }: ShownExplanation['decision']): string {
  return `${to ?? 'the work is done'} (${by})`
}

function ruleLines({ from, to, priority, holds, parts }: ExplainedRule, look: Look): string[] {
  const [style, sign] = MARKS[`${holds}`]
  return [
    line(look, [[style, sign], ` ${from} → `, ['bold', to], ['dim', `  priority ${priority}`]]),
    ...parts.flatMap((part) => {
      const [partStyle, mark] = MARKS[`${part.value}`]
      const [first = '', ...rest] = wrap(`      ${oneLine(part.text)}: ${oneLine(part.reason)}`, look.width, 6)
      const kind = part.kind === 'semantic' ? '~' : '='
      return [`   ${look.paint(partStyle, mark)}${look.paint('dim', kind)} ${first.slice(6)}`, ...rest]
    }),
  ]
}
