import { errorSummary } from '../../../views/content-text.ts'
import { pluralize } from '../../../views/format-amount.ts'
import type { Panel, PanelBlock, PanelFact } from '../../../views/panel.ts'
import { presentFacts, textBlock } from '../../../views/panel-blocks.ts'
import type { PanelScope } from '../../../views/pattern-view.ts'
import { contributionBlocks, disagreementBlocks, dissentBlocks, scoreBlocks } from './agreement-tables.ts'
import type { AgreementView } from './agreement-view.ts'
import { agreementViewFrom } from './agreement-view.ts'
import type { CollaborationView, CollaborationViews } from './collaboration-view.ts'
import { enclosingCollaboration, formatRecommendation } from './collaboration-view.ts'
import { positionBlocks } from './position-blocks.ts'
import { isAgreed, winningCluster } from './winning-position.ts'

/* The agreement of a collaboration as a panel: positions with their shares, dissent, scores and contributions. */

/** The agreement of the run, or else of the collaborations that its agents called, as far as their events tell. */
export function agreementPanels(views: CollaborationViews, { input, output }: PanelScope): readonly Panel[] {
  const agreement = agreementViewFrom(output)
  const blocks = agreement
    ? agreementBlocks(agreement, input)
    : [...views.byKey.values()].flatMap((each) => openBlocks(views, each))
  if (blocks.length === 0) return []
  const title = agreement && !hasPositions(agreement) ? 'Subtasks' : 'Agreement'
  return [{ id: 'agreement', title, ...badgeOf(agreement), blocks }]
}

/** Subtasks are not positions on one question, unless they were voted on. */
function hasPositions({ contributions, vote }: AgreementView): boolean {
  return vote !== undefined || !contributions.some(({ subtask }) => subtask !== undefined)
}

function badgeOf(agreement: AgreementView | undefined): { badge?: string } {
  const score = agreement && hasPositions(agreement) ? agreement.consensus?.agreement_score : undefined
  return score === null || score === undefined ? {} : { badge: `${Math.round(score * 100)} %` }
}

function agreementBlocks(agreement: AgreementView, input: unknown): PanelBlock[] {
  const { result, metadata } = agreement
  const facts = hasPositions(agreement) ? [resultFact(agreement), ...consensusFacts(agreement, input)] : []
  if (metadata?.cost !== undefined) facts.push({ label: 'cost', value: metadata.cost, unit: 'usd' })
  return [
    ...(facts.length === 0 ? [] : [{ kind: 'facts' as const, title: 'Result', facts }]),
    ...textBlock({ title: 'Answer', detail: true }, result),
    ...subtaskBlocks(agreement),
    ...positionBlocks(agreement, hasPositions(agreement)),
    ...(hasPositions(agreement) ? [...dissentBlocks(agreement), ...disagreementBlocks(agreement)] : []),
    ...scoreBlocks(agreement),
    ...savingBlocks(agreement),
    ...contributionBlocks(agreement),
    ...(metadata?.problems ?? []).flatMap((text) => textBlock({ title: 'Problem' }, text)),
  ]
}

/** The decision and who made it. */
function resultFact(agreement: AgreementView): PanelFact {
  const { ruling, vote, best_of, consensus, decided } = agreement
  if (ruling) return { label: 'decided by a person', value: ruling.decision, tone: 'good' }
  if (vote?.blocked_by) return { label: 'blocked by', value: vote.blocked_by.join(', '), tone: 'bad' }
  if (vote?.tie ?? consensus?.tie) return { label: 'no decision', value: 'tie', tone: 'attention' }
  if (best_of) return { label: 'best answer', value: best_of.agent, unit: 'agent', tone: 'good' }
  const winner = winningCluster(agreement)?.recommendation
  if (winner === undefined || decided === false)
    return { label: 'no decision', value: vote?.reason ?? 'no position won', tone: 'attention' }
  const label = vote ? `decided by ${vote.strategy} vote` : 'most supported'
  return { label, value: winner, tone: isAgreed(agreement) ? 'good' : 'attention' }
}

const METHODS: Readonly<Record<string, string>> = { text: 'text', embeddings: 'embeddings', model: 'a model' }

