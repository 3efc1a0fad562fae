import { errorSummary } from '../../../views/error-summary.ts'
import type { PanelBlock } from '../../../views/panel.ts'
import type { AgreementView, ContributionView } from './agreement-view.ts'

/* The tables of the agreement panel: dissent, disagreements, scores, votes and the answers themselves. */

export function dissentBlocks({ consensus, contributions }: AgreementView): PanelBlock[] {
  return (consensus?.minority_report ?? []).flatMap(({ agents, concerns }): PanelBlock[] => {
    const holder = contributions.find(({ agent }) => agent === agents[0])
    const text = [holder?.recommendation ?? '', ...concerns.map((concern) => `- ${concern}`)].join('\n').trim()
    if (text === '') return []
    return [{ kind: 'text', title: 'Minority report', text, claimed_by: agents.join(', ') }]
  })
}

export function disagreementBlocks({ consensus }: AgreementView): PanelBlock[] {
  const { key_agreements = [], key_disagreements = [] } = consensus ?? {}
  const rows = key_disagreements.flatMap(({ topic, severity, positions }) =>
    positions.map(({ recommendation, agents }) => ({ topic, severity, recommendation, agents: agents.join(', ') })),
  )
  return [
    ...(key_agreements.length === 0
      ? []
      : [
          {
            kind: 'table' as const,
            title: 'Key agreements',
            detail: true as const,
            columns: [{ key: 'statement', title: 'Statement' }],
            rows: key_agreements.map((statement) => ({ statement })),
          },
        ]),
    ...(rows.length === 0
      ? []
      : [
          {
            kind: 'table' as const,
            title: 'Disagreements',
            detail: true as const,
            columns: [
              { key: 'severity', title: 'Severity' },
              { key: 'topic', title: 'Topic' },
              { key: 'recommendation', title: 'Position' },
              { key: 'agents', title: 'Held by', unit: 'agent' as const },
            ],
            rows,
          },
        ]),
  ]
}

export function scoreBlocks({ best_of }: AgreementView): PanelBlock[] {
  if (!best_of) return []
  const rows = best_of.scores
    .toSorted((one, other) => other.score - one.score)
    .map(({ agent, score, reason = null }) => ({ agent, score, chosen: agent === best_of.agent, reason }))
  return [
    {
      kind: 'table',
      title: best_of.tied ? `Scores, tie of ${best_of.tied.join(' and ')}` : 'Scores',
      columns: [
        { key: 'agent', title: 'Specialist', unit: 'agent' },
        { key: 'score', title: 'Of 10', unit: 'count' },
        { key: 'chosen', title: 'Chosen' },
        { key: 'reason', title: 'Reason of the evaluator' },
      ],
      rows,
    },
    ...(best_of.reason === '' ? [] : [{ kind: 'text' as const, text: best_of.reason, claimed_by: 'evaluator' }]),
  ]
}

/** A row for each vote, then each answer in the words of its agent. */
export function contributionBlocks({ contributions }: AgreementView): PanelBlock[] {
  if (contributions.length === 0) return []
  const isWeighted = contributions.some(({ weight = 1 }) => weight !== 1)
  return [
    {
      kind: 'table',
      title: 'Contributions',
      detail: true,
      columns: [
        { key: 'agent', title: 'Specialist', unit: 'agent' },
        { key: 'role', title: 'Role' },
        { key: 'state', title: 'State', unit: 'state' },
        { key: 'before', title: 'First position' },
        { key: 'recommendation', title: 'Position' },
        { key: 'confidence', title: 'Stated', unit: 'share' },
        { key: 'weight', title: 'Weight', unit: 'count' },
        { key: 'vote', title: 'Counts', unit: 'share' },
        { key: 'concerns', title: 'Concerns' },
        { key: 'note', title: 'Note' },
      ],
      rows: contributions.map((each) => toRow(each, isWeighted)),
    },
    ...contributions.flatMap(({ agent, response }): PanelBlock[] =>
      response.trim() === '' ? [] : [{ kind: 'text', title: agent, text: response, claimed_by: agent, detail: true }],
    ),
  ]
}

/** Without weights, a vote counts as its stated confidence. */
function toRow(contribution: ContributionView, isWeighted: boolean) {
  const { agent, role, status, before, recommendation, confidence, weight = 1, concerns = [], subtask } = contribution
  const { error, notes = [], cached, questions = [] } = contribution
  const remarks = [
    ...(subtask === undefined ? [] : [subtask]),
    ...(error ? [errorSummary(error)] : []),
    ...(before && before.recommendation !== recommendation ? ['changed its position'] : []),
    ...(cached ? ['cached from an earlier run'] : []),
    ...notes,
    ...questions.map((question) => `asks: ${question}`),
  ]
  return {
    agent,
    role,
    state: status,
    before: before?.recommendation ?? null,
    recommendation,
    confidence,
    weight: isWeighted ? weight : null,
    vote: isWeighted && confidence !== null ? confidence * weight : null,
    concerns: concerns.map(({ severity, concern }) => `${severity}: ${concern}`).join('; ') || null,
    note: remarks.join('; ') || null,
  }
}
