import { pluralize } from '../../../views/format-amount.ts'
import type { Panel, PanelBlock } from '../../../views/panel.ts'
import type { PanelScope } from '../../../views/pattern-view.ts'
import { countMatrix } from '../count-matrix.ts'
import type { ConsultEventOf } from '../events.ts'
import { unfinishedStatuses } from '../request.ts'
import { failedAtEnd } from '../run-end.ts'
import type { ConsultationView, ConsultationViews } from './consultations.ts'

/* Consultations as a panel: who asked whom and why, what each cost, what the specialist was given, and loops. */

export function consultationPanels(
  { byId, packages, loops, askedBack }: ConsultationViews,
  { end }: Pick<PanelScope, 'end'>,
): readonly Panel[] {
  const failed = end ? failedAtEnd(end) : { atWork: false, askedBack: false }
  const views = [...byId.values()].map((view): ConsultationView => {
    const hasFailed = askedBack.has(view.collaboration_id) ? failed.askedBack : failed.atWork
    return hasFailed && unfinishedStatuses.includes(view.status) ? { ...view, status: 'failed' } : view
  })
  if (views.length === 0) return []
  return [
    {
      id: 'consultations',
      title: 'Consultations',
      badge: String(views.length),
      blocks: [
        consultationTable(views),
        ...(views.length > 1 ? [pairMatrix(views)] : []),
        ...loopBlocks(loops, byId),
        ...views.flatMap((view) => consultationBlocks(view, packages.get(view.collaboration_id) ?? [])),
      ],
    },
  ]
}

function consultationTable(views: readonly ConsultationView[]): PanelBlock {
  return {
    kind: 'table',
    title: 'Consultations',
    columns: [
      { key: 'question', title: 'Question' },
      { key: 'asker', title: 'Asked by', unit: 'agent' },
      { key: 'specialist', title: 'Specialist', unit: 'agent' },
      { key: 'reason', title: 'Reason' },
      { key: 'status', title: 'Status', unit: 'state' },
      { key: 'urgency', title: 'Urgency' },
      { key: 'exchanges', title: 'Exchanges', unit: 'count' },
      { key: 'tokens', title: 'Tokens', unit: 'tokens' },
      { key: 'cost', title: 'Cost', unit: 'usd' },
      { key: 'rating', title: 'Rating of 5', unit: 'count' },
      { key: 'id', title: 'collaboration_id', unit: 'code' },
    ],
    rows: views.map((view) => ({
      question: view.question,
      asker: view.requesting_agent,
      specialist: view.specialist_agent,
      reason: view.consultation_reason?.replaceAll('_', ' ') ?? null,
      status: view.status,
      urgency: view.urgency,
      exchanges: view.exchanges,
      tokens: view.tokens,
      cost: view.cost_usd,
      rating: view.rating,
      id: view.collaboration_id,
    })),
  }
}

/** The number of questions from each agent to each specialist. */
function pairMatrix(views: readonly ConsultationView[]): PanelBlock {
  const pairs = views.flatMap(({ requesting_agent, specialist_agent }) =>
    (specialist_agent ?? '(nobody)').split(', ').map((specialist) => [requesting_agent, specialist] as const),
  )
  return countMatrix('Who asked whom', pairs)
}

function loopBlocks(loops: ConsultationViews['loops'], byId: ConsultationViews['byId']): PanelBlock[] {
  if (loops.length === 0) return []
  return [
    {
      kind: 'table',
      title: 'Loops',
      columns: [
        { key: 'at', title: 'At', unit: 'time' },
        { key: 'type', title: 'Kind' },
        { key: 'asker', title: 'Asked by', unit: 'agent' },
        { key: 'resolution', title: 'Then' },
        { key: 'notes', title: 'Found' },
      ],
      rows: loops.map(({ at, data: { loop_type, collaboration_id, resolution, notes, evidence } }) => ({
        at,
        type: loop_type.replaceAll('_', ' '),
        asker: byId.get(collaboration_id)?.requesting_agent ?? null,
        resolution,
        notes: notes ?? JSON.stringify(evidence) ?? null,
      })),
    },
  ]
}

type ContextPackage = ConsultEventOf<'consult:package'>['data']

function consultationBlocks(view: ConsultationView, packages: readonly ContextPackage[]): PanelBlock[] {
  const title = `${view.requesting_agent} → ${view.specialist_agent ?? 'nobody yet'}`
  return [
    { kind: 'text', title, text: view.question, claimed_by: view.requesting_agent, detail: true },
    ...(view.answer === null
      ? []
      : [
          {
            kind: 'text' as const,
            title: 'Answer',
            text: view.answer,
            claimed_by: view.specialist_agent ?? 'orchestrator',
            detail: true as const,
          },
        ]),
    ...packages.flatMap(packageBlocks),
  ]
}

/** The context that the specialist was given, and what was left out. */
function packageBlocks({ agent, items, left_out, tokens, redacted }: ContextPackage): PanelBlock[] {
  if (items.length + left_out.length === 0) return []
  const removed = redacted.map(({ kind, count }) => `${count} × ${kind}`).join(', ')
  const parts = [
    `${pluralize(items.length, 'item')} given`,
    `${left_out.length} left out`,
    `${tokens} tokens`,
    ...(removed === '' ? [] : [`secrets removed: ${removed}`]),
  ]
  return [
    {
      kind: 'table',
      title: `Context for ${agent}: ${parts.join(', ')}`,
      detail: true,
      columns: [
        { key: 'source', title: 'Source', unit: 'code' },
        { key: 'origin', title: 'From' },
        { key: 'reason', title: 'Because' },
        { key: 'tokens', title: 'Tokens', unit: 'tokens' },
        { key: 'given', title: 'Given' },
      ],
      rows: [...items, ...left_out].map((item) => ({
        source: item.source,
        origin: item.origin,
        reason: item.reason,
        tokens: item.tokens,
        given: 'score' in item,
      })),
    },
  ]
}
