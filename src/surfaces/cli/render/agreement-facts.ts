import type { AgreementView } from '../../../views/agreement-view.ts'
import { pluralize } from './format-amount.ts'
import type { TerminalStyle } from './styled-line.ts'
import { toTerminalLine, wrapText } from './text-width.ts'

/** Stands for a blank at which no line is broken. */
export const NO_BREAK_SPACE = '\u00a0'

/** How far they agree, how that was found, what was saved, and what went wrong. */
export function agreementFactLines(
  found: AgreementView,
  style: TerminalStyle,
  { dot, opinions }: { dot: string; opinions: boolean },
): string[] {
  const { consensus, best_of, decision, metadata } = found
  const facts: string[] = []
  if (consensus && opinions) facts.push(...agreementFacts(consensus, dot), ...weightFacts(found))
  if (best_of) facts.push(formatScores(best_of))
  if (decision)
    facts.push(
      `${decision.collaborated ? 'more than one was asked' : 'one was asked'}: ${toTerminalLine(decision.reason)}`,
    )
  if (metadata?.saved) facts.push(formatSavings(metadata.saved))
  return [
    ...facts
      .flatMap((fact) => wrapText(fact, style.width, 2))
      .map((words) => style.paint('dim', words.replaceAll(NO_BREAK_SPACE, ' '))),
    ...(metadata?.problems ?? []).flatMap((problem) =>
      wrapText(`problem: ${toTerminalLine(problem)}`, style.width, 2).map((words) => style.paint('yellow', words)),
    ),
  ]
}

const METHODS: Record<string, string> = {
  text: 'compared as text',
  embeddings: 'compared by meaning',
  model: 'compared by meaning and by a model',
}

function agreementFacts(consensus: NonNullable<AgreementView['consensus']>, dot: string): string[] {
  const { agreement_score, consensus_score, has_consensus, clusters, kappa, method, note, confidence } = consensus
  if (agreement_score === null) {
    const alone = clusters.length > 0 ? 'only one gave a recommendation' : 'nobody gave a recommendation'
    return [`agreement unknown: ${alone} that can be counted`]
  }
  const voices = clusters.reduce((sum, { agents }) => sum + agents.length, 0)
  const facts = [
    `agreement ${formatPercent(agreement_score)} of ${pluralize(voices, 'voice')}`,
    has_consensus ? 'consensus' : 'no consensus',
    ...(consensus_score === null ? [] : [`by weight ${formatPercent(consensus_score)}`]),
    ...(kappa === undefined ? [] : [`kappa ${kappa.toFixed(2)}`]),
    METHODS[method] ?? method,
  ]
  return [
    facts.map(toUnbreakable).join(` ${dot} `),
    ...(confidence
      ? [
          `so much agreement was right in ${formatPercent(confidence.confidence)} of ${pluralize(confidence.cases, 'earlier case')}`,
        ]
      : []),
    ...(note === undefined ? [] : [toTerminalLine(note)]),
  ]
}

/** Without it nobody could tell why shares are not what the confidences add up to. */
function weightFacts({ contributions }: AgreementView): string[] {
  const weighed = contributions.some(({ weight = 1 }) => weight !== 1)
  return weighed ? ['shares follow the weights given, and how often each was right before'] : []
}

function formatScores({ agent, reason, scores, tied }: NonNullable<AgreementView['best_of']>): string {
  const listed = [...scores].sort((a, b) => b.score - a.score).map((each) => `${each.agent} ${each.score}`)
  const equal = tied ? `, TIE of ${tied.join(' and ')}` : ''
  return toTerminalLine(`best: ${agent} (of 10: ${listed.join(', ')}${equal}): ${reason}`)
}

const SAVING_REASONS: Record<string, string> = {
  cannot_change: 'the outcome could not change any more',
  beta: 'the outcome was likely enough',
  solo: 'one voice was enough',
}

function formatSavings(saved: NonNullable<NonNullable<AgreementView['metadata']>['saved']>): string {
  const { agents, calls, why, probability } = saved
  const sure = probability === undefined ? '' : ` (${formatPercent(probability)})`
  return `saved ${pluralize(calls, 'call')}: ${SAVING_REASONS[why] ?? why}${sure}; not asked: ${agents.map(toTerminalLine).join(', ')}`
}

/** Words between which no line is broken. */
export function toUnbreakable(words: string): string {
  return words.replaceAll(' ', NO_BREAK_SPACE)
}

export function formatPercent(share: number): string {
  return `${Math.round(share * 100)} %`
}
