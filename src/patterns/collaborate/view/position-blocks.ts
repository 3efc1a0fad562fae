import { errorSummary } from '../../../views/content-text.ts'
import type { PanelBlock, PanelShare } from '../../../views/panel.ts'
import type { AgreementView, ClusterView } from './agreement-view.ts'
import { isAgreed, shownShare, winningCluster } from './winning-position.ts'

/** Each position with its share and the stated confidence of its agents, and the agents without one. */
export function positionBlocks(agreement: AgreementView, hasPositions: boolean): PanelBlock[] {
  const clusters = hasPositions ? (agreement.consensus?.clusters ?? []) : []
  const winner = winningCluster(agreement)
  const shares = clusters.map((cluster): PanelShare => {
    const tone = cluster === winner ? (isAgreed(agreement) ? 'good' : 'attention') : 'muted'
    const by = cluster.agents.map((agent) => supporter(agreement, { cluster, agent }))
    return { label: cluster.recommendation, value: shownShare(cluster, agreement), tone, by }
  })
  const uncounted = uncountedAgents(agreement)
  if (uncounted.length > 0) shares.push({ label: 'No position', value: 0, tone: 'muted', by: uncounted })
  return shares.length === 0 ? [] : [{ kind: 'shares', title: 'Who stands where', shares }]
}

type Supporter = NonNullable<PanelShare['by']>[number]

function supporter(
  { contributions }: AgreementView,
  { cluster, agent }: { cluster: ClusterView; agent: string },
): Supporter {
  const own = contributions.filter((each) => each.agent === agent)
  const { confidence, cached, before, recommendation } =
    own.find((each) => each.recommendation === cluster.recommendation) ?? own[0] ?? {}
  const notes = [
    ...(before && before.recommendation !== recommendation ? ['changed its position'] : []),
    ...(cached ? ['cached from an earlier run'] : []),
  ]
  return {
    agent,
    ...(typeof confidence === 'number' ? { value: confidence } : undefined),
    ...(notes.length === 0 ? undefined : { note: notes.join(', ') }),
  }
}

/** The agents without a position, with the reason. */
function uncountedAgents({ contributions, consensus, metadata }: AgreementView): Supporter[] {
  const counted = new Set(consensus?.clusters.flatMap(({ agents }) => agents))
  const seen = new Set<string>()
  // The coordinator that divided the work contributes a plan, not a position.
  const isDivided = contributions.some(({ subtask }) => subtask !== undefined) || metadata?.mode === 'hierarchical'
  const plan = isDivided && !contributions[0]?.error ? contributions[0] : undefined
  return contributions.flatMap((contribution) => {
    const { agent, response, error, subtask } = contribution
    if (counted.has(agent) || seen.has(agent) || subtask !== undefined || contribution === plan) return []
    seen.add(agent)
    const label = response.trim() === '' ? 'no response' : 'incomplete'
    return [{ agent, note: error ? `${label}: ${errorSummary(error)}` : 'no recommendation' }]
  })
}
