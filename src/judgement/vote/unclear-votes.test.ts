import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tallyConsensus } from './consensus.ts'
import { tallyUnclear } from './unclear-votes.ts'
import { tally } from './vote.ts'

const ballot = (group: number, score: number, critical = false) => ({ group, score, agent: `${group}`, critical })
const three = { groups: [[0], [1], [2]], unclear: [[1, 2]] as [number, number][] }

describe('votes with unclear pairs', () => {
  test('VO28 a tie, a winner or a lack of unanimity that a merge could change is not decided', () => {
    const open = { winner: null, tie: false, unclear: true }
    const two = { groups: [[0], [1]], unclear: [[0, 1]] as [number, number][] }
    expect(tallyUnclear('weighted', [ballot(0, 1), ballot(1, 1)], two)).toMatchObject(open)
    expect(tallyUnclear('weighted', [ballot(0, 1), ballot(1, 0.6), ballot(2, 0.6)], three)).toMatchObject(open)
    expect(tallyUnclear('weighted', [ballot(0, 1), ballot(1, 1), ballot(2, 0.1)], three)).toMatchObject(open)
    expect(tallyUnclear('unanimous', [ballot(0, 1), ballot(1, 0.1)], two)).toMatchObject(open)
  })

  test('VO28 an outcome that no merge can change is decided, and a critical concern still blocks', () => {
    const ahead = [ballot(0, 1), ballot(1, 0.4), ballot(2, 0.4)]
    expect(tallyUnclear('weighted', ahead, three)).toMatchObject({ winner: 0, unclear: false })
    const tied = { groups: [[0], [1], [2], [3]], unclear: [[2, 3]] as [number, number][] }
    const scores = [ballot(0, 1), ballot(1, 1), ballot(2, 0.1), ballot(3, 0.1)]
    expect(tallyUnclear('weighted', scores, tied)).toMatchObject({ tie: true, unclear: false })
    expect(tallyUnclear('unanimous', ahead, three)).toMatchObject({ winner: null, unclear: false })
    const blocked = [ballot(0, 1), ballot(1, 0.6), ballot(2, 0.6, true)]
    expect(tallyUnclear('veto', blocked, three)).toMatchObject({ blocked_by: ['2'], unclear: false })
  })

  test('VO28 whatever the pairs turn out to be, a decided winner stays the winner', () => {
    const pair = fc.tuple(fc.nat(4), fc.nat(4)).filter(([a, b]) => a < b)
    let decided = 0
    fc.assert(
      fc.property(
        fc.array(fc.nat(8), { minLength: 5, maxLength: 5 }),
        fc.array(pair),
        fc.nat(),
        (scores, pairs, pick) => {
          const groups = scores.map((_, index) => [index])
          const unclear = pairs.map(([a, b]) => [a, b] as [number, number])
          const ballots = scores.map((score, group) => ballot(group, score))
          const { winner, unclear: isOpen } = tallyUnclear('weighted', ballots, { groups, unclear })
          const chosen = pairs[pick % Math.max(1, pairs.length)]
          if (isOpen || winner === null || !chosen) return
          decided += 1
          // One of the pairs is the same after all.
          const [a, b] = chosen
          const merged = ballots.map((each) => (each.group === b ? { ...each, group: a } : each))
          expect(tally('weighted', merged).winner).toBe(winner === b ? a : winner)
        },
      ),
    )
    expect(decided).toBeGreaterThan(5)
  })

  test('VO29 unclear pairs are listed; they are neither agreement nor dissent', () => {
    const vote = (agent: string, recommendation: string, confidence = 1) => ({
      ...{ agent, role: agent, recommendation, confidence, weight: 1, concerns: [] },
    })
    const votes = [vote('a', 'yes'), vote('b', 'yes'), vote('c', 'do it', 0.5), vote('d', 'no', 0.5)]
    const groups = [[0, 1], [2], [3]]
    const consensus = tallyConsensus(votes, groups, { threshold: 0.5, unclear: [[0, 2]] })
    expect(consensus).toMatchObject({
      unclear: [['yes', 'do it']],
      agreement_score: null,
      consensus_score: null,
      has_consensus: true,
      supporting: ['a', 'b'],
      dissenting: ['d'],
      minority_report: [{ agents: ['d'] }],
    })
    const settled = tallyConsensus(votes, groups, { threshold: 0.5, unclear: [[2, 3]] })
    expect(settled).toMatchObject({ agreement_score: null, consensus_score: 2 / 3, dissenting: ['c', 'd'] })
  })
})
