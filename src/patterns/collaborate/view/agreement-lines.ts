import { errorSummary } from '../../../views/error-summary.ts'
import type { TextLine, TextSpan, TextStyle, ViewPage } from '../../../views/pattern-view.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import { agreementFactLines, formatPercent, NO_BREAK_SPACE, toUnbreakable } from '../decision/agreement-facts.ts'
import type { AgreementView, ClusterView, ContributionView } from './agreement-view.ts'
import { agreementViewFrom } from './agreement-view.ts'
import { isAgreed, isCertainlyDifferent, shownShare, winningCluster } from './winning-position.ts'

/*
 * Renders the result of a collaboration: positions with their share, agreement and dissent. Divided work is listed by
 * subtask, because subtasks are not positions on one question.
 */

const UNICODE = { full: '█', empty: '░', won: '✓', tied: '=', bad: '✗', cut: '◐', dot: '·' }
const ASCII = { full: '#', empty: '.', won: '*', tied: '=', bad: 'x', cut: '~', dot: '-' }
/** From this width on, recommendations appear beside their bars instead of below. */
const MIN_WIDE_WIDTH = 60
const CONCERNS_SHOWN = 2

type BarSymbols = typeof UNICODE
type LineLayout = Pick<ViewPage, 'width' | 'ascii'>

/** Lines for the output of a collaboration; empty for other outputs. */
export function agreementLines(output: unknown, style: LineLayout): TextLine[] {
  const agreement = agreementViewFrom(output)
  if (!agreement) return []
  const symbols = style.ascii ? ASCII : UNICODE
  const isDivided = agreement.contributions.some(({ subtask }) => subtask !== undefined)
  // Subtasks that were voted on are positions too.
  const hasPositions = !isDivided || agreement.vote !== undefined
  return [
    ...(isDivided ? subtaskLines(agreement, symbols) : []),
    ...(hasPositions ? positionLines(agreement, style, symbols) : []),
    ...uncountedLines(agreement, style),
    ...agreementFactLines(agreement, style, { dot: symbols.dot, withConsensus: hasPositions }),
  ]
}

function positionLines(agreement: AgreementView, style: LineLayout, symbols: BarSymbols): TextLine[] {
  const { consensus, contributions } = agreement
  if (!consensus || consensus.clusters.length === 0) return []
  const heading: TextSpan[] = [['bold', 'positions'], ...headingSpans(agreement)]
  const concerns = new Map(
    consensus.minority_report.flatMap(({ agents, concerns }) => agents.map((name) => [name, concerns])),
  )
  return [
    heading,
    ...consensus.clusters.flatMap((cluster) => {
      const supporters = cluster.agents.map((name) =>
        contributionLabel(
          contributions.find(({ agent }) => agent === name),
          name,
        ),
      )
      const clusterConcerns = cluster === winningCluster(agreement) ? [] : (concerns.get(cluster.agents[0] ?? '') ?? [])
      return clusterLines(cluster, { agreement, style, symbols, supporters, concerns: clusterConcerns })
    }),
  ]
}

function headingSpans({ vote, consensus, ruling, decided }: AgreementView): TextSpan[] {
  if (ruling) return ['  ', ['yellow', `decided by a person: ${toTerminalLine(ruling.decision)}`]]
  if (vote?.blocked_by) return ['  ', ['red', `BLOCKED by ${vote.blocked_by.map(toTerminalLine).join(', ')}`]]
  if (vote?.tie ?? consensus?.tie) return ['  ', ['yellow', 'TIE']]
  if (vote && (vote.winner === null || decided === false))
    return ['  ', ['yellow', `NO DECISION: ${toTerminalLine(vote.reason)}`]]
  return vote && !consensus?.has_consensus ? ['  ', ['yellow', 'NO CONSENSUS']] : []
}

function isTied(cluster: ClusterView, { consensus }: AgreementView): boolean {
  const [first] = consensus?.clusters ?? []
  return consensus?.tie === true && first !== undefined && Math.abs(cluster.score - first.score) <= 1e-9 * first.score
}

/** `security-reviewer 95 %`, marked if the position changed or came from the cache. */
function contributionLabel(contribution: ContributionView | undefined, name: string): string {
  const { confidence = null, before, recommendation, cached } = contribution ?? {}
  const certainty = confidence === null ? '' : ` ${formatPercent(confidence)}`
  const changed = before && before.recommendation !== recommendation ? ' (changed)' : ''
  return `${toTerminalLine(name)}${certainty}${changed}${cached ? ' (cached)' : ''}`
}

interface ClusterContext {
  agreement: AgreementView
  style: LineLayout
  symbols: BarSymbols
  supporters: string[]
  concerns: string[]
}

