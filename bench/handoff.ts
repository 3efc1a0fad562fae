import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Message, Model, ModelChunk, ModelRequest } from '../src/kernel/model.ts'
import { userMessage } from '../src/kernel/model.ts'
import type { TeamOutput } from '../src/patterns/team/input.ts'
import { teamInput } from '../src/patterns/team/input.ts'
import { team } from '../src/patterns/team/team.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import type { Bench, BenchOptions, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import type { StoreName } from './bench-engine.ts'
import { openBenchEngine, openStore } from './bench-engine.ts'
import { USAGE } from './plan.ts'
import type { Contender } from './rounds.ts'
import { findFigure, mapFigure, measureMs, runRounds, toFigure } from './rounds.ts'

/*
 * A team of n agents in a chain: each answers, judges its own condition, and hands to the next; everyone reads all that was
 * said. The bare loop does the same with an array of messages, one streamed call for each agent, and no rules.
 */

const SIZES = [10, 50, 200] as const
/** Far enough apart that the pages of the file do not matter. */
const STORED_SIZES = [50, 200, 800] as const
/** What the team works on: some pages, as such work has. */
const BRIEF = Array.from(
  { length: 120 },
  (_, line) => `${line + 1}. A line of the brief that everyone reads, with facts.`,
)
const RESPONSE_TEXT =
  'This part is done: the facts of the brief were checked, two of them were put right, and the rest can stay.'

const ANSWER = JSON.stringify({
  response: RESPONSE_TEXT,
  verdicts: [{ condition: 1, holds: true }],
  variables: [],
  next: null,
})
const CHUNKS: readonly ModelChunk[] = [
  ...[0, 1, 2, 3].map((n) => ({
    type: 'text' as const,
    text: ANSWER.slice((n * ANSWER.length) / 4, ((n + 1) * ANSWER.length) / 4),
  })),
  { type: 'finish', stop: 'end', usage: USAGE },
]

const agentName = (n: number) => `agent_${n}`

/** The other end: a line to work on, and as much again for each agent alone. */
const PRIVATE_PROMPTS = {
  message: 'Write a page about the sea.',
  instructions: 'Look at what nobody else looks at. '.repeat(14),
}

function teamInputFor(agents: number, { message, instructions }: Partial<typeof PRIVATE_PROMPTS> = {}) {
  return teamInput.parse({
    team: {
      name: 'Chain',
      description: 'Each does its part of the brief',
      agents: Array.from({ length: agents }, (_, n) => ({
        ...{ name: agentName(n), role: `part ${n}` },
        ...(instructions === undefined ? undefined : { instructions: `${n}: ${instructions}` }),
      })),
      handoffs: Array.from({ length: agents - 1 }, (_, n) => ({
        ...{
          from_agent: agentName(n),
          to_agent: agentName(n + 1),
          condition: 'its part is done and round < {{ most }}',
        },
      })),
      context_variables: { most: 1_000_000 },
      limits: { max_rounds: 1_000_000 },
      after_work_behavior: 'terminate',
    },
    message: message ?? BRIEF.join('\n'),
  })
}

function benchModel(seen?: ModelRequest[]): Model {
  return {
    name: 'double',
    async *stream(request) {
      seen?.push({ ...request, messages: [...request.messages] })
      yield* CHUNKS
    },
  }
}

/** Plays the chain on a store; the output says how often a model was asked only to route. */
function chainRunner(
  store: Store,
  seen?: ModelRequest[],
  own?: typeof PRIVATE_PROMPTS,
): (agents: number) => Promise<TeamOutput> {
  const stage = openBenchEngine({ store, model: benchModel(seen) })
  const inputs = new Map(
    [...SIZES, ...STORED_SIZES].map((agents): [number, unknown] => [agents, teamInputFor(agents, own)]),
  )
  return async (agents) => {
    const input = inputs.get(agents)
    let output: TeamOutput | undefined
    const run_id = await stage.run(async (context) => {
      output = (await team.execute(context, input as never)).output as TeamOutput
    })
    assertEqual(output?.rounds, agents, `rounds of ${run_id}`)
    assertEqual(output?.response, RESPONSE_TEXT, `answer of ${run_id}`)
    return output as TeamOutput
  }
}

const NEVER_ABORTED = new AbortController().signal

async function runBareLoop(agents: number): Promise<void> {
  const model = benchModel()
  const messages: Message[] = [userMessage(BRIEF.join('\n'))]
  for (let n = 0; n < agents; n++) {
    let text = ''
    const session = { run_id: '', session_id: '', agent: agentName(n), turn: 1, marks: [] }
    const asked = [...messages, userMessage(`You are ${agentName(n)}.`)]
    const request = { key: '', model: 'double', system: 'A team.', messages: asked, tools: [], settings: {}, session }
    for await (const chunk of model.stream(request, NEVER_ABORTED)) if (chunk.type === 'text') text += chunk.text
    messages.push(
      userMessage(JSON.stringify({ from: agentName(n), text: (JSON.parse(text) as { response: string }).response })),
    )
  }
  assertEqual(messages.length, agents + 1, 'messages of the bare loop')
}

