import { isAbsolute, relative } from 'node:path'
import type { TeamFileProblem } from '../../../formats/team-file.ts'
import { pluralize } from './format-amount.ts'
import type { Look } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { toTerminalLine, wrapText } from './text-width.ts'

/** What is wrong, each with its place on a line of its own, then what it is and what to do. */
export function teamProblemLines(problems: readonly TeamFileProblem[], look: Look): string[] {
  return problems.flatMap(({ severity, path, line: at, column, message, hint }) => {
    const [style, sign] = severity === 'error' ? (['red', '✗'] as const) : (['yellow', '!'] as const)
    const place = wrapText(`  ${toTerminalLine(displayPath(path))}:${at}:${column}`, look.width, 2)
    const said = wrapText(`  ${toTerminalLine(message)}`, look.width, 2)
    const told = hint === undefined ? [] : wrapText(`  hint: ${toTerminalLine(hint)}`, look.width, 2)
    return [
      `${look.paint(style, sign)}${(place[0] ?? '').slice(1)}`,
      ...place.slice(1),
      ...said,
      ...told.map((text) => look.paint('dim', text)),
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
  look: Look,
): string {
  const found = formatProblemCount(problems) || 'nothing wrong'
  const who = team ? [toTerminalLine(team.name), pluralize(team.agents.length, 'agent')] : []
  return renderLine(look, [['dim', [...who, found].join(' · ')]])
}
