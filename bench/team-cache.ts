import { loadProviderModel } from '../src/models/providers.ts'
import { createTroupe } from '../src/runtime/troupe.ts'
import type { Line } from './bench.ts'
import { assertEqual } from './bench.ts'
import { commonPrefixLength } from './common-prefix.ts'
import { encodeAnthropic, streamingFetch } from './provider-responses.ts'
import { toFigure } from './rounds.ts'

/*
 * The requests of a team as Anthropic gets them: tools, system prompt and messages with their cache breakpoints. A prefix is
 * served from the cache only if an earlier request had a breakpoint at its end, at most 20 blocks before one of this request.
 */

const LOOKBACK_BLOCKS = 20
const REQUEST_COUNT = 10

interface Block {
  cache_control?: unknown
}

interface Body {
  tools?: Block[]
  system: Block[]
  messages: { role: string; content: Block[] }[]
}

interface WireBlock {
  text: string
  marked: boolean
}

function wireBlocks({ tools = [], system, messages }: Body): WireBlock[] {
  const parts = messages.flatMap(({ role, content }) => content.map((part) => ({ role, ...part })))
  return [...tools, ...system, ...parts].map(({ cache_control, ...rest }) => ({
    text: JSON.stringify(rest),
    marked: cache_control !== undefined,
  }))
}

interface CacheShares {
  /** The share that is a prefix of an earlier request. */
  repeated: number
  /** The share that Anthropic serves from its cache. */
  served: number
}

function cacheShares(bodies: readonly Body[]): CacheShares[] {
  const texts: string[] = []
  const entries = new Set<string>()
  return bodies.map((body) => {
    const blocks = wireBlocks(body)
    const ends = blocks.map((_, index) =>
      blocks
        .slice(0, index + 1)
        .map(({ text }) => text)
        .join('\n'),
    )
    const text = ends.at(-1) ?? ''
    const repeated = Math.max(0, ...texts.map((earlier) => commonPrefixLength(earlier, text)))
    const reachable = ends.filter((end, index) => {
      const isInReach = blocks.slice(index, index + LOOKBACK_BLOCKS).some(({ marked }) => marked)
      return isInReach && entries.has(end)
    })
    for (const [index, { marked }] of blocks.entries()) if (marked) entries.add(ends[index] ?? '')
    texts.push(text)
    return {
      repeated: repeated / text.length,
      served: Math.max(0, ...reachable.map((end) => end.length)) / text.length,
    }
  })
}

const agentName = (n: number) => `agent_${n}`

/** Ten agents in a chain, each with 490 characters of instructions. */
function chainTeam(agentOptions: object) {
  return {
    name: 'Chain',
    description: 'Each does its part of the brief',
    agents: Array.from({ length: REQUEST_COUNT }, (_, n) => ({
      ...{ name: agentName(n), role: `part ${n}`, ...agentOptions },
      instructions: `${n}: ${'Examine what no other agent reads. '.repeat(14)}`,
    })),
    handoffs: Array.from({ length: REQUEST_COUNT - 1 }, (_, n) => ({
      ...{ from_agent: agentName(n), to_agent: agentName(n + 1), condition: 'its part is done' },
    })),
    after_work_behavior: 'terminate',
  }
}

const RESPONSE = JSON.stringify({
  ...{ response: 'This part is done: two facts were corrected, and the rest of them is fine.' },
  ...{ verdicts: [{ condition: 1, holds: true }], variables: [], next: null },
})

async function recordBodies(team: object, message: string): Promise<Body[]> {
  const bodies: Body[] = []
  const fetch: typeof globalThis.fetch = async (address, init) => {
    bodies.push(JSON.parse(String(init?.body)) as Body)
    return streamingFetch(encodeAnthropic([RESPONSE]))(address, init)
  }
  const model = await loadProviderModel('anthropic/claude-sonnet-5-5', { env: { ANTHROPIC_API_KEY: 'none' }, fetch })
  await using troupe = await createTroupe({ store: 'memory', model, embedder: false })
  const { status, error } = await troupe.run('team' as string, { team, message })
  assertEqual(status, 'completed', `the team (${error?.message})`)
  assertEqual(bodies.length, REQUEST_COUNT, 'requests')
  return bodies
}

interface CacheCase {
  label: string
  message: string
  /** Further keys of each agent, and of the team. */
  agent: object
  team?: object
  /** Whether the share has a target. */
  target: boolean
}

const TASK = 'Write a page about the sea.'
const MIN_REPEATED = 0.85

/** The cached shares of a team with a one-line task and 490 private characters per agent, and of one with a long task. */
export async function teamCacheLines(brief: string): Promise<Line[]> {
  const cases: CacheCase[] = [
    { label: 'one-line task, 490 characters of instructions each', message: TASK, agent: {}, target: true },
    { label: 'the same without tools', message: TASK, agent: { tools: [] }, target: true },
    {
      ...{ label: 'the same with share_instructions: false', message: TASK, agent: { tools: [] }, target: false },
      team: { share_instructions: false },
    },
    { label: 'a task of 7 KB', message: brief, agent: {}, target: true },
  ]
  const lines: Line[] = []
  for (const { label, message, agent, team = {}, target } of cases) {
    const bodies = await recordBodies({ ...chainTeam(agent), ...team }, message)
    const shares = cacheShares(bodies).slice(2)
    const repeated = Math.min(...shares.map((share) => share.repeated))
    const served = Math.min(...shares.map((share) => share.served))
    const note = `from the third request on ${formatShare(repeated)} of each repeats an earlier one; Anthropic serves ${formatShare(served)}`
    const sent = bodies.reduce((sum, body) => sum + JSON.stringify(body).length, 0)
    const met = { text: '≥ 85 % repeated', met: repeated >= MIN_REPEATED }
    lines.push({
      ...{ label: `as sent: ${label}`, figure: toFigure([sent / 1024]), unit: 'KB', note },
      ...(target ? { target: met } : undefined),
    })
  }
  return lines
}

function formatShare(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}
