import type { Truth } from '../../../judgement/condition/condition-tree.ts'
import type { ExplainedRule, ExplainHandoffResult } from '../../../judgement/team/explain-handoff.ts'
import type { Look, Style } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { toTerminalLine, wrapText } from './text-width.ts'

const TRUTH_SYMBOLS: Readonly<Record<`${Truth}`, readonly [Style, string]>> = {
  true: ['green', '✓'],
  false: ['red', '✗'],
  unknown: ['yellow', '?'],
}

/** What would happen, or what happened: then others than the rules may have decided. */
export interface ShownExplanation extends Omit<ExplainHandoffResult, 'decision'> {
  decision: { to: string | null; by: ExplainHandoffResult['decision']['by'] | 'person' | 'supervisor' }
}

const DECIDED_WITHOUT_RULES: ReadonlySet<string> = new Set(['after_work', 'person', 'supervisor'])

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
    decision.by === 'undecided' ? (['yellow', 'undecided'] as const) : (['green', formatDecision(decision)] as const)
  return [
    ...(words ? wrapText(`${toTerminalLine(words.from)} says: ${toTerminalLine(words.text)}`, look.width, 2) : []),
    ...(rules.length === 0 ? [renderLine(look, [['dim', 'no rule leads on from here']])] : []),
    ...rules.flatMap((rule) => ruleLines(rule, look)),
    '',
    renderLine(look, ['decision: ', [style, said]]),
    // Where a rule decided, its parts have said why.
    ...(DECIDED_WITHOUT_RULES.has(decision.by) ? wrapText(`  ${toTerminalLine(reason)}`, look.width, 2) : []),
    ...open.flatMap((leaf) => wrapText(`  settle it with --assume or --deny "${toTerminalLine(leaf)}"`, look.width, 4)),
  ]
}

function formatDecision({ to, by }: ShownExplanation['decision']): string {
  return `${to ?? 'the work is done'} (${by})`
}

function ruleLines({ from, to, priority, holds, parts }: ExplainedRule, look: Look): string[] {
  const [style, sign] = TRUTH_SYMBOLS[`${holds}`]
  return [
    renderLine(look, [[style, sign], ` ${from} → `, ['bold', to], ['dim', `  priority ${priority}`]]),
    ...parts.flatMap((part) => {
      const [partStyle, mark] = TRUTH_SYMBOLS[`${part.value}`]
      const [first = '', ...rest] = wrapText(
        `      ${toTerminalLine(part.text)}: ${toTerminalLine(part.reason)}`,
        look.width,
        6,
      )
      const kind = part.kind === 'semantic' ? '~' : '='
      return [`   ${look.paint(partStyle, mark)}${look.paint('dim', kind)} ${first.slice(6)}`, ...rest]
    }),
  ]
}
