import type { Bench } from './bench.ts'
import { atMost } from './bench.ts'
import { conversationContenders, conversationLines, SQLITE, withAim } from './conversation-rounds.ts'
import { findFigure, runRounds } from './rounds.ts'

export const actingTool: Bench = {
  name: 'act',
  title: 'A turn with one acting tool call, its begin synced to the disk first (two model calls)',
  async run({ quick, folder }) {
    const counts = quick ? { ours: 50, sdk: 50, bare: 1000 } : { ours: 300, sdk: 200, bare: 10_000 }
    const plan = { turns: 2, calls: 1, tool: 'act' as const, latency_ms: 0 }
    const figures = await runRounds(conversationContenders(plan, counts, folder), { rounds: quick ? 3 : 7 })
    return withAim(conversationLines(figures), SQLITE, atMost(findFigure(figures, SQLITE).median, 300, 'µs'))
  },
}
