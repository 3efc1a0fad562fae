import { isAbsolute, relative } from 'node:path'
import type { LoadedAgents } from '../../../formats/agent-folder.ts'
import type { FileProblem } from '../../../formats/file-text.ts'
import type { Agent } from '../../../index.ts'
import { pluralize } from '../../../views/format-amount.ts'
import { toTerminalLine, truncateToWidth, wrapText } from '../../../views/text-width.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'

/** Descriptions are written for models and often long. */
const DESCRIPTION_LINES = 3

/** Agents with model, tools and description. */
export function agentLines(agents: readonly Agent[], style: TerminalStyle): string[] {
  return agents.flatMap((agent) => [
    renderLine(style, [
      ['bold', toTerminalLine(agent.name)],
      ['dim', `  ${agentFacts(agent)}`],
    ]),
    ...truncateLines(wrapText(`  ${toTerminalLine(agent.description) || 'no description'}`, style.width, 2), style),
  ])
}

function truncateLines(lines: readonly string[], style: TerminalStyle): string[] {
  const shown = lines.slice(0, DESCRIPTION_LINES)
  const last = shown.at(-1)
  if (lines.length <= DESCRIPTION_LINES || last === undefined) return shown
  return [...shown.slice(0, -1), truncateToWidth(`${last} …`, style.width)]
}

function agentFacts(agent: Agent): string {
  const inherited = ['tools of its caller', ...(agent.extra_tools ?? [])].join(', ')
  const tools = agent.tools === undefined ? inherited : agent.tools.join(', ') || 'no tools'
  const excluded = agent.exclude_tools?.length ? `, except ${agent.exclude_tools.join(', ')}` : ''
  return toTerminalLine([...(agent.model ? [agent.model] : []), tools + excluded].join(' · '))
}

/** Problems sorted by file: the location on a line of its own, then message and hint. */
export function agentProblemLines(
  problems: readonly FileProblem[],
  { style, from }: { style: TerminalStyle; from: string },
): string[] {
  const sorted = problems.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1))
  return sorted.flatMap(({ level, path, line, message, hint }) => {
    const [textStyle, symbol] = level === 'error' ? (['red', '✗'] as const) : (['yellow', '!'] as const)
    const location = wrapText(`  ${toTerminalLine(displayPath(path, from))}:${line}`, style.width, 2)
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

/** Relative to `from` for files below it. */
export function displayPath(path: string, from: string): string {
  const relativePath = relative(from, path)
  return relativePath === '' || relativePath.startsWith('..') || isAbsolute(relativePath) ? path : relativePath
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
