import { z } from 'zod'
import type { Tool } from '../src/kernel/tool.ts'
import { loadProviderModel } from '../src/models/providers.ts'
import { createTroupe } from '../src/runtime/troupe.ts'
import { defineTool } from '../src/tools/define-tool.ts'
import type { Bench, Line } from './bench.ts'
import { assertEqual } from './bench.ts'
import { commonPrefixLength } from './common-prefix.ts'
import { encodeAnthropic, encodeAnthropicToolCalls, streamingFetch } from './provider-responses.ts'
import { toFigure } from './rounds.ts'

/*
 * Measures how much of each request is a prefix of an earlier one, which a provider can serve from its prompt cache.
 * Requests are compared as sent, in the order that providers cache: tools, system, messages; without `cache_control` marks.
 */

const TASKS = ['researcher', 'researcher', 'reviewer', 'reviewer', 'implementer', 'architect'] as const
const READS_PER_AGENT = 3
const PAGE = Array.from({ length: 30 }, (_, line) => `${line + 1}: a line of a file with some text`).join('\n')

const TOOLS = {
  Read: 'Reads a file with line numbers. Reads at most 2,000 lines; use offset and limit for more.',
  Write: 'Writes a file. An existing file must be read first, to prevent accidental overwrites.',
  Edit: 'Replaces a text in a file. The text must occur exactly once unless all occurrences are replaced.',
  Glob: 'Finds files by glob pattern, such as src/**/*.ts, the most recently modified first.',
  Grep: 'Searches files with a regular expression and returns the lines or the file names.',
  Bash: 'Runs a command in a shell that keeps its working directory. Commands time out after two minutes.',
} as const

function createTools(): Tool[] {
  return Object.entries(TOOLS).map(([name, description]) =>
    defineTool({
      name,
      description,
      kind: 'read',
      category: 'perception',
      input: z.object({
        path: z.string().describe('Path relative to the project folder.'),
        pattern: z.string().optional().describe('Search pattern.'),
        limit: z.int().optional().describe('Maximum number of results.'),
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

/** The lead delegates to six agents, calls one tool and responds; each agent calls three tools. */
function respond({ tools: offered = [], messages }: Body): string[] {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const isLead = offered.some(({ name }) => name === 'task')
  if (isLead && turn === 0) {
    return encodeAnthropicToolCalls(
      TASKS.map((agent, n) => ({ name: 'task', input: { agent, instruction: `Part ${n}.` } })),
    )
  }
  const look = offered.find(({ name }) => name in TOOLS)
  if (look && turn < (isLead ? 2 : READS_PER_AGENT))
    return encodeAnthropicToolCalls([{ name: look.name, input: { path: `file-${turn}.ts` } }])
  return encodeAnthropic(['Result: ', 'no problems were found in any part.'])
}

/** The cacheable text of a request, in the order that providers cache. */
function cacheableText(body: Body): string {
  const plain = (part: unknown) =>
    JSON.stringify(part, (key, value: unknown) => (key === 'cache_control' ? undefined : value))
  return [...(body.tools ?? []), ...body.system, ...body.messages].map(plain).join('\n')
}

interface SentRequest {
  agent: string
  turn: number
  bytes: number
  /** Bytes of the longest prefix shared with an earlier request. */
  cached: number
  /** True if the previous request of the same agent is a prefix of this one. */
  extends_last: boolean
}

function sharedPrefixes({ bodies, agentName }: RecordedRequests): SentRequest[] {
  const earlier: string[] = []
  const last = new Map<string, string>()
  return bodies.map((body) => {
    const text = cacheableText(body)
    const agent = agentName(body)
    const cached = Math.max(0, ...earlier.map((other) => commonPrefixLength(other, text)))
    const turn = body.messages.filter(({ role }) => role === 'assistant').length + 1
    const extends_last = text.startsWith(last.get(agent) ?? '')
    earlier.push(text)
    last.set(agent, text)
    return { agent, turn, bytes: Buffer.byteLength(text), cached, extends_last }
  })
}

interface RecordedRequests {
  bodies: Body[]
  /** The agent of a request and the number of its part. */
  agentName(body: Body): string
}

async function recordRequests(): Promise<RecordedRequests> {
  const bodies: Body[] = []
  const fetch: typeof globalThis.fetch = async (address, init) => {
    const body = JSON.parse(String(init?.body)) as Body
    bodies.push(body)
    return streamingFetch(respond(body))(address, init)
  }
  const model = await loadProviderModel('anthropic/claude-sonnet-5-5', { env: { ANTHROPIC_API_KEY: 'none' }, fetch })
  await using troupe = await createTroupe({ store: 'memory', model, tools: createTools() })
  const { status, error } = await troupe.run('task', { agent: 'default', instruction: 'Check all parts.' })
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
  title: 'Prompt cache: requests of a run with seven agents, and the share that is a prefix of an earlier request',
  async run() {
    const sent = sharedPrefixes(await recordRequests())
    assertEqual(sent.length, 3 + TASKS.length * (READS_PER_AGENT + 1), 'requests')
    const [, ...others] = sent
    const openings = others.filter(({ turn }) => turn === 1)
    const later = others.filter(({ turn }) => turn > 1)
    const extended = later.filter(({ extends_last }) => extends_last).length
    return [
      ...sent.map((request) => toLine(`${request.agent}, turn ${request.turn}`, [request])),
      toLine('first requests of the other agents', openings),
      {
        ...toLine('later turns', later),
        note: `${summarize(later)}; ${extended} of ${later.length} extend the previous request`,
      },
      toLine('all requests', sent),
    ]
  },
}

function toLine(label: string, sent: readonly SentRequest[]): Line {
  const bytes = sent.reduce((total, request) => total + request.bytes, 0)
  return { label, figure: toFigure([bytes / 1024]), unit: 'KB', note: summarize(sent) }
}

function summarize(sent: readonly SentRequest[]): string {
  const bytes = sent.reduce((total, request) => total + request.bytes, 0)
  const cached = sent.reduce((total, request) => total + request.cached, 0)
  return `${((100 * cached) / bytes).toFixed(1)} % cacheable`
}
