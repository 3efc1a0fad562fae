import { stableSum } from './vote.ts'

/**
 * Whether a position has more behind it than the confidence that one voter states about itself: two voters, more than half of the weight, or no other
 * agent was asked.
 */
export function isSupported(
  supporters: readonly { weight: number }[],
  voters: readonly { weight: number }[],
  agentsAsked: number,
): boolean {
  const weightOf = (list: readonly { weight: number }[]) => stableSum(list.map(({ weight }) => weight))
  if (supporters.length > 1 || agentsAsked < 2) return supporters.length > 0
  return voters.length > 1 && weightOf(supporters) * 2 > weightOf(voters)
}
