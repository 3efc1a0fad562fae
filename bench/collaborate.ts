import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Model, ModelRequest } from '../src/kernel/model.ts'
import { createTroupe } from '../src/runtime/troupe.ts'
import type { Bench, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import { WIDE_LIMITS } from './bench-engine.ts'
import { BARE, MEMORY, SQLITE } from './conversation-rounds.ts'
import { USAGE } from './plan.ts'
import type { Contender } from './rounds.ts'
import { mapFigure, measureMs, ratiosTo, runRounds, toFigure } from './rounds.ts'

const WIDTH = 50
const LATENCY_MS = 50
/** All specialists in parallel, then the coordinator. */
const IDEAL_MS = 2 * LATENCY_MS
const FREE_TEXT = 'Troupe in memory, free-text recommendations'

const FINAL = 'Two thirds would wait, one third would not.'
const CATEGORIES = ['wait', 'go']
const names = Array.from({ length: WIDTH }, (_, index) => `specialist-${index + 1}`)

/** Specialists return structured output, the coordinator returns text. */
function specialistModel(recommend: (index: number) => string): Model {
  return {
    name: 'double',
    async *stream({ session }: ModelRequest) {
      await delay(LATENCY_MS)
      const index = names.indexOf(session.agent)
      yield { type: 'text', text: index < 0 ? FINAL : JSON.stringify(contributionFor(recommend(index))) }
      yield { type: 'finish', stop: 'end', usage: USAGE }
    },
  }
}

function contributionFor(recommendation: string) {
  return { response: 'It depends on the purpose of the release.', recommendation, confidence: 0.8, concerns: [] }
}

const toCategory = (index: number) => CATEGORIES[index % 3 === 0 ? 1 : 0] ?? ''
const toFreeText = (index: number) => `Wait for step ${index + 1} of the plan before anything is released`

/** Hand-written version: all specialists in parallel, then one request with their responses. */
function bareContender(model: Model): Contender {
  const neverAborted = new AbortController().signal
  const request = async (agent: string, text: string) => {
    const session = { run_id: '', session_id: agent, agent, turn: 1, marks: [] }
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]
    const modelRequest = { key: '', model: model.name, system: '', messages, tools: [], settings: {}, session }
    let response = ''
    for await (const chunk of model.stream(modelRequest, neverAborted))
      if (chunk.type === 'text') response += chunk.text
    return response
  }
  return {
    name: BARE,
    round: () =>
      measureMs(async () => {
        const answers = await Promise.all(names.map((name) => request(name, TASK)))
        assertEqual(
          answers.every((answer) => JSON.parse(answer).confidence === 0.8),
          true,
          BARE,
        )
        assertEqual(await request('coordinator', [TASK, ...answers].join('\n')), FINAL, BARE)
      }),
  }
}

const TASK = 'Should the release wait for the translation?'

interface CollaborateOptions {
  store: () => string
  recommend: (index: number) => string
  categories?: string[]
}

function collaborateContender(name: string, repeats: number, options: CollaborateOptions): Contender {
  const { store, recommend, categories } = options
  const input = {
    task: TASK,
    agents: names.map((agent, index) => ({ name: agent, role: `field ${index + 1}`, focus: 'your area of expertise' })),
    limits: { max_agents: WIDTH, max_parallel: WIDTH },
    ...(categories ? { categories } : undefined),
  }
  return {
    name,
    async round() {
      const troupe = await createTroupe({ store: store(), model: specialistModel(recommend), limits: WIDE_LIMITS })
      const run = async () => {
        const { output } = await troupe.run('collaborate' as string, input)
        const { result, contributions } = output as { result: string; contributions: { confidence: number }[] }
        assertEqual(result, FINAL, name)
        assertEqual(contributions.filter(({ confidence }) => confidence === 0.8).length, WIDTH, name)
      }
      // Warm-up: free text loads the embedder.
      await run()
      const ratios: number[] = []
      for (let repeat = 0; repeat < repeats; repeat++) ratios.push(await measureMs(run))
      await troupe.close()
      return toFigure(ratios).median
    },
  }
}

export const collaboration: Bench = {
  name: 'collaborate-50',
  title:
    'collaborate: 50 parallel specialists and a coordinator at 50 ms model latency; a whole run, relative to the ideal 100 ms',
  async run({ quick, folder }) {
    const memory = () => 'memory'
    const file = () => join(folder, `${randomBytes(4).toString('hex')}.db`)
    const repeats = quick ? 3 : 8
    const contenders = [
      bareContender(specialistModel(toCategory)),
      collaborateContender(MEMORY, repeats, { store: memory, recommend: toCategory, categories: CATEGORIES }),
      collaborateContender(SQLITE, repeats, { store: file, recommend: toCategory, categories: CATEGORIES }),
      collaborateContender(FREE_TEXT, 1, { store: memory, recommend: toFreeText }),
    ]
    const figures = await runRounds(contenders, { rounds: quick ? 3 : 7 })
    return [...figures].map(([name, figure]): Line => {
      const line: Line = {
        label: name,
        figure: mapFigure(figure, (ms) => ms / IDEAL_MS),
        unit: '×',
        ratios: ratiosTo(figures, name, [BARE]),
        note: `${Math.round(figure.median)} ms`,
      }
      return name === MEMORY || name === SQLITE ? { ...line, target: atMost(figure.median / IDEAL_MS, 1.1, '×') } : line
    })
  },
}
