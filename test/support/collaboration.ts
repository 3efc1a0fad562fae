import { z } from 'zod'
import type { Event, Model, ModelRequest, RunResult, Troupe, TroupeOptions } from '../../src/index.ts'
import { createTroupe, defineTool } from '../../src/index.ts'
import type { Consensus } from '../../src/judgement/vote/consensus.ts'
import type { BestOfEvaluation, Contribution } from '../../src/patterns/collaborate/output.ts'
import type { VoteResult } from '../../src/patterns/collaborate/synthesis.ts'
import type { ChunkSource } from './manual-doubles.ts'
import { chunkModel, textChunks } from './manual-doubles.ts'

/** What a collaboration comes to. */
export interface CollaborateRunOutput {
  result: string
  contributions: Contribution[]
  consensus: Consensus & { method: string; note?: string; confidence?: { confidence: number; cases: number } }
  vote?: VoteResult
  best_of?: BestOfEvaluation
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
export function contributionJson(recommendation: string, confidence = 0.8, more: Record<string, unknown> = {}): string {
  return JSON.stringify({ response: `because of ${recommendation}`, recommendation, confidence, ...more })
}

/** Who says what: by name, or by a function of the request. A text that is thrown fails the call for good. */
export type AgentReplies = Record<
  string,
  string | Error | ((request: ModelRequest, signal: AbortSignal) => ChunkSource | string)
>

/** A model that plays these lines; `seen` of a name are its requests. */
export function agentModel(
  lines: AgentReplies,
): Model & { requests: ModelRequest[]; seen(agent: string): ModelRequest[] } {
  const model = chunkModel((request, signal) => {
    const { agent } = request.session
    const line = lines[agent] ?? lines.everybody
    if (line === undefined) throw permanentError(`nothing planned for ${agent}`)
    if (line instanceof Error) throw line
    const said = typeof line === 'function' ? line(request, signal) : line
    return typeof said === 'string' ? textChunks(said) : said
  })
  return Object.assign(model, {
    seen: (agent: string) => model.requests.filter(({ session }) => session.agent === agent),
  })
}

/** An error that trying again does not help. */
export function permanentError(message: string): Error {
  return Object.assign(new Error(message), { status: 400 })
}

export interface CollaborationRun {
  troupe: Troupe
  result: RunResult
  output: CollaborateRunOutput
  events: Event[]
  model: ReturnType<typeof agentModel>
}

/** A troupe in memory, without an embedder unless one is given, in which these lines are spoken. */
export async function createCollaborationTroupe(lines: AgentReplies, options: TroupeOptions = {}) {
  const model = agentModel(lines)
  const troupe = await createTroupe({ store: 'memory', embedder: false, model, ...options })
  return { troupe, model }
}

/** One collaboration from its beginning to its end. Agents are a, b and c unless said otherwise. */
export async function runCollaboration(
  lines: AgentReplies,
  input: Record<string, unknown> = {},
  options: TroupeOptions = {},
): Promise<CollaborationRun> {
  const { troupe, model } = await createCollaborationTroupe(lines, options)
  const agents = ['a', 'b', 'c'].map((name) => ({ name, role: `role ${name}` }))
  const result = await troupe.run('collaborate', { task: 'What now?', agents, ...input })
  const events = await troupe.events(result.run_id)
  return { troupe, model, result, output: result.output as CollaborateRunOutput, events }
}

/** The text of the instruction that a request ends with. */
export function lastInstruction({ messages }: ModelRequest): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return (last?.content ?? []).map((part) => ('text' in part ? part.text : '')).join('\n')
}

/** A tool that does nothing, and says whether it could. */
export function noopTool(name: string, kind: 'read' | 'act') {
  return defineTool({
    name,
    description: name,
    kind,
    category: 'action',
    input: z.object({}),
    execute: () => ({ success: true }),
  })
}
