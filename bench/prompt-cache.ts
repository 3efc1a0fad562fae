import { z } from 'zod'
import type { Tool } from '../src/kernel/tool.ts'
import { defineTool } from '../src/kernel/tool.ts'
import { loadProviderModel } from '../src/models/providers.ts'
import { createTroupe } from '../src/runtime/troupe.ts'
import type { Bench, Line } from './bench.ts'
import { assertEqual } from './bench.ts'
import { encodeAnthropic, encodeAnthropicToolCalls, streamingFetch } from './provider-responses.ts'
import { toFigure } from './rounds.ts'

/*
 * How much of what a run sends has been sent before as the beginning of another request: that is what a provider can take
 * from its cache. Requests are read as they leave for the wire, in the order in which providers cache them: tools, system,
 * messages. Marks for the cache are no part of what is cached.
 */

const TASKS = ['researcher', 'researcher', 'reviewer', 'reviewer', 'implementer', 'architect'] as const
const READS_PER_AGENT = 3
const PAGE = Array.from({ length: 30 }, (_, line) => `${line + 1}: a line of some file that says something`).join('\n')

const TOOLS = {
  Read: 'Reads a file and shows its lines with their numbers. Reads at most 2,000 lines; give offset and limit for more.',
  Write: 'Writes a file. One that exists has to be read first, so that nothing is overwritten unseen.',
  Edit: 'Replaces a text in a file. The text has to be there exactly once, unless all places are meant.',
  Glob: 'Finds files by pattern, such as src/**/*.ts; the ones changed last come first.',
  Grep: 'Searches files with a regular expression, and shows the lines or only the names of the files.',
  Bash: 'Runs a command in a shell that keeps its folder. Commands that take longer than two minutes are ended.',
} as const

function tools(): Tool[] {
  return Object.entries(TOOLS).map(([name, description]) =>
    defineTool({
      name,
      description,
      kind: 'read',
      category: 'perception',
      input: z.object({
        path: z.string().describe('Where, from the folder of the project.'),
        pattern: z.string().optional().describe('What to look for.'),
        limit: z.int().optional().describe('How many at the most.'),
      }),
      execute: async () => ({ success: true, output: PAGE }),
    }),
  )
}

interface Body {
  system: { text: string }[]
  tools?: { name: string }[]
  messages: { role: string; content: { text?: string }[] }[]
}

/** One who sends out six agents, looks once at what they bring, and answers; each of them looks three times. */
function respond({ tools: offered = [], messages }: Body): string[] {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const leads = offered.some(({ name }) => name === 'task')
  if (leads && turn === 0) {
    return encodeAnthropicToolCalls(
      TASKS.map((agent, n) => ({ name: 'task', input: { agent, instruction: `Part ${n}.` } })),
    )
  }
  const look = offered.find(({ name }) => name in TOOLS)
  if (look && turn < (leads ? 2 : READS_PER_AGENT))
    return encodeAnthropicToolCalls([{ name: look.name, input: { path: `file-${turn}.ts` } }])
  return encodeAnthropic(['This is what was found: ', 'nothing is wrong with any part of it.'])
}

/** The bytes of a request that a provider could have seen before, in its order. */
function cacheable(body: Body): string {
  const plain = (part: unknown) =>
    JSON.stringify(part, (key, value: unknown) => (key === 'cache_control' ? undefined : value))
  return [...(body.tools ?? []), ...body.system, ...body.messages].map(plain).join('\n')
}

interface SentRequest {
  who: string
  turn: number
  bytes: number
  /** Of these, how many stood at the beginning of an earlier request. */
  before: number
  /** Whether the same agent's last request stands whole at the beginning of this one. */
  grown: boolean
}

function sharedPrefixes({ bodies, agentName }: RecordedRequests): SentRequest[] {
  const earlier: string[] = []
  const last = new Map<string, string>()
  return bodies.map((body) => {
    const text = cacheable(body)
    const who = agentName(body)
    const before = Math.max(0, ...earlier.map((one) => commonPrefixLength(one, text)))
    const turn = body.messages.filter(({ role }) => role === 'assistant').length + 1
    const grown = text.startsWith(last.get(who) ?? '')
    earlier.push(text)
    last.set(who, text)
    return { who, turn, bytes: Buffer.byteLength(text), before, grown }
  })
}

function commonPrefixLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let index = 0
  while (index < most && a[index] === b[index]) index += 1
  return index
}

interface RecordedRequests {
  bodies: Body[]
  /** Who sent a request: the agent, and the number of its part. */
  agentName(body: Body): string
}

async function record(): Promise<RecordedRequests> {
  const bodies: Body[] = []
  const fetch: typeof globalThis.fetch = async (address, init) => {
    const body = JSON.parse(String(init?.body)) as Body
    bodies.push(body)
    return streamingFetch(respond(body))(address, init)
  }
  const model = await loadProviderModel('anthropic/claude-sonnet-5-5', { env: { ANTHROPIC_API_KEY: 'none' }, fetch })
  await using troupe = await createTroupe({ store: 'memory', model, tools: tools() })
  const { status, error } = await troupe.run('task', { agent: 'default', instruction: 'Look into all of it.' })
  assertEqual(status, 'completed', `the run (${error?.message})`)
  const names = new Map(troupe.agents.map(({ name, instructions }) => [instructions, name]))
  return {
    bodies,
    agentName({ system, messages }) {
      const part = /^Part (\d)/.exec(messages[0]?.content[0]?.text ?? '')?.[1]
      return [names.get(system[0]?.text ?? ''), part].join(' ').trim()
    },
  }
}

export const promptCache: Bench = {
  name: 'prefix',
  title: 'What a run of seven agents sends, and how much of it stood at the beginning of an earlier request',
  async run() {
    const sent = sharedPrefixes(await record())
    assertEqual(sent.length, 3 + TASKS.length * (READS_PER_AGENT + 1), 'requests')
    const [, ...others] = sent
    const openings = others.filter(({ turn }) => turn === 1)
    const later = others.filter(({ turn }) => turn > 1)
    const whole = later.filter(({ grown }) => grown).length
    return [
      ...sent.map((one) => line(`${one.who}, turn ${one.turn}`, [one])),
      line('first requests of the other agents', openings),
      {
        ...line('later turns', later),
        note: `${summarize(later)}; ${whole} of ${later.length} hold their last request whole`,
      },
      line('all of it', sent),
    ]
  },
}

function line(what: string, sent: readonly SentRequest[]): Line {
  const bytes = sent.reduce((total, one) => total + one.bytes, 0)
  return { what, figure: toFigure([bytes / 1024]), unit: 'KB', note: summarize(sent) }
}

function summarize(sent: readonly SentRequest[]): string {
  const [bytes, before] = sent.reduce(([all, seen], one) => [all + one.bytes, seen + one.before], [0, 0])
  return `${((100 * before) / bytes).toFixed(1)} % sent before`
}
