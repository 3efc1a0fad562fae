import type { TeamFileProblem } from '../../../formats/team-file.ts'
import { pluralize } from '../../../views/format-amount.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import { displayPath } from './agent-lines.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'

/** Problems of a team file: the location on a line of its own, then message and hint. */
export function teamProblemLines(problems: readonly TeamFileProblem[], style: TerminalStyle): string[] {
  return problems.flatMap(({ severity, path, line, column, message, hint }) => {
    const [textStyle, symbol] = severity === 'error' ? (['red', '✗'] as const) : (['yellow', '!'] as const)
    const location = wrapText(`  ${toTerminalLine(displayPath(path, process.cwd()))}:${line}:${column}`, style.width, 2)
    const messageLines = wrapText(`  ${toTerminalLine(message)}`, style.width, 2)
    const hintLines = hint === undefined ? [] : wrapText(`  hint: ${toTerminalLine(hint)}`, style.width, 2)
    return [
      `${style.paint(textStyle, symbol)}${(location[0] ?? '').slice(1)}`,
      ...location.slice(1),
      ...messageLines,
      ...hintLines.map((text) => style.paint('dim', text)),
    ]
  })
}

export function formatProblemCount(problems: readonly TeamFileProblem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  const parts = [
    ...(errors > 0 ? [pluralize(errors, 'error')] : []),
    ...(warnings > 0 ? [pluralize(warnings, 'warning')] : []),
  ]
  return parts.join(' · ')
}

export function teamCheckSummary(
  {
    team,
    problems,
  }: { team: { name: string; agents: readonly unknown[] } | undefined; problems: readonly TeamFileProblem[] },
  style: TerminalStyle,
): string {
  const count = formatProblemCount(problems) || 'no problems'
  const facts = team ? [toTerminalLine(team.name), pluralize(team.agents.length, 'agent')] : []
  return renderLine(style, [['dim', [...facts, count].join(' · ')]])
}
