import type { Event } from '../../src/kernel/event.ts'
import type { ModelRequest } from '../../src/kernel/model.ts'
import { textFrom } from '../../src/kernel/model.ts'
import { collaborateInput } from '../../src/patterns/collaborate/input.ts'
import { wordEmbedder } from '../../src/testing/word-embedder.ts'
import { contributionJson } from '../support/collaboration.ts'
import { agent } from '../support/test-troupe.ts'
import type { RunScenario } from './chaos-run.ts'
import { startEvent } from './reference-run.ts'

/*
 * Collaborations for the crash tests: every mode with every synthesis, and every way in which one goes on after that. What
 * an agent says follows from the request alone.
 */

type ReplyText = (request: ModelRequest) => string | undefined
interface CollaborationCase {
  input: Record<string, unknown>
  reply?: ReplyText
  /** Compared by vectors too. */
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
  scores: [1, 2].map((answer) => ({ answer, score: answer, reason: 'r' })),
  best: 2,
  reason: 'r',
})

function defaultReply({ session, output }: ModelRequest): string {
  if (session.agent === 'evaluator') return evaluationReply
  if (session.agent === 'judge') return JSON.stringify({ pairs: [{ number: 1, same: true }] })
  if (session.agent === 'lead') return output ? planReply('b') : 'The lead has written.'
  return REPLIES[session.agent] ?? `${session.agent} has written.`
}

const replyFor =
  (name: string, words: ReplyText): ReplyText =>
  (request) =>
    request.session.agent === name ? words(request) : undefined

/** The first and the last are one by their vectors; of the one between, only a model can say. */
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
  'escalate to the coordinator': { input: { ...highThreshold, on_conflict: 'escalate' } },
  'solo, and enough': {
    input: { task: 'Name it.', solo_first: true },
    reply: replyFor('a', () => contributionJson('go', 1)),
  },
  'solo, and more': { input: { solo_first: true, synthesis: 'vote' } },
  'waves that stop': {
    input: { synthesis: 'vote', limits: { max_parallel: 1 } },
    reply: ({ session }) => (session.agent === 'c' ? undefined : contributionJson('go', 1)),
  },
  'a judge': { input: { synthesis: 'vote' }, reply: replyFor('b', () => contributionJson('go to the shop now', 0.5)) },
  'by meaning': {
    input: { synthesis: 'vote', limits: { max_parallel: 2 } },
    reply: ({ session }) => SIMILAR_REPLIES[session.agent],
    use_embedder: true,
  },
  prose: { input: { synthesis: 'auto' }, reply: replyFor('a', () => 'I would rather not say.') },
  'a correction': {
    input: { mode: 'hierarchical' },
    reply: replyFor('lead', ({ session, output }) => (output && session.turn === 1 ? planReply('nobody') : undefined)),
  },
  'a division that disagrees': {
    input: { ...highThreshold, mode: 'hierarchical', synthesis: 'vote', on_conflict: 'mediate' },
  },
  'a coordinator without words': { input: {}, reply: replyFor('coordinator', () => ' ') },
}

for (const mode of ['parallel', 'sequential', 'hierarchical']) {
  for (const synthesis of ['coordinator', 'vote', 'merge', 'best_of', 'auto']) {
    CASES[`${mode} ${synthesis}`] = { input: { mode, synthesis } }
  }
}

export const COLLABORATION_NAMES: readonly string[] = [...Object.keys(CASES), 'as a tool']

export function collaborationScenario(name: string): RunScenario {
  const {
    input,
    reply = () => undefined,
    use_embedder,
  }: CollaborationCase = CASES[name] ?? { input: { synthesis: 'vote' } }
  const names = input.mode === 'hierarchical' ? ['lead', 'b', 'c'] : ['a', 'b', 'c']
  const whole = { task: 'What now?', agents: names.map((one) => ({ name: one })), ...input }
  const say = (request: ModelRequest) => reply(request) ?? defaultReply(request)
  const called = name === 'as a tool'
  return {
    start(at) {
      const start = startEvent(at)
      if (called) return start
      const data = { ...start.data, pattern: 'collaborate', input: collaborateInput.parse(whole) }
      return { ...start, data } as Event
    },
    commands: [],
    respond: (request) => (called ? callerResponse(request, whole) : { calls: [], text: say(request) }),
    options: {
      // Every life makes use of the same one: none may close it.
      embedder: use_embedder ? { ...wordEmbedder(), close: async () => {} } : false,
      agents: called ? [agent('lead', { tools: ['collaborate', 'look'] })] : [],
    },
  }
}

/** The lead collaborates beside another call, and says what it heard. */
function callerResponse(request: ModelRequest, input: Record<string, unknown>) {
  if (request.session.agent !== 'lead') return { calls: [], text: defaultReply(request) }
  const look = { name: 'look', input: { topic: 'sky' } }
  if (request.session.turn === 1) return { calls: [{ name: 'collaborate', input }, look] }
  const heard = request.messages.at(-1)
  return { calls: [], text: JSON.stringify(heard?.role === 'tool' ? heard.content : textFrom(heard)) }
}
