import type { Truth } from '../../../judgement/condition/condition-tree.ts'
import type { ExplainedRule, ExplainHandoffResult } from '../../../judgement/team/explain-handoff.ts'
import type { TerminalStyle, TextStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { toTerminalLine, wrapText } from './text-width.ts'

const TRUTH_SYMBOLS: Readonly<Record<`${Truth}`, readonly [TextStyle, string]>> = {
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
  style: TerminalStyle,
  words?: { from: string; text: string },
): string[] {
  const [textStyle, said] =
    decision.by === 'undecided' ? (['yellow', 'undecided'] as const) : (['green', formatDecision(decision)] as const)
  return [
    ...(words ? wrapText(`${toTerminalLine(words.from)} says: ${toTerminalLine(words.text)}`, style.width, 2) : []),
    ...(rules.length === 0 ? [renderLine(style, [['dim', 'no rule leads on from here']])] : []),
    ...rules.flatMap((rule) => ruleLines(rule, style)),
    '',
    renderLine(style, ['decision: ', [textStyle, said]]),
    // Where a rule decided, its parts have said why.
    ...(DECIDED_WITHOUT_RULES.has(decision.by) ? wrapText(`  ${toTerminalLine(reason)}`, style.width, 2) : []),
    ...open.flatMap((leaf) =>
      wrapText(`  settle it with --assume or --deny "${toTerminalLine(leaf)}"`, style.width, 4),
    ),
  ]
}

function formatDecision({ to, by }: ShownExplanation['decision']): string {
  return `${to ?? 'the work is done'} (${by})`
}

function ruleLines({ from, to, priority, holds, parts }: ExplainedRule, style: TerminalStyle): string[] {
  const [textStyle, sign] = TRUTH_SYMBOLS[`${holds}`]
  return [
    renderLine(style, [[textStyle, sign], ` ${from} → `, ['bold', to], ['dim', `  priority ${priority}`]]),
    ...parts.flatMap((part) => {
      const [partStyle, mark] = TRUTH_SYMBOLS[`${part.value}`]
      const [first = '', ...rest] = wrapText(
        `      ${toTerminalLine(part.text)}: ${toTerminalLine(part.reason)}`,
        style.width,
        6,
      )
      const kind = part.kind === 'semantic' ? '~' : '='
      return [`   ${style.paint(partStyle, mark)}${style.paint('dim', kind)} ${first.slice(6)}`, ...rest]
    }),
  ]
}
