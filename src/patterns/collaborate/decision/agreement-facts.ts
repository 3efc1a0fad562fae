import { pluralize } from '../../../views/format-amount.ts'
import type { TextLine } from '../../../views/pattern-view.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { AgreementView } from '../view/agreement-view.ts'

export const NO_BREAK_SPACE = '\u00a0'

/** Agreement score, method, saved requests and problems. */
export function agreementFactLines(
  agreement: AgreementView,
  { width }: { width: number },
  { dot, withConsensus }: { dot: string; withConsensus: boolean },
): TextLine[] {
  const { consensus, best_of, metadata } = agreement
  const facts: string[] = []
  if (consensus && withConsensus) facts.push(...agreementFacts(consensus, dot), ...weightFacts(agreement))
  if (best_of) facts.push(formatScores(best_of))
  if (metadata?.saved) facts.push(formatSavings(metadata.saved))
  return [
    ...facts
      .flatMap((fact) => wrapText(fact, width, 2))
      .map((line): TextLine => [['dim', line.replaceAll(NO_BREAK_SPACE, ' ')]]),
    ...(metadata?.problems ?? []).flatMap((problem) =>
      wrapText(`problem: ${toTerminalLine(problem)}`, width, 2).map((line): TextLine => [['yellow', line]]),
    ),
  ]
}

const METHODS: Record<string, string> = {
  text: 'compared as text',
  embeddings: 'compared by embeddings',
  model: 'compared by a model',
}

function agreementFacts(consensus: NonNullable<AgreementView['consensus']>, dot: string): string[] {
  const { agreement_score, consensus_score, has_consensus, clusters, method, note, confidence } = consensus
  if (consensus.unclear) {
    const pairs = pluralize(consensus.unclear.length, 'pair')
    const unknown = `agreement unknown: ${pairs} of recommendations may be the same in different words`
    return [unknown, ...(note === undefined ? [] : [toTerminalLine(note)])]
  }
  if (agreement_score === null) {
    return [`agreement unknown: ${clusters.length > 0 ? 'only one' : 'no'} countable recommendation`]
  }
  const votes = clusters.reduce((sum, { agents }) => sum + agents.length, 0)
  const facts = [
    `agreement ${formatPercent(agreement_score)} of ${pluralize(votes, 'vote')}`,
    has_consensus ? 'consensus' : 'no consensus',
    ...(consensus_score === null || !has_consensus ? [] : [`weighted ${formatPercent(consensus_score)}`]),
    METHODS[method] ?? method,
  ]
  return [
    facts.map(toUnbreakable).join(` ${dot} `),
    ...(confidence
      ? [
          `this level of agreement was right in ${formatPercent(confidence.confidence)} of ${pluralize(confidence.cases, 'earlier case')}`,
        ]
      : []),
    ...(note === undefined ? [] : [toTerminalLine(note)]),
  ]
}

/** Explains why shares differ from the confidences. */
function weightFacts({ contributions }: AgreementView): string[] {
  const isWeighted = contributions.some(({ weight = 1 }) => weight !== 1)
  return isWeighted ? ['shares include the given weights and past accuracy'] : []
}

function formatScores({ agent, reason, scores, tied }: NonNullable<AgreementView['best_of']>): string {
  const ranking = [...scores].sort((a, b) => b.score - a.score).map((each) => `${each.agent} ${each.score}`)
  const tie = tied ? `, TIE of ${tied.join(' and ')}` : ''
  return toTerminalLine(`best: ${agent} (of 10: ${ranking.join(', ')}${tie})${reason === '' ? '' : `: ${reason}`}`)
}

const SAVING_REASONS: Record<string, string> = {
  cannot_change: 'the outcome could no longer change',
  beta: 'the outcome was likely enough',
}

function formatSavings(saved: NonNullable<NonNullable<AgreementView['metadata']>['saved']>): string {
  const { agents, calls, why, probability } = saved
  const certainty = probability === undefined ? '' : ` (${formatPercent(probability)})`
  return `saved ${pluralize(calls, 'call')}: ${SAVING_REASONS[why] ?? why}${certainty}; not called: ${agents.map(toTerminalLine).join(', ')}`
}

/** Text that is not broken between words. */
export function toUnbreakable(text: string): string {
  return text.replaceAll(' ', NO_BREAK_SPACE)
}

export function formatPercent(share: number): string {
  return `${Math.round(share * 100)} %`
}
