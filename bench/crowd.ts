import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Troupe } from '../src/runtime/troupe.ts'
import { createTroupe } from '../src/runtime/troupe.ts'
import type { Bench, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import { benchAgent } from './bench-engine.ts'
import { MEMORY, SQLITE } from './conversation-rounds.ts'
import { INSTRUCTION, planModel, RESPONSE, SINGLE_TURN } from './plan.ts'
import type { Contender } from './rounds.ts'
import { mapFigure, measureMs, runRounds } from './rounds.ts'

const LATENCY_MS = 100
const CHAT_TURNS = 5
const MAX_RATIO: Readonly<Record<number, number>> = { 1: 3, [CHAT_TURNS]: 2 }

interface TaskOutput {
  response?: string
  session_id?: string
}

/** One user: each turn is a run that resumes the session of the turn before. */
async function converse(troupe: Troupe, turns: number): Promise<void> {
  let session_id: string | undefined
  for (let turn = 1; turn <= turns; turn++) {
    const input = session_id === undefined ? { agent: 'worker' } : { session_id }
    const { output } = await troupe.run('task', { ...input, instruction: INSTRUCTION })
    const said = output as TaskOutput | null
    assertEqual(said?.response, RESPONSE, `turn ${turn}`)
    session_id = said?.session_id
  }
}

interface Crowd {
  users: number
  turns: number
  store: () => string
}

function crowdContender(name: string, { users, turns, store }: Crowd): Contender {
  return {
    name,
    async round() {
      const model = planModel({ ...SINGLE_TURN, latency_ms: LATENCY_MS })
      const troupe = await createTroupe({ store: store(), model, agents: [benchAgent([])] })
      // Loads what the first run loads.
      await converse(troupe, 1)
      const ms = await measureMs(() => Promise.all(Array.from({ length: users }, () => converse(troupe, turns))))
      await troupe.close()
      return ms
    },
  }
}

async function crowdLines(users: number, turns: number, options: { rounds: number; folder: string }): Promise<Line[]> {
  const ideal = LATENCY_MS * turns
  const stores = {
    [MEMORY]: () => 'memory',
    [SQLITE]: () => join(options.folder, `${randomBytes(4).toString('hex')}.db`),
  }
  const contenders = Object.entries(stores).map(([name, store]) => crowdContender(name, { users, turns, store }))
  const figures = await runRounds(contenders, { rounds: options.rounds })
  const what = turns === 1 ? `${users} runs of one turn` : `${users} chats of ${turns} turns`
  return [...figures].map(([name, figure]): Line => {
    const ratio = mapFigure(figure, (ms) => ms / ideal)
    return {
      label: `${what}, ${name}`,
      figure: ratio,
      unit: '×',
      note: `${Math.round(figure.median)} ms, ideal ${ideal} ms`,
      target: atMost(ratio.median, MAX_RATIO[turns] ?? 1, '×'),
    }
  })
}

/** Many users at once, with default settings: the default concurrency included. */
export const crowd: Bench = {
  name: 'crowd',
  title: `Many users of one process at once, one troupe.run per turn at ${LATENCY_MS} ms model latency, default settings`,
  async run({ quick, folder }) {
    const users = quick ? 200 : 1000
    const options = { rounds: quick ? 2 : 5, folder }
    return [...(await crowdLines(users, 1, options)), ...(await crowdLines(users, CHAT_TURNS, options))]
  },
}
