import type { Event } from '../../src/kernel/event.ts'
import type { ModelRequest } from '../../src/kernel/model.ts'
import { textFrom } from '../../src/kernel/model.ts'
import { collaborateInput } from '../../src/patterns/collaborate/input/input.ts'
import { wordEmbedder } from '../../src/testing/word-embedder.ts'
import { contributionJson } from '../support/collaboration.ts'
import { agent } from '../support/test-troupe.ts'
import type { RunScenario } from './chaos-run.ts'
import { startEvent } from './reference-run.ts'

/*
 * Collaborations for the crash tests: every mode with every synthesis, and every conflict path. A response depends only on
 * the request.
 */

type ReplyText = (request: ModelRequest) => string | undefined
interface CollaborationCase {
  input: Record<string, unknown>
  reply?: ReplyText
  use_embedder?: true
}

const REPLIES: Record<string, string> = {
  a: contributionJson('go', 0.75),
  b: contributionJson('wait', 0.5),
  c: contributionJson('Go!', 0.5),
}
const planReply = (first: string) =>
  JSON.stringify({
    plan: 'in three parts',
    assignments: [
      { agent: first, subtask: 'one' },
      { agent: 'c', subtask: 'two', depends_on: [first] },
      { agent: 'c', subtask: 'three' },
    ],
  })
const evaluationReply = JSON.stringify({
  scores: [1, 3, 2].map((score, index) => ({ answer: index + 1, score, reason: 'r' })),
  best: 2,
  reason: 'r',
})

function defaultReply({ session, output }: ModelRequest): string {
  if (session.agent === 'evaluator') return evaluationReply
  if (session.agent === 'judge') return JSON.stringify({ pairs: [{ number: 1, same: true }] })
  if (session.agent === 'extractor') return JSON.stringify({ answers: [{ answer: 1, recommendation: null }] })
  if (session.agent === 'lead') return output ? planReply('b') : 'The lead wrote the result.'
  return REPLIES[session.agent] ?? `${session.agent} wrote the result.`
}

const replyFor =
  (name: string, reply: ReplyText): ReplyText =>
  (request) =>
    request.session.agent === name ? reply(request) : undefined

/** Embeddings equate the first and the last; only a model can decide about the second. */
const SIMILAR_REPLIES: Record<string, string> = {
  a: contributionJson('Use Redis caching', 0.75),
  b: contributionJson('Redis caching everywhere soon', 0.5),
  c: contributionJson('Adopt Redis caching', 0.5),
}

const highThreshold = { consensus_threshold: 0.9 }
const CASES: Record<string, CollaborationCase> = {
  mediate: {
    input: { ...highThreshold, on_conflict: 'mediate' },
    reply: replyFor('b', ({ session }) => (session.turn > 1 ? contributionJson('go', 0.25) : undefined)),
  },
  escalate: { input: { ...highThreshold, on_conflict: 'escalate', synthesis: 'vote' } },
  'escalate, coordinator': { input: { ...highThreshold, on_conflict: 'escalate' } },
  'early stop': {
    input: { synthesis: 'vote', limits: { max_parallel: 1 } },
    reply: ({ session }) => (session.agent === 'c' ? undefined : contributionJson('go', 1)),
  },
  'equivalence judge': {
    input: { synthesis: 'vote' },
    reply: replyFor('b', () => contributionJson('go to the shop now', 0.5)),
  },
  'judge after a wave': {
    input: { synthesis: 'vote', limits: { max_parallel: 2 } },
    reply: ({ session }) => SIMILAR_REPLIES[session.agent],
  },
  embeddings: {
    input: { synthesis: 'vote' },
    reply: ({ session }) => SIMILAR_REPLIES[session.agent],
    use_embedder: true,
  },
  'plain text reply': { input: { synthesis: 'auto' }, reply: replyFor('a', () => 'I have no recommendation.') },
  'invalid plan': {
    input: { mode: 'hierarchical' },
    reply: replyFor('lead', ({ session, output }) => (output && session.turn === 1 ? planReply('nobody') : undefined)),
  },
  'hierarchical conflict': {
    input: { ...highThreshold, mode: 'hierarchical', synthesis: 'vote', on_conflict: 'mediate' },
  },
  'empty coordinator reply': { input: {}, reply: replyFor('coordinator', () => ' ') },
}

for (const mode of ['parallel', 'sequential', 'hierarchical']) {
  for (const synthesis of ['coordinator', 'vote', 'merge', 'best_of', 'auto']) {
    CASES[`${mode} ${synthesis}`] = { input: { mode, synthesis } }
  }
}

export const COLLABORATION_NAMES: readonly string[] = [...Object.keys(CASES), 'tool call']

export function collaborationScenario(name: string): RunScenario {
  const {
    input,
    reply = () => undefined,
    use_embedder,
  }: CollaborationCase = CASES[name] ?? { input: { synthesis: 'vote' } }
  const names = input.mode === 'hierarchical' ? ['lead', 'b', 'c'] : ['a', 'b', 'c']
  const fullInput = { task: 'What now?', agents: names.map((agentName) => ({ name: agentName })), ...input }
  const respondText = (request: ModelRequest) => reply(request) ?? defaultReply(request)
  const asTool = name === 'tool call'
  return {
    start(at) {
      const start = startEvent(at)
      if (asTool) return start
      const data = { ...start.data, pattern: 'collaborate', input: collaborateInput.parse(fullInput) }
      return { ...start, data } as Event
    },
    commands: [],
    respond: (request) => (asTool ? callerResponse(request, fullInput) : { calls: [], text: respondText(request) }),
    options: {
      // All processes share this embedder: none may close it.
      embedder: use_embedder ? { ...wordEmbedder(), close: async () => {} } : false,
      agents: asTool ? [agent('lead', { tools: ['collaborate', 'look'] })] : [],
    },
  }
}

/** The lead calls `collaborate` together with another tool and returns the results. */
function callerResponse(request: ModelRequest, input: Record<string, unknown>) {
  if (request.session.agent !== 'lead') return { calls: [], text: defaultReply(request) }
  const look = { name: 'look', input: { topic: 'sky' } }
  if (request.session.turn === 1) return { calls: [{ name: 'collaborate', input }, look] }
  const last = request.messages.at(-1)
  return { calls: [], text: JSON.stringify(last?.role === 'tool' ? last.content : textFrom(last)) }
}
