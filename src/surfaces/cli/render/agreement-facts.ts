import type { Agreement } from './agreement-parts.ts'
import { counted } from './amounts.ts'
import type { Look } from './line.ts'
import { oneLine, wrap } from './width.ts'

/** Stands for a blank at which no line is broken. */
export const TOGETHER = '\u00a0'

/** How far they agree, how that was found, what was saved, and what went wrong. */
export function factLines(
  found: Agreement,
  look: Look,
  { dot, opinions }: { dot: string; opinions: boolean },
): string[] {
  const { consensus, best_of, decision, metadata } = found
  const facts: string[] = []
  if (consensus && opinions) facts.push(...agreementFacts(consensus, dot), ...weightFact(found))
  if (best_of) facts.push(scoreWords(best_of))
  if (decision)
    facts.push(`${decision.collaborated ? 'more than one was asked' : 'one was asked'}: ${oneLine(decision.reason)}`)
  if (metadata?.saved) facts.push(savedWords(metadata.saved))
  return [
    ...facts
      .flatMap((fact) => wrap(fact, look.width, 2))
      .map((words) => look.paint('dim', words.replaceAll(TOGETHER, ' '))),
    ...(metadata?.problems ?? []).flatMap((problem) =>
      wrap(`problem: ${oneLine(problem)}`, look.width, 2).map((words) => look.paint('yellow', words)),
    ),
  ]
}

const METHODS: Record<string, string> = {
  text: 'compared as text',
  embeddings: 'compared by meaning',
  model: 'compared by meaning and by a model',
}

function agreementFacts(consensus: NonNullable<Agreement['consensus']>, dot: string): string[] {
  const { agreement_score, consensus_score, has_consensus, clusters, kappa, method, note, confidence } = consensus
  if (agreement_score === null) {
    const alone = clusters.length > 0 ? 'only one gave a recommendation' : 'nobody gave a recommendation'
    return [`agreement unknown: ${alone} that can be counted`]
  }
  const voices = clusters.reduce((sum, { agents }) => sum + agents.length, 0)
  const facts = [
    `agreement ${percent(agreement_score)} of ${counted(voices, 'voice')}`,
    has_consensus ? 'consensus' : 'no consensus',
    ...(consensus_score === null ? [] : [`by weight ${percent(consensus_score)}`]),
    ...(kappa === undefined ? [] : [`kappa ${kappa.toFixed(2)}`]),
    METHODS[method] ?? method,
  ]
  return [
    facts.map(whole).join(` ${dot} `),
    ...(confidence
      ? [
          `so much agreement was right in ${percent(confidence.confidence)} of ${counted(confidence.cases, 'earlier case')}`,
        ]
      : []),
    ...(note === undefined ? [] : [oneLine(note)]),
  ]
}

/** Without it nobody could tell why shares are not what the confidences add up to. */
function weightFact({ contributions }: Agreement): string[] {
  const weighed = contributions.some(({ weight = 1 }) => weight !== 1)
  return weighed ? ['shares follow the weights given, and how often each was right before'] : []
}

function scoreWords({ agent, reason, scores, tied }: NonNullable<Agreement['best_of']>): string {
  const listed = [...scores].sort((a, b) => b.score - a.score).map((each) => `${each.agent} ${each.score}`)
  const equal = tied ? `, TIE of ${tied.join(' and ')}` : ''
  return oneLine(`best: ${agent} (of 10: ${listed.join(', ')}${equal}): ${reason}`)
}

const WHY: Record<string, string> = {
  cannot_change: 'the outcome could not change any more',
  beta: 'the outcome was likely enough',
  solo: 'one voice was enough',
}

function savedWords(saved: NonNullable<NonNullable<Agreement['metadata']>['saved']>): string {
  const { agents, calls, why, probability } = saved
  const sure = probability === undefined ? '' : ` (${percent(probability)})`
  return `saved ${counted(calls, 'call')}: ${WHY[why] ?? why}${sure}; not asked: ${agents.map(oneLine).join(', ')}`
}

/** Words between which no line is broken. */
export function whole(words: string): string {
  return words.replaceAll(' ', TOGETHER)
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
