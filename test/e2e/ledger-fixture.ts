import { z } from 'zod'
import type { Agent, Event, RunResult, Troupe } from '../../src/index.ts'
import { createTroupe, defineTool } from '../../src/index.ts'
import type { Usage } from '../../src/kernel/model.ts'
import type { Fixture, MockProvider } from './mock-provider.ts'
import { loadModelAt, PROTOCOLS, usageFixture } from './provider-harness.ts'

/*
 * A lead delegates to thirty agents on five provider protocols; each calls one tool and responds. Every model request
 * reports a unique usage, which identifies it.
 */

export const WORKERS = 30
const protocols = Object.values(PROTOCOLS)
const names = Array.from({ length: WORKERS }, (_, index) => `part-${String(index).padStart(2, '0')}`)

export const EXPECTED_CALLS = 2 + 2 * WORKERS

/** Usage that the mock reports for a turn of an agent; the lead has index -1. */
export function reportedUsage(index: number, turn: number): Pick<Usage, 'input' | 'output'> {
  return { input: 200 + 10 * (index + 1) + turn, output: 3 + (index + 1) + turn }
}

function modelFor(index: number): string {
  return protocols[(index + protocols.length) % protocols.length]?.model ?? ''
}

function agent(name: string, index: number): Agent {
  const tools = index < 0 ? ['task'] : ['look']
  return {
    name,
    description: `${name} of thirty agents`,
    instructions: `You are ${name}.`,
    model: modelFor(index),
    tools,
  }
}

const look = defineTool({
  name: 'look',
  description: 'Inspects a part.',
  kind: 'read',
  category: 'perception',
  input: z.object({ part: z.string() }),
  execute: ({ part }) => ({ success: true, output: `${part} is fine` }),
})

/** Opens a troupe with real provider packages that use the mock. */
export async function openLedgerTroupe(url: string, store: string): Promise<Troupe> {
  const custom = await Promise.all(protocols.map((protocol) => loadModelAt(protocol, url)))
  return createTroupe({
    store,
    tools: [look],
    agents: [agent('lead', -1), ...names.map(agent)],
    models: { custom },
    limits: { breadth: WORKERS, concurrency: 10 },
  })
}

/** Starts the run, or resumes the existing one. */
export async function runToEnd(troupe: Troupe, onEvent: (event: Event) => void = () => {}): Promise<RunResult> {
  const [existing] = await troupe.runs().all()
  const handle = existing
    ? await troupe.resume(existing.run_id, { force: true })
    : await troupe.stream('task', { agent: 'lead', instruction: 'Delegate to all.' })
  for await (const signal of handle) if ('event' in signal) onEvent(signal.event)
  return handle.result
}

/** Every fifth agent gets a rate limit on its first request, every seventh an error on its second. */
export function ledgerFixtures(): Fixture[] {
  const tasks = names.map((name) => ({ name: 'task', arguments: JSON.stringify({ agent: name, instruction: name }) }))
  const lead = { userMessage: 'Delegate to all.' }
  const slow = { latency: 4, chunkSize: 40 }
  return [
    { match: { ...lead, hasToolResult: false }, response: { toolCalls: tasks, ...usageFixture(reportedUsage(-1, 1)) } },
    { match: { ...lead, hasToolResult: true }, response: { content: 'All.', ...usageFixture(reportedUsage(-1, 2)) } },
    ...names.flatMap((userMessage, index) => {
      const first = { userMessage, hasToolResult: false }
      const second = { userMessage, hasToolResult: true }
      const toolCalls = [{ name: 'look', arguments: JSON.stringify({ part: userMessage }) }]
      const content = `${userMessage} was inspected, and no problems were found in it.`
      return [
        ...(index % 5 === 1
          ? [failingFixture(first, { status: 429, retryAfter: 1, error: { message: 'rate limit' } })]
          : []),
        ...(index % 7 === 2 ? [failingFixture(second, { status: 500, error: { message: 'internal error' } })] : []),
        { match: first, response: { toolCalls, ...usageFixture(reportedUsage(index, 1)) }, ...slow },
        { match: second, response: { content, ...usageFixture(reportedUsage(index, 2)) }, ...slow },
      ]
    }),
  ]
}

function failingFixture(match: Fixture['match'], response: object): Fixture {
  return { match: { ...match, sequenceIndex: 0 } as Fixture['match'], response }
}

/** A request that the mock received, and the usage that it reported. */
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

/** Reads the request log of the mock, with the response to each request. */
export async function readReports(mock: MockProvider): Promise<ReportedRequest[]> {
  const entries = (await mock.requests()) as Entry[]
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
