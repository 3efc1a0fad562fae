import type { AgreementView, ClusterView, ContributionView } from '../../../views/agreement-view.ts'
import { agreementViewFrom } from '../../../views/agreement-view.ts'
import { agreementFactLines, formatPercent, NO_BREAK_SPACE, toUnbreakable } from './agreement-facts.ts'
import { errorSummary } from './error-lines.ts'
import type { TerminalStyle, TextSpan, TextStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { toTerminalLine, wrapText } from './text-width.ts'

/*
 * A collaboration as a picture: who stands where, and how far that is agreement. Parts of one piece of work are not
 * opinions about one question, so divided work is shown by its parts.
 */

const UNICODE = { full: '█', empty: '░', won: '✓', tied: '=', bad: '✗', cut: '◐', dot: '·' }
const ASCII = { full: '#', empty: '.', won: '*', tied: '=', bad: 'x', cut: '~', dot: '-' }
/** From here on, recommendations stand beside their bars and not below. */
const MIN_WIDE_WIDTH = 60
const CONCERNS_SHOWN = 2

type BarSymbols = typeof UNICODE

/** Lines for the output of a collaboration; none for any other. */
export function agreementLines(output: unknown, style: TerminalStyle): string[] {
  const found = agreementViewFrom(output)
  if (!found) return []
  const marks = style.ascii ? ASCII : UNICODE
  const divided = found.contributions.some(({ subtask }) => subtask !== undefined)
  // Parts of one work that were voted on all the same are opinions too.
  const counted = !divided || found.vote !== undefined
  const lines = [
    ...(divided ? subtaskLines(found, style, marks) : []),
    ...(counted ? positionLines(found, style, marks) : []),
    ...uncountedLines(found, style),
    ...agreementFactLines(found, style, { dot: marks.dot, opinions: counted }),
  ]
  return style.ascii ? lines.map((words) => words.replaceAll('…', '~')) : lines
}

function positionLines(found: AgreementView, style: TerminalStyle, marks: BarSymbols): string[] {
  const { consensus, contributions } = found
  if (!consensus || consensus.clusters.length === 0) return []
  const head: TextSpan[] = [['bold', 'who stands where'], ...headingSpans(found)]
  const concerns = new Map(
    consensus.minority_report.flatMap(({ agents, concerns }) => agents.map((name) => [name, concerns])),
  )
  return [
    renderLine(style, head),
    ...consensus.clusters.flatMap((cluster) => {
      const voices = cluster.agents.map((name) =>
        contributionLabel(
          contributions.find(({ agent }) => agent === name),
          name,
        ),
      )
      const doubts = cluster === winningCluster(found) ? [] : (concerns.get(cluster.agents[0] ?? '') ?? [])
      return clusterLines(cluster, { found, style, marks, voices, doubts })
    }),
  ]
}

function headingSpans({ vote, consensus, ruling }: AgreementView): TextSpan[] {
  if (ruling) return ['  ', ['yellow', `decided by a person: ${toTerminalLine(ruling.decision)}`]]
  if (vote?.blocked_by) return ['  ', ['red', `BLOCKED by ${vote.blocked_by.map(toTerminalLine).join(', ')}`]]
  if (vote?.tie ?? consensus?.tie) return ['  ', ['yellow', 'TIE']]
  if (vote && vote.winner === null) return ['  ', ['yellow', `NO DECISION: ${toTerminalLine(vote.reason)}`]]
  return []
}

/** The position that carries the day, if any: what a person decided goes before what was counted. */
function winningCluster({ consensus, vote, ruling, best_of }: AgreementView): ClusterView | undefined {
  const clusters = consensus?.clusters ?? []
  if (ruling) return clusters.find(({ recommendation }) => recommendation === ruling.decision)
  // What was chosen, and not what most say.
  if (best_of) return clusters.find(({ agents }) => agents.includes(best_of.agent))
  return consensus?.tie || vote?.winner === null ? undefined : clusters[0]
}

function isTied(cluster: ClusterView, { consensus }: AgreementView): boolean {
  const [first] = consensus?.clusters ?? []
  return consensus?.tie === true && first !== undefined && Math.abs(cluster.score - first.score) <= 1e-9 * first.score
}

/** `security-reviewer 95 %`; whoever changed its mind or was not asked anew is marked. */
function contributionLabel(spoken: ContributionView | undefined, name: string): string {
  const { confidence = null, before, recommendation, cached } = spoken ?? {}
  const sure = confidence === null ? '' : ` ${formatPercent(confidence)}`
  const moved = before && before.recommendation !== recommendation ? ' (moved)' : ''
  return `${toTerminalLine(name)}${sure}${moved}${cached ? ' (known)' : ''}`
}

interface ClusterContext {
  found: AgreementView
  style: TerminalStyle
  marks: BarSymbols
  voices: string[]
  doubts: string[]
}

function clusterLines(cluster: ClusterView, { found, style, marks, voices, doubts }: ClusterContext): string[] {
  const won = cluster === winningCluster(found)
  const tied = !won && isTied(cluster, found)
  const dissents = !won && winningCluster(found) !== undefined
  const size = Math.max(6, Math.min(24, Math.floor(style.width / 4)))
  const textStyle: TextStyle = won ? 'green' : tied ? 'yellow' : 'dim'
  const bar: TextSpan[] = [
    [textStyle, `${won ? marks.won : tied ? marks.tied : ' '} `],
    [textStyle, formatBar(cluster.share, size, marks)],
    `  ${formatPercent(cluster.share).padStart(5)}`,
  ]
  const indent = style.width >= MIN_WIDE_WIDTH ? size + 11 : 2
  const recommendation: TextSpan = won
    ? ['bold', toTerminalLine(cluster.recommendation)]
    : toTerminalLine(cluster.recommendation)
  const first =
    style.width >= MIN_WIDE_WIDTH
      ? [renderLine(style, [...bar, '  ', recommendation])]
      : [renderLine(style, bar), renderLine(style, [' '.repeat(indent), recommendation])]
  const shown = doubts.slice(0, CONCERNS_SHOWN).map((doubt) => `${marks.dot} ${toTerminalLine(doubt)}`)
  return [
    ...first,
    ...indentedLines(`${dissents ? 'dissent: ' : ''}${voices.map(toUnbreakable).join(', ')}`, style, indent).map(
      (words) => style.paint('dim', words),
    ),
    ...shown.map((words) => renderLine(style, [' '.repeat(indent), ['dim', words]])),
  ]
}

/** Nothing is drawn as nothing only where it is nothing, and as everything only where it is everything. */
function formatBar(share: number, size: number, { full, empty }: BarSymbols): string {
  const exact = Math.round(share * size)
  const filled = share <= 0 ? 0 : share >= 1 ? size : Math.min(size - 1, Math.max(1, exact))
  return full.repeat(filled) + empty.repeat(size - filled)
}

function indentedLines(text: string, style: TerminalStyle, indent: number): string[] {
  const margin = ' '.repeat(indent)
  return wrapText(text, style.width - indent).map((words) => margin + words.replaceAll(NO_BREAK_SPACE, ' '))
}

function subtaskLines({ contributions }: AgreementView, style: TerminalStyle, marks: BarSymbols): string[] {
  const parts = contributions.filter(({ subtask }) => subtask !== undefined)
  return [
    renderLine(style, [['bold', 'who did what']]),
    ...parts.flatMap((part) => {
      const [textStyle, mark] = statusMark(part, marks)
      const head = renderLine(style, [
        [textStyle, `${mark} `],
        contributionLabel(part, part.agent),
        ['dim', `  ${toTerminalLine(part.subtask ?? '')}`],
      ])
      if (part.error) return [head, renderLine(style, ['  ', ['red', errorSummary(part.error)]])]
      return part.recommendation === null
        ? [head]
        : [head, renderLine(style, [`  ${toTerminalLine(part.recommendation)}`])]
    }),
  ]
}

function statusMark({ status, error }: ContributionView, marks: BarSymbols): readonly [TextStyle, string] {
  if (status === 'completed') return ['green', marks.won]
  return error ? ['red', marks.bad] : ['yellow', marks.cut]
}

/** Who has no place among the positions: without a recommendation, cut short, or not heard at all. */
function uncountedLines({ contributions, consensus, metadata }: AgreementView, style: TerminalStyle): string[] {
  const placed = new Set(consensus?.clusters.flatMap(({ agents }) => agents))
  const divided = contributions.some(({ subtask }) => subtask !== undefined)
  // Whoever divided the work has a plan and no opinion; a role of that name says nothing.
  const plan = divided || metadata?.mode === 'hierarchical' ? contributions[0] : undefined
  const rest = contributions.filter(
    (each) => !placed.has(each.agent) && each.subtask === undefined && (each !== plan || each.error),
  )
  const silent = rest.filter(({ error }) => !error).map(({ agent }) => toTerminalLine(agent))
  return [
    ...(silent.length > 0 ? wrapText(`no recommendation: ${silent.join(', ')}`, style.width, 2) : []),
    ...rest.flatMap(({ agent, error, response }) => {
      if (!error) return []
      const how = response.trim() === '' ? 'not heard' : 'cut short'
      return wrapText(`${how}: ${toTerminalLine(agent)}, ${errorSummary(error)}`, style.width, 2).map((words) =>
        style.paint('red', words),
      )
    }),
  ]
}
