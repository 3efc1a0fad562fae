import { normalizeStatement } from '../../../judgement/similarity/similarity.ts'
import { calibratedConfidence } from '../../../judgement/vote/calibration.ts'
import type { PanelBlock, PanelPosition, PanelStandpoint } from '../../../kernel/panel.ts'
import { formatCount, pluralize } from '../../../views/format-amount.ts'
import type { AgreementView, ClusterView, ContributionView } from './agreement-view.ts'
import { isAgreed, isCertainlyDifferent, shownShare, winningCluster } from './winning-position.ts'

/* The positions: each one with the stated confidence of those who hold it, and how far earlier votes justify it. */

/** The plot of positions; none without votes. */
export function standpointBlocks(agreement: AgreementView): PanelBlock[] {
  const clusters = agreement.consensus?.clusters ?? []
  if (clusters.length === 0) return []
  const winner = winningCluster(agreement)
  const positions = clusters.map((cluster): PanelPosition => {
    const tone = cluster === winner ? (isAgreed(agreement) ? 'good' : 'attention') : 'muted'
    const isDissent = winner !== undefined && cluster !== winner && isCertainlyDifferent(cluster, agreement)
    const by = cluster.agents.map((agent) => standpoint(agreement, { cluster, agent }))
    const note = `${pluralize(cluster.agents.length, 'vote')}${isDissent ? ', dissent' : ''}`
    return { label: cluster.recommendation, note, share: shownShare(cluster, agreement), tone, by }
  })
  const unheard = unheardAgents(agreement)
  if (unheard.length > 0)
    positions.push({ label: 'No position', note: 'not counted as agreement', tone: 'muted', by: unheard })
  return [{ kind: 'positions', title: 'Who stands where', positions }]
}

function standpoint(
  { contributions, consensus }: AgreementView,
  { cluster, agent }: { cluster: ClusterView; agent: string },
): PanelStandpoint {
  const own = contributions.filter((each) => each.agent === agent)
  const contribution = own.find(({ recommendation }) => recommendation === cluster.recommendation) ?? own[0]
  const stated = contribution?.confidence ?? null
  const calibrated = stated === null ? undefined : calibratedConfidence(stated, consensus?.calibration ?? [])
  const before = contribution && firstAnswer(contribution)
  return {
    agent,
    stated,
    ...(calibrated === undefined ? undefined : { calibrated }),
    ...(before ? { before } : undefined),
    ...(contribution?.cached ? { note: 'cached from an earlier run' } : undefined),
  }
}

/** The answer before it read the others, if it was another one. */
function firstAnswer({
  before,
  recommendation,
  confidence,
}: ContributionView): { position: string | null; stated: number | null } | undefined {
  if (!before) return undefined
  const { recommendation: position, confidence: stated = null } = before
  const isSame = normalizeStatement(position ?? '') === normalizeStatement(recommendation ?? '')
  return isSame && stated === confidence ? undefined : { position, stated }
}

function unheardAgents({ contributions, consensus }: AgreementView): PanelStandpoint[] {
  const heard = new Set(consensus?.clusters.flatMap(({ agents }) => agents))
  const seen = new Set<string>()
  return contributions.flatMap(({ agent, status, error, subtask }) => {
    if (heard.has(agent) || seen.has(agent) || subtask !== undefined) return []
    seen.add(agent)
    const note = error ? `${status}: ${error.message}` : 'no recommendation'
    return [{ agent, stated: null, note }]
  })
}

/** Stated confidence against outcomes of earlier votes; none before there are enough. */
export function calibrationBlocks({ consensus }: AgreementView): PanelBlock[] {
  const points = consensus?.calibration
  if (!points || points.length === 0) return []
  const cases = points.reduce((sum, point) => sum + point.cases, 0)
  const gap = points.reduce((sum, { stated, right, cases: own }) => sum + (stated - right) * own, 0) / cases
  const by = Math.round(Math.abs(gap) * 100)
  const verdict =
    by < 3
      ? 'They were right about as often as they said.'
      : `On average they were right ${by} points ${gap > 0 ? 'less' : 'more'} often than they said.`
  const text = `${formatCount(cases)} votes with a known outcome. ${verdict} Size of a dot: number of votes; line: 95 % interval.`
  return [{ kind: 'calibration', title: 'Calibration', points, text }]
}
