import { isAbsolute, relative } from 'node:path'
import type { TeamFileProblem } from '../../../formats/team-file.ts'
import { pluralize } from './format-amount.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { toTerminalLine, wrapText } from './text-width.ts'

/** What is wrong, each with its place on a line of its own, then what it is and what to do. */
export function teamProblemLines(problems: readonly TeamFileProblem[], style: TerminalStyle): string[] {
  return problems.flatMap(({ severity, path, line: at, column, message, hint }) => {
    const [textStyle, sign] = severity === 'error' ? (['red', '✗'] as const) : (['yellow', '!'] as const)
    const place = wrapText(`  ${toTerminalLine(displayPath(path))}:${at}:${column}`, style.width, 2)
    const said = wrapText(`  ${toTerminalLine(message)}`, style.width, 2)
    const told = hint === undefined ? [] : wrapText(`  hint: ${toTerminalLine(hint)}`, style.width, 2)
    return [
      `${style.paint(textStyle, sign)}${(place[0] ?? '').slice(1)}`,
      ...place.slice(1),
      ...said,
      ...told.map((text) => style.paint('dim', text)),
    ]
  })
}

function displayPath(path: string): string {
  const inside = relative(process.cwd(), path)
  return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? path : inside
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
  const found = formatProblemCount(problems) || 'nothing wrong'
  const who = team ? [toTerminalLine(team.name), pluralize(team.agents.length, 'agent')] : []
  return renderLine(style, [['dim', [...who, found].join(' · ')]])
}
