import { z } from 'zod'
import type { Model, ModelRequest } from '../../src/entries/models.ts'
import type { Event, RunResult, Troupe, TroupeOptions } from '../../src/index.ts'
import { defineTool } from '../../src/index.ts'
import type { Consensus } from '../../src/judgement/vote/consensus.ts'
import type { VoteResult } from '../../src/patterns/collaborate/decision/synthesis.ts'
import type { BestOfEvaluation, Contribution } from '../../src/patterns/collaborate/output.ts'
import { agreementPanels } from '../../src/patterns/collaborate/view/agreement-panel.ts'
import { panelLines } from '../../src/surfaces/cli/render/block-lines.ts'
import type { TerminalStyle } from '../../src/surfaces/cli/render/styled-line.ts'
import type { ChunkSource } from './manual-doubles.ts'
import { chunkModel, textChunks } from './manual-doubles.ts'
import { plainStyle } from './plain-style.ts'
import { createTroupeWithStore, runToEnd } from './test-troupe.ts'

/** Output of a `collaborate` run, as far as the tests read it. */
export interface CollaborateRunOutput {
  result: string
  decided: boolean
  contributions: Contribution[]
  consensus: Consensus & { method: string; note?: string; confidence?: { confidence: number; cases: number } }
  vote?: VoteResult
  best_of?: BestOfEvaluation
  ruling?: { by: string; decision: string }
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

/** A contribution as the JSON text that a specialist returns. */
export function contributionJson(recommendation: string, confidence = 0.8, more: Record<string, unknown> = {}): string {
  return JSON.stringify({ response: `because of ${recommendation}`, recommendation, confidence, ...more })
}

/** The judge's reply: a verdict for each pair it is asked about. */
export function judgeReply(isSame: (one: string, other: string) => boolean): (request: ModelRequest) => string {
  return (request) => {
    const pairs = [...lastInstruction(request).matchAll(/^(\d+)\. A: (.*)\n {3}B: (.*)$/gm)]
    return JSON.stringify({
      pairs: pairs.map(([, number, one = '', other = '']) => ({ number: Number(number), same: isSame(one, other) })),
    })
  }
}

/**
 * Replies by agent name; `everybody` is the default, the judge finds all pairs different, and the extractor finds nothing. An error fails
 * the model request.
 */
export type AgentReplies = Record<
  string,
  string | Error | ((request: ModelRequest, signal: AbortSignal) => ChunkSource | string)
>

const systemReplies: AgentReplies = { judge: judgeReply(() => false), extractor: '{"answers":[]}' }

/** Model that replies per agent; `requestsFrom` returns the requests of one agent. */
export function agentModel(
  replies: AgentReplies,
): Model & { requests: ModelRequest[]; requestsFrom(agent: string): ModelRequest[] } {
  const model = chunkModel((request, signal) => {
    const { agent } = request.session
    const reply = replies[agent] ?? systemReplies[agent] ?? replies.everybody
    if (reply === undefined) throw permanentError(`no reply for ${agent}`)
    if (reply instanceof Error) throw reply
    const response = typeof reply === 'function' ? reply(request, signal) : reply
    return typeof response === 'string' ? textChunks(response) : response
  })
  return Object.assign(model, {
    requestsFrom: (agent: string) => model.requests.filter(({ session }) => session.agent === agent),
  })
}

/** An error that is not retried. */
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

/** Creates an in-memory troupe with scripted replies and, by default, no embedder. */
export async function createCollaborationTroupe(replies: AgentReplies, options: TroupeOptions = {}) {
  const model = agentModel(replies)
  const troupe = await createTroupeWithStore({ store: 'memory', embedder: false, model, ...options })
  return { troupe, model }
}

/** Runs one collaboration, by default with the agents a, b and c. */
export async function runCollaboration(
  replies: AgentReplies,
  input: Record<string, unknown> = {},
  options: TroupeOptions = {},
): Promise<CollaborationRun> {
  const { troupe, model } = await createCollaborationTroupe(replies, options)
  const agents = ['a', 'b', 'c'].map((name) => ({ name, role: `role ${name}` }))
  const result = await runToEnd(troupe, 'collaborate' as string, { task: 'What now?', agents, ...input })
  const events = await troupe.events(result.run_id).all()
  return { troupe, model, result, output: result.output as CollaborateRunOutput, events }
}

/** The text of the last user message. */
export function lastInstruction({ messages }: ModelRequest): string {
  const last = messages.findLast(({ role }) => role === 'user')
  return (last?.content ?? []).map((part) => ('text' in part ? part.text : '')).join('\n')
}

/** A tool that does nothing and succeeds. */
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

/** The agreement as a terminal draws it, without its title. */
export function drawnAgreement(output: unknown, style: TerminalStyle = plainStyle(80), all = false): string[] {
  const views = { byKey: new Map(), specialists: new Map() }
  return panelLines(agreementPanels(views, { output }), style, all).slice(1)
}