function contenders(agents: number, { folder, quick }: BenchOptions): Contender[] {
  // The same number of handoffs for every size, so that all of them are timed for about as long.
  const runs = Math.max(1, Math.round((quick ? 400 : 2000) / agents))
  const timed = (what: string, open: () => Promise<(agents: number) => Promise<unknown>>): Contender => ({
    name: `${what} ${agents}`,
    async round() {
      const play = await open()
      const ms = await measureMs(async () => {
        for (let run = 0; run < runs; run++) await play(agents)
      })
      return (ms * 1000) / (runs * agents)
    },
  })
  const on = (which: StoreName) => async () => chainRunner(await openStore(which, folder))
  return [timed('bare', async () => runBareLoop), timed('memory', on('memory')), timed('sqlite', on('sqlite'))]
}

/** Of a request's bytes, how many stand at the start of an earlier one; in the order of providers, tools come first. */
function sharedPrefixes(seen: readonly ModelRequest[]): number[] {
  const texts = seen.map(({ system, tools, messages }) =>
    [...tools.map((tool) => JSON.stringify(tool)), system, ...messages.map((one) => JSON.stringify(one))].join('\n'),
  )
  return texts.map((text, index) => {
    const before = texts.slice(0, index).map((earlier) => commonPrefixLength(earlier, text))
    return Math.max(0, ...before) / text.length
  })
}

function commonPrefixLength(a: string, b: string): number {
  let low = 0
  let high = Math.min(a.length, b.length)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (a.slice(0, middle) === b.slice(0, middle)) low = middle
    else high = middle - 1
  }
  return low
}

async function storedBytes(agents: number, folder: string): Promise<number> {
  const file = join(folder, `handoff-${agents}.db`)
  const store = await openSqlite(file)
  await chainRunner(store)(agents)
  await store.close()
  const db = new DatabaseSync(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM')
  db.close()
  return statSync(file).size
}

export const handoff: Bench = {
  name: 'handoff',
  title: 'A handoff in a team of 10, 50 and 200, all that was said before read by everyone',
  async run(options) {
    const all = SIZES.flatMap((agents) => contenders(agents, options))
    const figures = await runRounds(all, { rounds: options.quick ? 3 : 9, warmups: 1 })
    const lines: Line[] = []
    for (const where of ['bare', 'memory', 'sqlite'] as const) {
      const [least] = SIZES
      for (const agents of SIZES) {
        const figure = findFigure(figures, `${where} ${agents}`)
        const aim = where === 'memory' ? { aim: atMost(figure.median, 100, 'µs') } : undefined
        lines.push({ what: `${where}, ${agents} agents`, figure, unit: 'µs', ...aim })
      }
      const base = findFigure(figures, `${where} ${least}`).median
      const growth = mapFigure(findFigure(figures, `${where} ${SIZES.at(-1)}`), (value) => value / base)
      const aim = where === 'bare' ? undefined : { aim: atMost(growth.median, 1.2, '×') }
      lines.push({ what: `  ${SIZES.at(-1)} agents against ${least}`, figure: growth, unit: '×', ...aim })
    }
    return [...lines, ...(await storedSizeLines(options)), ...(await requestLines())]
  },
}

async function storedSizeLines({ folder }: BenchOptions): Promise<Line[]> {
  const bytes: number[] = []
  for (const agents of STORED_SIZES) bytes.push(await storedBytes(agents, folder))
  const [few = 0, some = 0, many = 0] = bytes
  const early = (some - few) / (STORED_SIZES[1] - STORED_SIZES[0])
  const late = (many - some) / (STORED_SIZES[2] - STORED_SIZES[1])
  const linear = { text: 'linear: the later ≤ 1.1× the earlier', met: late <= early * 1.1 }
  return [
    { what: 'stored for one handoff, from 50 to 200 agents', figure: toFigure([early / 1024]), unit: 'KB' },
    {
      what: 'stored for one handoff, from 200 to 800 agents',
      figure: toFigure([late / 1024]),
      unit: 'KB',
      aim: linear,
    },
  ]
}

async function requestLines(): Promise<Line[]> {
  const lines: Line[] = []
  for (const agents of SIZES) {
    const { least, line } = await measureRequests(agents)
    lines.push({ ...line, aim: { text: '≥ 95 % sent before', met: least >= 0.95 } })
  }
  const { line } = await measureRequests(SIZES[0], PRIVATE_PROMPTS)
  return [...lines, { ...line, what: `${line.what}, a line to work on and 490 characters for each alone` }]
}

async function measureRequests(agents: number, own?: typeof PRIVATE_PROMPTS): Promise<{ least: number; line: Line }> {
  const seen: ModelRequest[] = []
  const { totals } = await chainRunner(await openStore('memory', ''), seen, own)(agents)
  const least = Math.min(...sharedPrefixes(seen).slice(2))
  const sent = seen.reduce((sum, { messages }) => sum + JSON.stringify(messages).length, 0)
  const before = `from the third request on at least ${(100 * least).toFixed(1)} % of each sent before`
  const note = `${before}; ${totals.router_calls} calls to route`
  return { least, line: { what: `sent by ${agents} agents`, figure: toFigure([sent / 1024]), unit: 'KB', note } }
}
