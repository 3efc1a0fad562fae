import type { Truth } from '../../../judgement/condition/condition-tree.ts'
import type { ExplainedRule, ExplainHandoffResult } from '../../../judgement/team/explain-handoff.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { TerminalStyle, TextStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'

const TRUTH_SYMBOLS: Readonly<Record<`${Truth}`, readonly [TextStyle, string]>> = {
  true: ['green', '✓'],
  false: ['red', '✗'],
  unknown: ['yellow', '?'],
}

/** An explanation of `team explain`, or of a past handoff, which a human or supervisor may have decided. */
export interface ShownExplanation extends Omit<ExplainHandoffResult, 'decision'> {
  decision: { to: string | null; by: ExplainHandoffResult['decision']['by'] | 'person' | 'supervisor' }
}

const DECIDED_WITHOUT_RULES: ReadonlySet<string> = new Set(['after_work', 'person', 'supervisor'])

/** The rules in evaluation order with the parts of their conditions, then the decision. */
export function explanationLines(
  { decision, rules, reason, open }: ShownExplanation,
  style: TerminalStyle,
  response?: { from: string; text: string },
): string[] {
  const [textStyle, outcome] =
    decision.by === 'undecided' ? (['yellow', 'undecided'] as const) : (['green', formatDecision(decision)] as const)
  return [
    ...(response
      ? wrapText(`${toTerminalLine(response.from)} says: ${toTerminalLine(response.text)}`, style.width, 2)
      : []),
    ...(rules.length === 0 ? [renderLine(style, [['dim', 'no handoff rules']])] : []),
    ...rules.flatMap((rule) => ruleLines(rule, style)),
    '',
    renderLine(style, ['decision: ', [textStyle, outcome]]),
    // If a rule decided, its parts above are the reason.
    ...(DECIDED_WITHOUT_RULES.has(decision.by) ? wrapText(`  ${toTerminalLine(reason)}`, style.width, 2) : []),
    ...open.flatMap((condition) =>
      wrapText(`  decide with --assume or --deny "${toTerminalLine(condition)}"`, style.width, 4),
    ),
  ]
}

function formatDecision({ to, by }: ShownExplanation['decision']): string {
  return `${to ?? 'the run ends'} (${by})`
}

function ruleLines({ from, to, priority, holds, parts }: ExplainedRule, style: TerminalStyle): string[] {
  const [textStyle, symbol] = TRUTH_SYMBOLS[`${holds}`]
  return [
    renderLine(style, [[textStyle, symbol], ` ${from} → `, ['bold', to], ['dim', `  priority ${priority}`]]),
    ...parts.flatMap((part) => {
      const [partStyle, partSymbol] = TRUTH_SYMBOLS[`${part.value}`]
      const [first = '', ...rest] = wrapText(
        `      ${toTerminalLine(part.text)}: ${toTerminalLine(part.reason)}`,
        style.width,
        6,
      )
      const kind = part.kind === 'semantic' ? '~' : '='
      return [`   ${style.paint(partStyle, partSymbol)}${style.paint('dim', kind)} ${first.slice(6)}`, ...rest]
    }),
  ]
}
