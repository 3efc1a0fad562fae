import type { Bench } from './bench.ts'
import { atMost } from './bench.ts'
import { conversationContenders, conversationLines, SQLITE, withTarget } from './conversation-rounds.ts'
import { findFigure, runRounds } from './rounds.ts'

export const actingTool: Bench = {
  name: 'act',
  title: 'A turn with one call of an `act` tool, its begin synced to disk first (two model requests)',
  async run({ quick, folder }) {
    const counts = quick ? { troupe: 50, sdk: 50, bare: 1000 } : { troupe: 300, sdk: 200, bare: 10_000 }
    const plan = { turns: 2, calls: 1, tool: 'act' as const, latency_ms: 0 }
    const figures = await runRounds(conversationContenders(plan, counts, folder), { rounds: quick ? 3 : 7 })
    return withTarget(conversationLines(figures), SQLITE, atMost(findFigure(figures, SQLITE).median, 300, 'µs'))
  },
}
