import type { PanelBlock, PanelShare } from '../../../views/panel.ts'
import type { AgreementView, ClusterView } from './agreement-view.ts'
import { isAgreed, shownShare, winningCluster } from './winning-position.ts'

/** Each position with its share and the stated confidence of its agents; none without votes. */
export function positionBlocks(agreement: AgreementView): PanelBlock[] {
  const clusters = agreement.consensus?.clusters ?? []
  if (clusters.length === 0) return []
  const winner = winningCluster(agreement)
  const shares = clusters.map((cluster): PanelShare => {
    const tone = cluster === winner ? (isAgreed(agreement) ? 'good' : 'attention') : 'muted'
    const by = cluster.agents.map((agent) => supporter(agreement, { cluster, agent }))
    return { label: cluster.recommendation, value: shownShare(cluster, agreement), tone, by }
  })
  const uncounted = uncountedAgents(agreement)
  if (uncounted.length > 0) shares.push({ label: 'No position', value: 0, tone: 'muted', by: uncounted })
  return [{ kind: 'shares', title: 'Who stands where', shares }]
}

type Supporter = NonNullable<PanelShare['by']>[number]

function supporter(
  { contributions }: AgreementView,
  { cluster, agent }: { cluster: ClusterView; agent: string },
): Supporter {
  const own = contributions.filter((each) => each.agent === agent)
  const { confidence, cached } =
    own.find(({ recommendation }) => recommendation === cluster.recommendation) ?? own[0] ?? {}
  return {
    agent,
    ...(typeof confidence === 'number' ? { value: confidence } : undefined),
    ...(cached ? { note: 'cached from an earlier run' } : undefined),
  }
}

/** The agents without a position, with the reason. */
function uncountedAgents({ contributions, consensus }: AgreementView): Supporter[] {
  const counted = new Set(consensus?.clusters.flatMap(({ agents }) => agents))
  const seen = new Set<string>()
  return contributions.flatMap(({ agent, status, error, subtask }) => {
    if (counted.has(agent) || seen.has(agent) || subtask !== undefined) return []
    seen.add(agent)
    return [{ agent, note: error ? `${status}: ${error.message}` : 'no recommendation' }]
  })
}
