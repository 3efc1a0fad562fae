import { z } from 'zod'
import type { Event, Model, ModelRequest, RunResult, Troupe, TroupeOptions } from '../src/index.ts'
import { createTroupe, defineTool } from '../src/index.ts'
import type { Consensus } from '../src/judgement/agreement.ts'
import type { Contribution, Evaluation } from '../src/patterns/collaborate/output.ts'
import type { Vote } from '../src/patterns/collaborate/synthesis.ts'
import type { Given } from './by-hand.ts'
import { answering, says } from './by-hand.ts'

/** What a collaboration comes to. */
export interface Output {
  result: string
  contributions: Contribution[]
  consensus: Consensus & { method: string; note?: string; confidence?: { confidence: number; cases: number } }
  vote?: Vote
  best_of?: Evaluation
  ruling?: { by: string; decision: string }
  decision?: { collaborated: boolean; reason: string }
  metadata: {
    agents_count: number
    mode: string
    synthesis: string
    status: string
    duration_ms: number
    total_tokens: number
    cost: number | null
    saved?: { agents: string[]; calls: number; why: string; probability?: number }
    problems?: string[]
  }
}

/** A contribution in the form that specialists are asked for. */
export function opinion(recommendation: string, confidence = 0.8, more: Record<string, unknown> = {}): string {
  return JSON.stringify({ response: `because of ${recommendation}`, recommendation, confidence, ...more })
}

/** Who says what: by name, or by a function of the request. A text that is thrown fails the call for good. */
export type Lines = Record<string, string | Error | ((request: ModelRequest, signal: AbortSignal) => Given | string)>

/** A model that plays these lines; `seen` of a name are its requests. */
export function cast(lines: Lines): Model & { asked: ModelRequest[]; seen(agent: string): ModelRequest[] } {
  const model = answering((request, signal) => {
    const { agent } = request.session
    const line = lines[agent] ?? lines.everybody
    if (line === undefined) throw failing(`nothing planned for ${agent}`)
    if (line instanceof Error) throw line
    const said = typeof line === 'function' ? line(request, signal) : line
    return typeof said === 'string' ? says(said) : said
  })
  return Object.assign(model, {
    seen: (agent: string) => model.asked.filter(({ session }) => session.agent === agent),
  })
}

/** An error that trying again does not help. */
export function failing(message: string): Error {
  return Object.assign(new Error(message), { status: 400 })
}

export interface Meeting {
  troupe: Troupe
  result: RunResult
  output: Output
  events: Event[]
  model: ReturnType<typeof cast>
}

/** A troupe in memory, without an embedder unless one is given, in which these lines are spoken. */
export async function company(lines: Lines, options: TroupeOptions = {}) {
  const model = cast(lines)
  const troupe = await createTroupe({ store: 'memory', embedder: false, model, ...options })
  return { troupe, model }
}

/** One collaboration from its beginning to its end. Agents are a, b and c unless said otherwise. */
export async function meeting(
  lines: Lines,
  input: Record<string, unknown> = {},
  options: TroupeOptions = {},
): Promise<Meeting> {
  const { troupe, model } = await company(lines, options)
  const agents = ['a', 'b', 'c'].map((name) => ({ name, role: `role ${name}` }))
  const result = await troupe.run('collaborate', { task: 'What now?', agents, ...input })
  const events = await troupe.events(result.run_id)
  return { troupe, model, result, output: result.output as Output, events }
}

/** The text of the instruction that a request ends with. */
export function instructionOf({ messages }: ModelRequest): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return (last?.content ?? []).map((part) => ('text' in part ? part.text : '')).join('\n')
}

/** A tool that does nothing, and says whether it could. */
export function tool(name: string, kind: 'read' | 'act') {
  return defineTool({
    name,
    description: name,
    kind,
    category: 'action',
    input: z.object({}),
    execute: () => ({ success: true }),
  })
}
