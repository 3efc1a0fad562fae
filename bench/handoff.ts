import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Message, Model, ModelChunk, ModelRequest } from '../src/kernel/model.ts'
import { userMessage } from '../src/kernel/model.ts'
import { teamEvents } from '../src/patterns/team/events.ts'
import type { TeamOutput } from '../src/patterns/team/input.ts'
import { teamInput } from '../src/patterns/team/input.ts'
import { team } from '../src/patterns/team/team.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import type { Bench, BenchOptions, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import type { StoreName } from './bench-engine.ts'
import { openBenchEngine, openStore } from './bench-engine.ts'
import { commonPrefixLength } from './common-prefix.ts'
import { USAGE } from './plan.ts'
import type { Contender } from './rounds.ts'
import { findFigure, mapFigure, measureMs, runRounds, toFigure } from './rounds.ts'
import { teamCacheLines } from './team-cache.ts'

/*
 * A team of n agents in a chain: each responds, evaluates its own handoff condition, and hands off to the next; all agents
 * read the whole conversation. The bare loop does the same with an array of messages, one streamed request per agent, and
 * no rules.
 */

const SIZES = [10, 50, 200] as const
/** Far enough apart that the page size of the file does not matter. */
const STORED_SIZES = [50, 200, 800] as const
/** A task description of several pages. */
const BRIEF = Array.from(
  { length: 120 },
  (_, line) => `${line + 1}. A line of the brief that everyone reads, with facts.`,
)
const RESPONSE_TEXT =
  'This part is done: the facts of the brief were checked, two of them were corrected, and the rest is fine.'

const RESPONSE = JSON.stringify({
  response: RESPONSE_TEXT,
  verdicts: [{ condition: 1, holds: true }],
  variables: [],
  next: null,
})
const CHUNKS: readonly ModelChunk[] = [
  ...[0, 1, 2, 3].map((n) => ({
    type: 'text' as const,
    text: RESPONSE.slice((n * RESPONSE.length) / 4, ((n + 1) * RESPONSE.length) / 4),
  })),
  { type: 'finish', stop: 'end', usage: USAGE },
]

const agentName = (n: number) => `agent_${n}`

/** The opposite case: a one-line task and long private instructions per agent. */
const PRIVATE_PROMPTS = {
  message: 'Write a page about the sea.',
  instructions: 'Examine what no other agent reads. '.repeat(14),
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
          condition: 'its part is done and round < {{ limit }}',
        },
      })),
      context_variables: { limit: 1_000_000 },
      limits: { max_rounds: 1_000_000 },
      after_work_behavior: 'terminate',
    },
    message: message ?? BRIEF.join('\n'),
  })
}

function benchModel(recorded?: ModelRequest[]): Model {
  return {
    name: 'double',
    async *stream(request) {
      recorded?.push({ ...request, messages: [...request.messages] })
      yield* CHUNKS
    },
  }
}

/** Returns a function that runs the chain on a store; its output counts the router calls. */
function chainRunner(
  store: Store,
  recorded?: ModelRequest[],
  prompts?: typeof PRIVATE_PROMPTS,
): (agents: number) => Promise<TeamOutput> {
  const benchEngine = openBenchEngine({ store, model: benchModel(recorded), events: teamEvents })
  const inputs = new Map(
    [...SIZES, ...STORED_SIZES].map((agents): [number, unknown] => [agents, teamInputFor(agents, prompts)]),
  )
  return async (agents) => {
    const input = inputs.get(agents)
    let output: TeamOutput | undefined
    const run_id = await benchEngine.run(async (context) => {
      output = (await team.execute(context, input as never)).output as TeamOutput
    })
    assertEqual(output?.rounds, agents, `rounds of ${run_id}`)
    assertEqual(output?.response, RESPONSE_TEXT, `response of ${run_id}`)
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
    const requestMessages = [...messages, userMessage(`You are ${agentName(n)}.`)]
    const request = {
      key: '',
      model: 'double',
      system: 'A team.',
      messages: requestMessages,
      tools: [],
      settings: {},
      session,
    }
    for await (const chunk of model.stream(request, NEVER_ABORTED)) if (chunk.type === 'text') text += chunk.text
    messages.push(
      userMessage(JSON.stringify({ from: agentName(n), text: (JSON.parse(text) as { response: string }).response })),
    )
  }
  assertEqual(messages.length, agents + 1, 'messages of the bare loop')
}

