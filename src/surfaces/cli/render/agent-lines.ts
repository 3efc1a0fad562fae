import { isAbsolute, relative } from 'node:path'
import type { LoadedAgents } from '../../../formats/agent-folder.ts'
import type { FileProblem } from '../../../formats/file-problem.ts'
import type { Agent } from '../../../index.ts'
import { pluralize } from './format-amount.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { toTerminalLine, truncateToWidth, wrapText } from './text-width.ts'

/** Descriptions are written for models, and often long; a person needs their beginning. */
const DESCRIPTION_LINES = 3

/** Each agent with what it is for and what it brings along. */
export function agentLines(agents: readonly Agent[], style: TerminalStyle): string[] {
  return agents.flatMap((agent) => [
    renderLine(style, [
      ['bold', toTerminalLine(agent.name)],
      ['dim', `  ${agentFacts(agent)}`],
    ]),
    ...truncateLines(
      wrapText(`  ${toTerminalLine(agent.description) || 'without a description'}`, style.width, 2),
      style,
    ),
  ])
}

function truncateLines(lines: readonly string[], style: TerminalStyle): string[] {
  const shown = lines.slice(0, DESCRIPTION_LINES)
  const last = shown.at(-1)
  if (lines.length <= DESCRIPTION_LINES || last === undefined) return shown
  return [...shown.slice(0, -1), truncateToWidth(`${last} …`, style.width)]
}

function agentFacts(agent: Agent): string {
  const tools = agent.tools === undefined ? "its caller's tools" : agent.tools.join(', ') || 'no tools'
  const without = agent.exclude_tools?.length ? `, not ${agent.exclude_tools.join(', ')}` : ''
  return toTerminalLine([...(agent.model ? [agent.model] : []), tools + without].join(' · '))
}

/** What is wrong, file by file: the place on a line of its own, then what it is. */
export function agentProblemLines(
  problems: readonly FileProblem[],
  { style, from }: { style: TerminalStyle; from: string },
): string[] {
  const inOrder = problems.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
  return inOrder.flatMap(({ level, path, line: at, message }) => {
    const [textStyle, sign] = level === 'error' ? (['red', '✗'] as const) : (['yellow', '!'] as const)
    const place = wrapText(`  ${toTerminalLine(displayPath(path, from))}:${at}`, style.width, 2)
    const said = wrapText(`  ${toTerminalLine(message)}`, style.width, 2)
    return [`${style.paint(textStyle, sign)}${(place[0] ?? '').slice(1)}`, ...place.slice(1), ...said]
  })
}

function displayPath(path: string, from: string): string {
  const inside = relative(from, path)
  return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? path : inside
}

export function rosterSummary({ agents, problems }: LoadedAgents, style: TerminalStyle): string {
  const errors = problems.filter(({ level }) => level === 'error').length
  const warnings = problems.length - errors
  const parts = [
    pluralize(agents.length, 'agent'),
    ...(errors > 0 ? [pluralize(errors, 'error')] : []),
    ...(warnings > 0 ? [pluralize(warnings, 'warning')] : []),
  ]
  return renderLine(style, [['dim', parts.join(' · ')]])
}
