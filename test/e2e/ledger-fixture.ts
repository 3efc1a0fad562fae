import { z } from 'zod'
import type { Agent, Event, RunResult, Troupe } from '../../src/index.ts'
import { createTroupe, defineTool } from '../../src/index.ts'
import type { Usage } from '../../src/kernel/model.ts'
import type { Fixture, MockProvider } from './mock-provider.ts'
import { modelAt, PROTOCOLS, usageFixture } from './provider-harness.ts'

/*
 * Thirty agents of five protocols, and one who sends them out: each looks once and answers. What every call will be
 * reported to have used is a number of its own, so that a call can be told from any other by its usage.
 */

export const WORKERS = 30
const protocols = Object.values(PROTOCOLS)
const names = Array.from({ length: WORKERS }, (_, index) => `part-${String(index).padStart(2, '0')}`)

export const EXPECTED_CALLS = 2 + 2 * WORKERS

/** What the double reports for the first or second call of an agent; the lead is number -1. */
export function reportedUsage(index: number, turn: number): Pick<Usage, 'input' | 'output'> {
  return { input: 200 + 10 * (index + 1) + turn, output: 3 + (index + 1) + turn }
}

function modelFor(index: number): string {
  return protocols[(index + protocols.length) % protocols.length]?.model ?? ''
}

function agent(name: string, index: number): Agent {
  const tools = index < 0 ? ['task'] : ['look']
  return { name, description: `${name} of the thirty`, instructions: `You are ${name}.`, model: modelFor(index), tools }
}

const look = defineTool({
  name: 'look',
  description: 'Looks at a part.',
  kind: 'read',
  category: 'perception',
  input: z.object({ part: z.string() }),
  execute: ({ part }) => ({ success: true, output: `${part} is fine` }),
})

/** A troupe whose models are the real provider packages, at the double. */
export async function openLedgerTroupe(url: string, store: string): Promise<Troupe> {
  const custom = await Promise.all(protocols.map((protocol) => modelAt(protocol, url)))
  return createTroupe({
    store,
    tools: [look],
    agents: [agent('lead', -1), ...names.map(agent)],
    models: { custom },
    limits: { breadth: WORKERS, concurrency: 10 },
  })
}

/** Starts the run, or goes on with the one that is there. */
export async function runToEnd(troupe: Troupe, watch: (event: Event) => void = () => {}): Promise<RunResult> {
  const [before] = await troupe.runs()
  const handle = before
    ? await troupe.resume(before.run_id, { force: true })
    : await troupe.stream('task', { agent: 'lead', instruction: 'Send out the thirty.' })
  for await (const signal of handle) if ('event' in signal) watch(signal.event)
  return handle.result
}

/** Every fifth agent meets a rate limit with its first call, every seventh a failure with its second. */
export function ledgerFixtures(): Fixture[] {
  const tasks = names.map((name) => ({ name: 'task', arguments: JSON.stringify({ agent: name, instruction: name }) }))
  const lead = { userMessage: 'Send out the thirty.' }
  const slowly = { latency: 4, chunkSize: 40 }
  return [
    { match: { ...lead, hasToolResult: false }, response: { toolCalls: tasks, ...usageFixture(reportedUsage(-1, 1)) } },
    { match: { ...lead, hasToolResult: true }, response: { content: 'All.', ...usageFixture(reportedUsage(-1, 2)) } },
    ...names.flatMap((userMessage, index) => {
      const first = { userMessage, hasToolResult: false }
      const second = { userMessage, hasToolResult: true }
      const toolCalls = [{ name: 'look', arguments: JSON.stringify({ part: userMessage }) }]
      const content = `${userMessage} was looked at, and nothing is wrong with it at all.`
      return [
        ...(index % 5 === 1
          ? [failingFixture(first, { status: 429, retryAfter: 1, error: { message: 'slow down' } })]
          : []),
        ...(index % 7 === 2 ? [failingFixture(second, { status: 500, error: { message: 'out of order' } })] : []),
        { match: first, response: { toolCalls, ...usageFixture(reportedUsage(index, 1)) }, ...slowly },
        { match: second, response: { content, ...usageFixture(reportedUsage(index, 2)) }, ...slowly },
      ]
    }),
  ]
}

function failingFixture(match: Fixture['match'], response: object): Fixture {
  return { match: { ...match, sequenceIndex: 0 } as Fixture['match'], response }
}

/** One request as the double saw it, and what it reported. */
export interface ReportedRequest {
  status: number
  agent: string
  turn: number
  usage: Pick<Usage, 'input' | 'output'>
}

interface Entry {
  path: string
  response: { status: number; fixture: Fixture | null }
}

/** What the double says about itself: its journal holds each request with the answer it chose. */
export async function readReports(double: MockProvider): Promise<ReportedRequest[]> {
  const entries = (await double.requests()) as Entry[]
  return entries
    .filter(({ path }) => !path.startsWith('/__'))
    .map(({ response: { status, fixture } }) => {
      const { userMessage = '', hasToolResult = false } = fixture?.match ?? {}
      const { usage } = (fixture?.response ?? {}) as { usage?: { prompt_tokens: number; completion_tokens: number } }
      return {
        status,
        agent: userMessage.startsWith('part-') ? userMessage : 'lead',
        turn: hasToolResult ? 2 : 1,
        usage: { input: usage?.prompt_tokens ?? 0, output: usage?.completion_tokens ?? 0 },
      }
    })
}

export function sumReports(reports: readonly ReportedRequest[]): { calls: number; input: number; output: number } {
  const add = (pick: (report: ReportedRequest) => number) => reports.reduce((sum, report) => sum + pick(report), 0)
  return { calls: reports.length, input: add(({ usage }) => usage.input), output: add(({ usage }) => usage.output) }
}
