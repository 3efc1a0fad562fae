import { pluralize } from '../../../views/format-amount.ts'
import type { Panel, PanelBlock } from '../../../views/panel.ts'
import { tableBlock, textBlock } from '../../../views/panel-blocks.ts'
import type { PanelScope } from '../../../views/pattern-view.ts'
import type { ConsultEventOf } from '../events.ts'
import { countMatrix } from '../metrics.ts'
import { unfinishedStatuses } from '../request.ts'
import { failedAtEnd } from '../tables.ts'
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
        ...consultationTable(views),
        ...(views.length > 1 ? [pairMatrix(views)] : []),
        ...loopBlocks(loops, byId),
        ...views.flatMap((view) => consultationBlocks(view, packages.get(view.collaboration_id) ?? [])),
      ],
    },
  ]
}

function consultationTable(views: readonly ConsultationView[]): PanelBlock[] {
  return tableBlock({ title: 'Consultations' }, views, {
    question: ['Question', (view) => view.question],
    asker: ['Asked by', (view) => view.requesting_agent, 'agent'],
    specialist: ['Specialist', (view) => view.specialist_agent, 'agent'],
    reason: ['Reason', (view) => view.consultation_reason?.replaceAll('_', ' ')],
    status: ['Status', (view) => view.status, 'state'],
    urgency: ['Urgency', (view) => view.urgency],
    exchanges: ['Exchanges', (view) => view.exchanges, 'count'],
    tokens: ['Tokens', (view) => view.tokens, 'tokens'],
    cost: ['Cost', (view) => view.cost_usd, 'usd'],
    rating: ['Rating of 5', (view) => view.rating, 'count'],
    id: ['collaboration_id', (view) => view.collaboration_id, 'code'],
  })
}

/** The number of questions from each agent to each specialist. */
function pairMatrix(views: readonly ConsultationView[]): PanelBlock {
  const pairs = views.flatMap(({ requesting_agent, specialist_agent }) =>
    (specialist_agent ?? '(nobody)').split(', ').map((specialist) => [requesting_agent, specialist] as const),
  )
  return countMatrix('Who asked whom', pairs)
}

function loopBlocks(loops: ConsultationViews['loops'], byId: ConsultationViews['byId']): PanelBlock[] {
  return tableBlock({ title: 'Loops' }, loops, {
    at: ['At', ({ at }) => at, 'time'],
    type: ['Kind', ({ data }) => data.loop_type.replaceAll('_', ' ')],
    asker: ['Asked by', ({ data }) => byId.get(data.collaboration_id)?.requesting_agent, 'agent'],
    resolution: ['Then', ({ data }) => data.resolution],
    notes: ['Found', ({ data: { notes, evidence } }) => notes ?? JSON.stringify(evidence)],
  })
}

type ContextPackage = ConsultEventOf<'consult:package'>['data']

function consultationBlocks(view: ConsultationView, packages: readonly ContextPackage[]): PanelBlock[] {
  const { requesting_agent, specialist_agent, question, answer } = view
  const title = `${requesting_agent} → ${specialist_agent ?? 'nobody yet'}`
  return [
    ...textBlock({ title, claimed_by: requesting_agent, detail: true }, question),
    ...textBlock({ title: 'Answer', claimed_by: specialist_agent ?? 'orchestrator', detail: true }, answer),
    ...packages.flatMap(packageBlocks),
  ]
}

/** The context that the specialist was given, and what was left out. */
function packageBlocks({ agent, items, left_out, tokens, redacted }: ContextPackage): PanelBlock[] {
  const removed = redacted.map(({ kind, count }) => `${count} × ${kind}`).join(', ')
  const parts = [
    `${pluralize(items.length, 'item')} given`,
    `${left_out.length} left out`,
    `${tokens} tokens`,
    ...(removed === '' ? [] : [`secrets removed: ${removed}`]),
  ]
  return tableBlock({ title: `Context for ${agent}: ${parts.join(', ')}`, detail: true }, [...items, ...left_out], {
    source: ['Source', ({ source }) => source, 'code'],
    origin: ['From', ({ origin }) => origin],
    reason: ['Because', ({ reason }) => reason],
    tokens: ['Tokens', (item) => item.tokens, 'tokens'],
    given: ['Given', (item) => 'score' in item],
  })
}
