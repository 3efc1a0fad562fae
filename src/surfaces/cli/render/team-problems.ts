import { isAbsolute, relative } from 'node:path'
import type { TeamFileProblem } from '../../../formats/team-file.ts'
import { counted } from './amounts.ts'
import type { Look } from './line.ts'
import { line } from './line.ts'
import { oneLine, wrap } from './width.ts'

/** What is wrong, each with its place on a line of its own, then what it is and what to do. */
export function teamProblemLines(problems: readonly TeamFileProblem[], look: Look): string[] {
  return problems.flatMap(({ severity, path, line: at, column, message, hint }) => {
    const [style, sign] = severity === 'error' ? (['red', '✗'] as const) : (['yellow', '!'] as const)
    const place = wrap(`  ${oneLine(shorter(path))}:${at}:${column}`, look.width, 2)
    const said = wrap(`  ${oneLine(message)}`, look.width, 2)
    const told = hint === undefined ? [] : wrap(`  hint: ${oneLine(hint)}`, look.width, 2)
    return [
      `${look.paint(style, sign)}${(place[0] ?? '').slice(1)}`,
      ...place.slice(1),
      ...said,
      ...told.map((text) => look.paint('dim', text)),
    ]
  })
}

function shorter(path: string): string {
  const inside = relative(process.cwd(), path)
  return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? path : inside
}

export function problemCount(problems: readonly TeamFileProblem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  const parts = [
    ...(errors > 0 ? [counted(errors, 'error')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
  ]
  return parts.join(' · ')
}

export function checkSummary(
  {
    team,
    problems,
  }: { team: { name: string; agents: readonly unknown[] } | undefined; problems: readonly TeamFileProblem[] },
  look: Look,
): string {
  const found = problemCount(problems) || 'nothing wrong'
  const who = team ? [oneLine(team.name), counted(team.agents.length, 'agent')] : []
  return line(look, [['dim', [...who, found].join(' · ')]])
}