function contenders(agents: number, { folder, quick }: BenchOptions): Contender[] {
  // The same number of handoffs for every size, so that all are measured for about as long.
  const runs = Math.max(1, Math.round((quick ? 400 : 2000) / agents))
  const contender = (label: string, open: () => Promise<(agents: number) => Promise<unknown>>): Contender => ({
    name: `${label} ${agents}`,
    async round() {
      const runChain = await open()
      const ms = await measureMs(async () => {
        for (let run = 0; run < runs; run++) await runChain(agents)
      })
      return (ms * 1000) / (runs * agents)
    },
  })
  const openChain = (store: StoreName) => async () => chainRunner(await openStore(store, folder))
  return [
    contender('bare', async () => runBareLoop),
    contender('memory', openChain('memory')),
    contender('sqlite', openChain('sqlite')),
  ]
}

/** Share of each request that is a prefix of an earlier one, in the order that providers cache: tools, system, messages. */
function sharedPrefixes(requests: readonly ModelRequest[]): number[] {
  const texts = requests.map(({ system, tools, messages }) =>
    [...tools.map((tool) => JSON.stringify(tool)), system, ...messages.map((message) => JSON.stringify(message))].join(
      '\n',
    ),
  )
  return texts.map((text, index) => {
    const lengths = texts.slice(0, index).map((earlier) => commonPrefixLength(earlier, text))
    return Math.max(0, ...lengths) / text.length
  })
}

async function measureStoredBytes(agents: number, folder: string): Promise<number> {
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
  title: 'A handoff in a team of 10, 50 and 200 agents that all read the whole conversation',
  async run(options) {
    const all = SIZES.flatMap((agents) => contenders(agents, options))
    const figures = await runRounds(all, { rounds: options.quick ? 3 : 9, warmups: 1 })
    const lines: Line[] = []
    for (const variant of ['bare', 'memory', 'sqlite'] as const) {
      const [smallest] = SIZES
      for (const agents of SIZES) {
        const figure = findFigure(figures, `${variant} ${agents}`)
        const target = variant === 'memory' ? { target: atMost(figure.median, 100, 'µs') } : undefined
        lines.push({ label: `${variant}, ${agents} agents`, figure, unit: 'µs', ...target })
      }
      const base = findFigure(figures, `${variant} ${smallest}`).median
      const growth = mapFigure(findFigure(figures, `${variant} ${SIZES.at(-1)}`), (value) => value / base)
      const target = variant === 'bare' ? undefined : { target: atMost(growth.median, 1.2, '×') }
      lines.push({ label: `  ${SIZES.at(-1)} agents relative to ${smallest}`, figure: growth, unit: '×', ...target })
    }
    return [...lines, ...(await storedSizeLines(options)), ...(await requestLines())]
  },
}

async function storedSizeLines({ folder }: BenchOptions): Promise<Line[]> {
  const bytes: number[] = []
  for (const agents of STORED_SIZES) bytes.push(await measureStoredBytes(agents, folder))
  const [few = 0, some = 0, many = 0] = bytes
  const early = (some - few) / (STORED_SIZES[1] - STORED_SIZES[0])
  const late = (many - some) / (STORED_SIZES[2] - STORED_SIZES[1])
  const linear = { text: 'linear: later ≤ 1.1× earlier', met: late <= early * 1.1 }
  return [
    { label: 'stored per handoff, 50 to 200 agents', figure: toFigure([early / 1024]), unit: 'KB' },
    {
      label: 'stored per handoff, 200 to 800 agents',
      figure: toFigure([late / 1024]),
      unit: 'KB',
      target: linear,
    },
  ]
}

async function requestLines(): Promise<Line[]> {
  const lines: Line[] = []
  for (const agents of SIZES) {
    const { share, line } = await measureRequests(agents)
    lines.push({ ...line, target: { text: '≥ 95 % cacheable', met: share >= 0.95 } })
  }
  const { line } = await measureRequests(SIZES[0], PRIVATE_PROMPTS)
  const privateLine = { ...line, label: `${line.label}, one-line task, 490 private characters per agent, no tools` }
  return [...lines, privateLine, ...(await teamCacheLines(BRIEF.join('\n')))]
}

async function measureRequests(
  agents: number,
  prompts?: typeof PRIVATE_PROMPTS,
): Promise<{ share: number; line: Line }> {
  const requests: ModelRequest[] = []
  const { totals } = await chainRunner(await openStore('memory', ''), requests, prompts)(agents)
  const share = Math.min(...sharedPrefixes(requests).slice(2))
  const sent = requests.reduce((sum, { messages }) => sum + JSON.stringify(messages).length, 0)
  const cached = `from the third request on at least ${(100 * share).toFixed(1)} % of each is a cached prefix`
  const note = `${cached}; ${totals.router_calls} router calls`
  return { share, line: { label: `requests of ${agents} agents`, figure: toFigure([sent / 1024]), unit: 'KB', note } }
}
