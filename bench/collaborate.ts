import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Model, ModelRequest } from '../src/kernel/model.ts'
import { createTroupe } from '../src/troupe.ts'
import type { Bench, Line } from './bench.ts'
import { atMost, mustEqual } from './bench.ts'
import { USAGE } from './plan.ts'
import type { Contender } from './rounds.ts'
import { clocked, figureOf, mapFigure, takeTurns, timesOf } from './rounds.ts'
import { WIDE } from './stage.ts'
import { BARE, MEMORY, SQLITE } from './talk.ts'

const WIDTH = 50
const LATENCY_MS = 50
/** All at once, then the one who writes the answer. */
const IDEAL_MS = 2 * LATENCY_MS
const OWN_WORDS = 'Troupe in memory, in their own words'

const FINAL = 'Two thirds would wait, one third would not.'
const CATEGORIES = ['wait', 'go']
const names = Array.from({ length: WIDTH }, (_, index) => `specialist-${index + 1}`)

/** Specialists answer in the asked-for shape, whoever writes the answer in words. */
function double(recommend: (index: number) => string): Model {
  return {
    name: 'double',
    async *stream({ session }: ModelRequest) {
      await delay(LATENCY_MS)
      const index = names.indexOf(session.agent)
      yield { type: 'text', text: index < 0 ? FINAL : JSON.stringify(answerOf(recommend(index))) }
      yield { type: 'finish', stop: 'end', usage: USAGE }
    },
  }
}

function answerOf(recommendation: string) {
  return { response: 'It depends on what the release is for.', recommendation, confidence: 0.8, concerns: [] }
}

const chosen = (index: number) => CATEGORIES[index % 3 === 0 ? 1 : 0] ?? ''
const worded = (index: number) => `Wait for step ${index + 1} of the plan before anything is released`

/** What a program would write by hand: everybody at once, then one more call with what they said. */
function bare(model: Model): Contender {
  const nobody = new AbortController().signal
  const ask = async (agent: string, text: string) => {
    const session = { run_id: '', session_id: agent, agent, turn: 1, marks: [] }
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]
    const request = { key: '', model: model.name, system: '', messages, tools: [], settings: {}, session }
    let said = ''
    for await (const chunk of model.stream(request, nobody)) if (chunk.type === 'text') said += chunk.text
    return said
  }
  return {
    name: BARE,
    round: () =>
      clocked(async () => {
        const answers = await Promise.all(names.map((name) => ask(name, TASK)))
        mustEqual(
          answers.every((answer) => JSON.parse(answer).confidence === 0.8),
          true,
          BARE,
        )
        mustEqual(await ask('coordinator', [TASK, ...answers].join('\n')), FINAL, BARE)
      }),
  }
}

const TASK = 'Should the release wait for the translation?'

interface Collaborating {
  store: () => string
  recommend: (index: number) => string
  categories?: string[]
}

function collaborating(name: string, repeats: number, how: Collaborating): Contender {
  const { store, recommend, categories } = how
  const input = {
    task: TASK,
    agents: names.map((agent, index) => ({ name: agent, role: `field ${index + 1}`, focus: 'what you know best' })),
    limits: { max_agents: WIDTH, max_parallel: WIDTH },
    ...(categories ? { categories } : undefined),
  }
  return {
    name,
    async round() {
      const troupe = await createTroupe({ store: store(), model: double(recommend), limits: WIDE })
      const run = async () => {
        const { output } = await troupe.run('collaborate', input)
        const { result, contributions } = output as { result: string; contributions: { confidence: number }[] }
        mustEqual(result, FINAL, name)
        mustEqual(contributions.filter(({ confidence }) => confidence === 0.8).length, WIDTH, name)
      }
      // The first one loads what all others share: in their own words, the embedder.
      await run()
      const times: number[] = []
      for (let repeat = 0; repeat < repeats; repeat++) times.push(await clocked(run))
      await troupe.close()
      return figureOf(times).median
    },
  }
}

export const collaboration: Bench = {
  name: 'collaborate-50',
  title:
    'collaborate: 50 specialists at once and a coordinator, 50 ms model latency; a whole run over the ideal 100 ms',
  async run({ quick, folder }) {
    const memory = () => 'memory'
    const file = () => join(folder, `${randomBytes(4).toString('hex')}.db`)
    const repeats = quick ? 3 : 8
    const contenders = [
      bare(double(chosen)),
      collaborating(MEMORY, repeats, { store: memory, recommend: chosen, categories: CATEGORIES }),
      collaborating(SQLITE, repeats, { store: file, recommend: chosen, categories: CATEGORIES }),
      collaborating(OWN_WORDS, 1, { store: memory, recommend: worded }),
    ]
    const whole = await takeTurns(contenders, { rounds: quick ? 3 : 7 })
    return [...whole].map(([name, figure]): Line => {
      const line: Line = {
        what: name,
        figure: mapFigure(figure, (ms) => ms / IDEAL_MS),
        unit: '×',
        times: timesOf(whole, name, [BARE]),
        note: `${Math.round(figure.median)} ms`,
      }
      return name === MEMORY || name === SQLITE ? { ...line, aim: atMost(figure.median / IDEAL_MS, 1.1, '×') } : line
    })
  },
}
