import type { Bench } from './bench.ts'
import { atMost, bothTargets } from './bench.ts'
import {
  conversationContenders,
  conversationLines,
  GENERATE,
  MEMORY,
  SQLITE,
  withTarget,
} from './conversation-rounds.ts'
import { SINGLE_TURN } from './plan.ts'
import { findFigure, runRounds } from './rounds.ts'

export const turn: Bench = {
  name: 'turn',
  title: 'One turn: an instruction, one streamed response',
  async run({ quick, folder }) {
    const counts = quick ? { troupe: 300, sdk: 100, bare: 2000 } : { troupe: 2000, sdk: 400, bare: 20_000 }
    const figures = await runRounds(conversationContenders(SINGLE_TURN, counts, folder), {
      rounds: quick ? 3 : 9,
      warmups: quick ? 1 : 2,
    })
    const [memory, sqlite] = [findFigure(figures, MEMORY), findFigure(figures, SQLITE)]
    const share = {
      text: '≤ 2/3 of generateText',
      met: sqlite.median <= (findFigure(figures, GENERATE).median * 2) / 3,
    }
    const lines = withTarget(conversationLines(figures), MEMORY, atMost(memory.median, 50, 'µs'))
    return withTarget(lines, SQLITE, bothTargets(atMost(sqlite.median, 150, 'µs'), share))
  },
}