function clusterLines(cluster: ClusterView, context: ClusterContext): TextLine[] {
  const { agreement, style, symbols, supporters, concerns } = context
  const won = cluster === winningCluster(agreement)
  const tied = !won && isTied(cluster, agreement)
  const share = shownShare(cluster, agreement)
  const isDissent = !won && winningCluster(agreement) !== undefined && isCertainlyDifferent(cluster, agreement)
  const size = Math.max(6, Math.min(24, Math.floor(style.width / 4)))
  const agreed = won && isAgreed(agreement)
  const textStyle: TextStyle = agreed ? 'green' : won || tied ? 'yellow' : 'dim'
  const bar: TextSpan[] = [
    [textStyle, `${agreed ? symbols.won : tied ? symbols.tied : ' '} `],
    [textStyle, formatBar(share, size, symbols)],
    `  ${formatPercent(share).padStart(5)}`,
  ]
  const indent = style.width >= MIN_WIDE_WIDTH ? size + 11 : 2
  const recommendation: TextSpan = won
    ? ['bold', toTerminalLine(cluster.recommendation)]
    : toTerminalLine(cluster.recommendation)
  const first: TextLine[] =
    style.width >= MIN_WIDE_WIDTH ? [[...bar, '  ', recommendation]] : [bar, [' '.repeat(indent), recommendation]]
  const shownConcerns = concerns.slice(0, CONCERNS_SHOWN).map((concern) => `${symbols.dot} ${toTerminalLine(concern)}`)
  return [
    ...first,
    ...indentedLines(`${isDissent ? 'dissent: ' : ''}${supporters.map(toUnbreakable).join(', ')}`, style, indent).map(
      (line): TextLine => [['dim', line]],
    ),
    ...shownConcerns.map((line): TextLine => [' '.repeat(indent), ['dim', line]]),
  ]
}

/** Empty only for 0 % and full only for 100 %, despite rounding. */
function formatBar(share: number, size: number, { full, empty }: BarSymbols): string {
  const rounded = Math.round(share * size)
  const filled = share <= 0 ? 0 : share >= 1 ? size : Math.min(size - 1, Math.max(1, rounded))
  return full.repeat(filled) + empty.repeat(size - filled)
}

function indentedLines(text: string, style: LineLayout, indent: number): string[] {
  const margin = ' '.repeat(indent)
  return wrapText(text, style.width - indent).map((line) => margin + line.replaceAll(NO_BREAK_SPACE, ' '))
}

function subtaskLines({ contributions }: AgreementView, symbols: BarSymbols): TextLine[] {
  const parts = contributions.filter(({ subtask }) => subtask !== undefined)
  return [
    [['bold', 'subtasks']],
    ...parts.flatMap((part): TextLine[] => {
      const [textStyle, symbol] = statusSymbol(part, symbols)
      const heading: TextLine = [
        [textStyle, `${symbol} `],
        contributionLabel(part, part.agent),
        ['dim', `  ${toTerminalLine(part.subtask ?? '')}`],
      ]
      if (part.error) return [heading, ['  ', ['red', errorSummary(part.error)]]]
      return part.recommendation === null ? [heading] : [heading, [`  ${toTerminalLine(part.recommendation)}`]]
    }),
  ]
}

function statusSymbol({ status, error }: ContributionView, symbols: BarSymbols): readonly [TextStyle, string] {
  if (status === 'completed') return ['green', symbols.won]
  return error ? ['red', symbols.bad] : ['yellow', symbols.cut]
}

/** Contributions that belong to no position: without a recommendation, incomplete, or without a response. */
function uncountedLines({ contributions, consensus, metadata }: AgreementView, style: LineLayout): TextLine[] {
  const counted = new Set(consensus?.clusters.flatMap(({ agents }) => agents))
  const isDivided = contributions.some(({ subtask }) => subtask !== undefined)
  // The coordinator that divided the work contributes a plan, not a position.
  const plan = isDivided || metadata?.mode === 'hierarchical' ? contributions[0] : undefined
  const rest = contributions.filter(
    (each) => !counted.has(each.agent) && each.subtask === undefined && (each !== plan || each.error),
  )
  const withoutRecommendation = rest.filter(({ error }) => !error).map(({ agent }) => toTerminalLine(agent))
  return [
    ...(withoutRecommendation.length > 0
      ? wrapText(`no recommendation: ${withoutRecommendation.join(', ')}`, style.width, 2).map((line) => [line])
      : []),
    ...rest.flatMap(({ agent, error, response }): TextLine[] => {
      if (!error) return []
      const label = response.trim() === '' ? 'no response' : 'incomplete'
      return wrapText(`${label}: ${toTerminalLine(agent)}, ${errorSummary(error)}`, style.width, 2).map((line) => [
        ['red', line],
      ])
    }),
  ]
}
