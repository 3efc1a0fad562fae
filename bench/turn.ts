import type { Bench } from './bench.ts'
import { atMost, both } from './bench.ts'
import { PLAIN } from './plan.ts'
import { figureFor, takeTurns } from './rounds.ts'
import { GENERATE, MEMORY, SQLITE, talkers, talkLines, withAim } from './talk.ts'

export const turn: Bench = {
  name: 'turn',
  title: 'One turn: an instruction, one streamed answer',
  async run({ quick, folder }) {
    const counts = quick ? { ours: 300, sdk: 100, bare: 2000 } : { ours: 2000, sdk: 400, bare: 20_000 }
    const figures = await takeTurns(talkers(PLAIN, counts, folder), { rounds: quick ? 3 : 9, warmups: quick ? 1 : 2 })
    const [memory, sqlite] = [figureFor(figures, MEMORY), figureFor(figures, SQLITE)]
    const share = { text: '≤ 2/3 of generateText', met: sqlite.median <= (figureFor(figures, GENERATE).median * 2) / 3 }
    const lines = withAim(talkLines(figures), MEMORY, atMost(memory.median, 15, 'µs'))
    return withAim(lines, SQLITE, both(atMost(sqlite.median, 150, 'µs'), share))
  },
}
