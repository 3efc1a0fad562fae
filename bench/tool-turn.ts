import type { Bench, BenchOptions, Line } from './bench.ts'
import { conversationContenders, conversationLines } from './conversation-rounds.ts'
import { runRounds } from './rounds.ts'

async function measureToolTurn(calls: number, { quick, folder }: BenchOptions): Promise<Line[]> {
  const counts = quick ? { troupe: 200, sdk: 50, bare: 1000 } : { troupe: 1000, sdk: 200, bare: 10_000 }
  const plan = { turns: 2, calls, tool: 'look' as const, latency_ms: 0 }
  const figures = await runRounds(conversationContenders(plan, counts, folder), {
    rounds: quick ? 3 : 7,
    warmups: quick ? 1 : 2,
  })
  return conversationLines(figures)
}

export const oneCall: Bench = {
  name: 'tool',
  title: 'A turn with one call of a `read` tool (two model requests)',
  run: (options) => measureToolTurn(1, options),
}

export const threeCalls: Bench = {
  name: 'tools',
  title: 'A turn with three parallel calls of a `read` tool (two model requests)',
  run: (options) => measureToolTurn(3, options),
}
