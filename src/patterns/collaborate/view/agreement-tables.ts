import { errorSummary } from '../../../views/content-text.ts'
import type { PanelBlock } from '../../../views/panel.ts'
import { tableBlock, textBlock } from '../../../views/panel-blocks.ts'
import type { AgreementView, ContributionView } from './agreement-view.ts'

/* The tables of the agreement panel: dissent, disagreements, scores, votes and the answers themselves. */

export function dissentBlocks({ consensus, contributions }: AgreementView): PanelBlock[] {
  return (consensus?.minority_report ?? []).flatMap(({ agents, concerns }): PanelBlock[] => {
    const holder = contributions.find(({ agent }) => agent === agents[0])
    const text = [holder?.recommendation ?? '', ...concerns.map((concern) => `- ${concern}`)].join('\n').trim()
    return textBlock({ title: 'Minority report', claimed_by: agents.join(', ') }, text)
  })
}

export function disagreementBlocks({ consensus }: AgreementView): PanelBlock[] {
  const { key_agreements = [], key_disagreements = [] } = consensus ?? {}
  const rows = key_disagreements.flatMap(({ topic, severity, positions }) =>
    positions.map((position) => ({ topic, severity, ...position })),
  )
  return [
    ...tableBlock({ title: 'Key agreements', detail: true }, key_agreements, {
      statement: ['Statement', (statement) => statement],
    }),
    ...tableBlock({ title: 'Disagreements', detail: true }, rows, {
      severity: ['Severity', ({ severity }) => severity],
      topic: ['Topic', ({ topic }) => topic],
      recommendation: ['Position', ({ recommendation }) => recommendation],
      agents: ['Held by', ({ agents }) => agents.join(', '), 'agent'],
    }),
  ]
}

export function scoreBlocks({ best_of }: AgreementView): PanelBlock[] {
  if (!best_of) return []
  const title = best_of.tied ? `Scores, tie of ${best_of.tied.join(' and ')}` : 'Scores'
  const scores = best_of.scores.toSorted((one, other) => other.score - one.score)
  return [
    ...tableBlock({ title }, scores, {
      agent: ['Specialist', ({ agent }) => agent, 'agent'],
      score: ['Of 10', ({ score }) => score, 'count'],
      chosen: ['Chosen', ({ agent }) => agent === best_of.agent],
      reason: ['Reason of the evaluator', ({ reason }) => reason],
    }),
    ...textBlock({ claimed_by: 'evaluator' }, best_of.reason),
  ]
}

/** A row for each vote, then each answer in the words of its agent. */
export function contributionBlocks({ contributions }: AgreementView): PanelBlock[] {
  // Without weights, a vote counts as its stated confidence.
  const isWeighted = contributions.some(({ weight = 1 }) => weight !== 1)
  return [
    ...tableBlock({ title: 'Contributions', detail: true }, contributions, {
      agent: ['Specialist', ({ agent }) => agent, 'agent'],
      role: ['Role', ({ role }) => role],
      state: ['State', ({ status }) => status, 'state'],
      before: ['First position', ({ before }) => before?.recommendation],
      recommendation: ['Position', ({ recommendation }) => recommendation],
      confidence: ['Stated', ({ confidence }) => confidence, 'share'],
      weight: ['Weight', ({ weight = 1 }) => (isWeighted ? weight : null), 'count'],
      vote: [
        'Counts',
        ({ weight = 1, confidence }) => (isWeighted && confidence !== null ? confidence * weight : null),
        'share',
      ],
      concerns: [
        'Concerns',
        ({ concerns = [] }) => concerns.map((each) => `${each.severity}: ${each.concern}`).join('; ') || null,
      ],
      note: ['Note', (contribution) => remarksOn(contribution).join('; ') || null],
    }),
    ...contributions.flatMap(({ agent, response }) =>
      textBlock({ title: agent, claimed_by: agent, detail: true }, response),
    ),
  ]
}

function remarksOn({
  subtask,
  error,
  before,
  recommendation,
  cached,
  notes = [],
  questions = [],
}: ContributionView): string[] {
  return [
    ...(subtask === undefined ? [] : [subtask]),
    ...(error ? [errorSummary(error)] : []),
    ...(before && before.recommendation !== recommendation ? ['changed its position'] : []),
    ...(cached ? ['cached from an earlier run'] : []),
    ...notes,
    ...questions.map((question) => `asks: ${question}`),
  ]
}