function consensusFacts({ consensus, contributions }: AgreementView, input: unknown): PanelFact[] {
  if (!consensus) return []
  const { consensus_threshold } = (input ?? {}) as { consensus_threshold?: unknown }
  const { agreement_score, consensus_score, has_consensus, confidence, method, note, unclear, clusters } = consensus
  const tone = has_consensus ? 'good' : 'attention'
  const isWeighted = contributions.some(({ weight = 1 }) => weight !== 1)
  return presentFacts([
    agreement_score === null || unclear
      ? ['agreement', `unknown: ${unknownReason(consensus)}`]
      : ['agreement', agreement_score, 'share', tone],
    ['votes', clusters.reduce((sum, { agents }) => sum + agents.length, 0), 'count'],
    ['needed', typeof consensus_threshold === 'number' ? consensus_threshold : undefined, 'share'],
    ['by confidence and weight', (has_consensus ? consensus_score : null) ?? undefined, 'share'],
    ['consensus', has_consensus ? 'yes' : 'no', '', tone],
    [`right before at this agreement, ${pluralize(confidence?.cases ?? 0, 'case')}`, confidence?.confidence, 'share'],
    ['compared by', METHODS[method] ?? method],
    ['note', note, '', 'attention'],
    // Explains why shares differ from the confidences.
    ['shares', isWeighted ? 'include the given weights and past accuracy' : undefined],
  ])
}

function unknownReason({ unclear, clusters }: NonNullable<AgreementView['consensus']>): string {
  if (unclear) return `${pluralize(unclear.length, 'pair')} of recommendations may be the same in different words`
  return `${clusters.length > 0 ? 'only one' : 'no'} countable recommendation`
}

/** Divided work, with what came of each part. */
function subtaskBlocks({ contributions }: AgreementView): PanelBlock[] {
  const steps = contributions.flatMap(({ agent, subtask, status, error, recommendation, confidence }) => {
    if (subtask === undefined) return []
    const note = error ? errorSummary(error) : formatRecommendation({ recommendation, confidence })
    return [{ title: subtask, agent, state: status, ...(note === '' ? undefined : { note }) }]
  })
  return steps.length === 0 ? [] : [{ kind: 'steps', title: 'Parts of the work', steps }]
}

const SAVING_REASONS: Readonly<Record<string, string>> = {
  cannot_change: 'the result could no longer change',
  beta: 'the result was likely enough',
}

function savingBlocks({ metadata }: AgreementView): PanelBlock[] {
  if (!metadata?.saved) return []
  const { agents, calls, why, probability } = metadata.saved
  const facts = presentFacts([
    ['requests saved', calls, 'count'],
    ['because', SAVING_REASONS[why] ?? why],
    ['probability', probability, 'share'],
    ['not asked', agents.join(', ')],
  ])
  return [{ kind: 'facts', title: 'Savings', facts }]
}

/** A collaboration whose result is not known: the recommendations so far. */
function openBlocks(views: CollaborationViews, collaboration: CollaborationView): PanelBlock[] {
  const specialists = [...views.specialists].filter(
    ([key]) => enclosingCollaboration(views, `${key}/start`) === collaboration,
  )
  const shares = Map.groupBy(
    specialists.map(([, each]) => each).filter(({ recommendation }) => recommendation !== null),
    ({ recommendation }) => recommendation ?? '',
  )
  const answered = specialists.filter(([, { status }]) => status === 'completed').length
  const facts = presentFacts([
    ['mode', collaboration.mode],
    ['result by', collaboration.synthesis],
    ['answered', `${answered} of ${collaboration.agents.length}`],
    ['agreement', collaboration.agreement_score ?? undefined, 'share'],
  ])
  const total = [...shares.values()].reduce((sum, each) => sum + each.length, 0)
  return [
    { kind: 'facts', title: 'So far', facts },
    ...(shares.size === 0
      ? []
      : [
          {
            kind: 'shares' as const,
            title: 'Recommendations, in the words of the agents',
            unit: 'share' as const,
            shares: [...shares].map(([label, each]) => ({
              label,
              value: each.length / total,
              by: each.map(({ agent, confidence }) => ({
                agent,
                ...(confidence === null ? undefined : { value: confidence }),
              })),
            })),
          },
        ]),
    {
      kind: 'steps',
      title: 'Specialists',
      steps: collaboration.agents.map((name) => {
        const found = specialists.findLast(([, { agent }]) => agent === name)?.[1]
        const note = found?.error ?? found?.subtask ?? found?.role
        return { title: name, state: found?.status ?? 'pending', agent: name, ...(note ? { note } : undefined) }
      }),
    },
  ]
}
