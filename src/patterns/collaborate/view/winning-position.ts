import type { AgreementView, ClusterView } from './agreement-view.ts'

/** The winning position, if any; a human decision overrides the count. */
export function winningCluster({ consensus, vote, ruling, best_of, decided }: AgreementView): ClusterView | undefined {
  const clusters = consensus?.clusters ?? []
  if (ruling) return clusters.find(({ recommendation }) => recommendation === ruling.decision)
  // The evaluator's choice, not the majority.
  if (best_of) return clusters.find(({ agents }) => agents.includes(best_of.agent))
  const isOpen = consensus?.unclear !== undefined && consensus.supporting.length === 0
  return consensus?.tie || isOpen || vote?.winner === null || decided === false ? undefined : clusters[0]
}

/** Without consensus the highest score gets no tick: it may be the confidence of one agent. */
export function isAgreed({ consensus, ruling, best_of }: AgreementView): boolean {
  return consensus?.has_consensus === true || ruling !== undefined || best_of !== undefined
}

/** The share of the score; without consensus, of the agents, so that no position of a minority has 100 %. */
export function shownShare({ share, agents }: ClusterView, agreement: AgreementView): number {
  const { consensus, contributions } = agreement
  if (consensus?.has_consensus) return share
  const votes = consensus?.clusters.reduce((sum, cluster) => sum + cluster.agents.length, 0) ?? 0
  return agents.length / Math.max(1, votes, new Set(contributions.map(({ agent }) => agent)).size)
}
