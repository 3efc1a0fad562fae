import { join } from 'node:path'
import { createTroupe } from '../src/runtime/troupe.ts'
import type { Bench, Figure, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import { benchAgent } from './bench-engine.ts'
import { MEMORY, SQLITE } from './conversation-rounds.ts'
import { INSTRUCTION, planModel, RESPONSE, SINGLE_TURN } from './plan.ts'
import { toFigure } from './rounds.ts'

/** Turns measured around each position of the conversation. */
const WINDOW = 20

interface ChatOutput {
  response?: string
  session_id?: string
}

/** Holds one conversation, one `troupe.run` per turn, and returns the milliseconds of every turn. */
async function chat(store: string, turns: number): Promise<number[]> {
  const troupe = await createTroupe({ store, model: planModel(SINGLE_TURN), agents: [benchAgent([])] })
  const times: number[] = []
  let session_id: string | undefined
  for (let turn = 1; turn <= turns; turn++) {
    const input = session_id === undefined ? { agent: 'worker' } : { session_id }
    const start = performance.now()
    const { output } = await troupe.run('task', { ...input, instruction: `${turn}. ${INSTRUCTION}` })
    times.push(performance.now() - start)
    const said = output as ChatOutput | null
    assertEqual(said?.response, RESPONSE, `turn ${turn}`)
    session_id = said?.session_id
  }
  const [session] = session_id === undefined ? [] : [await troupe.getSession(session_id)]
  assertEqual(session?.segment, turns, 'segments of the session')
  await troupe.close()
  return times
}

/** The turns up to this one. */
function turnsBefore(times: readonly number[], turn: number): Figure {
  return toFigure(times.slice(Math.max(0, turn - WINDOW), turn))
}

function chatLines(name: string, times: readonly number[]): Line[] {
  const early = turnsBefore(times, 2 * WINDOW)
  const late = turnsBefore(times, times.length)
  const growth = late.median / early.median
  return [
    { label: `${name}, turns ${WINDOW + 1}–${2 * WINDOW}`, figure: early, unit: 'ms' },
    {
      label: `${name}, turns ${times.length - WINDOW + 1}–${times.length}`,
      figure: late,
      unit: 'ms',
      ratios: { [`turns ${WINDOW + 1}–${2 * WINDOW}`]: growth },
      target: atMost(growth, 1.3, '×'),
      note: 'ideal 1×',
    },
  ]
}

/** The cost of a turn must not grow with the conversation. */
export const chatTurns: Bench = {
  name: 'chat',
  title: 'A chat: one session resumed by one troupe.run per turn, default settings',
  async run({ quick, folder }) {
    const turns = quick ? 200 : 2000
    // Warm-up: the early turns of the measured conversations must not pay for compilation.
    await chat('memory', 200)
    await chat(join(folder, 'chat-warm-up.db'), 200)
    return [
      ...chatLines(MEMORY, await chat('memory', turns)),
      ...chatLines(SQLITE, await chat(join(folder, 'chat.db'), turns)),
    ]
  },
}
