import type { Event } from '../../src/kernel/event.ts'
import type { ModelRequest } from '../../src/kernel/model.ts'
import { textOf } from '../../src/kernel/model.ts'
import { collaborateInput } from '../../src/patterns/collaborate/input.ts'
import { wordEmbedder } from '../../src/testing/word-embedder.ts'
import { opinion } from '../collaboration.ts'
import { agent } from '../stage.ts'
import type { OtherRun } from './play.ts'
import { startEvent } from './reference.ts'

/*
 * Collaborations for the crash tests: every mode with every synthesis, and every way in which one goes on after that. What
 * an agent says follows from the request alone.
 */

type Words = (request: ModelRequest) => string | undefined
interface Case {
  input: Record<string, unknown>
  words?: Words
  /** Compared by vectors too. */
  meaning?: true
}

const STANDS: Record<string, string> = { a: opinion('go', 0.75), b: opinion('wait', 0.5), c: opinion('Go!', 0.5) }
const plan = (first: string) =>
  JSON.stringify({
    plan: 'in three parts',
    assignments: [
      { agent: first, subtask: 'one' },
      { agent: 'c', subtask: 'two', depends_on: [first] },
      { agent: 'c', subtask: 'three' },
    ],
  })
const best = JSON.stringify({
  scores: [1, 2].map((answer) => ({ answer, score: answer, reason: 'r' })),
  best: 2,
  reason: 'r',
})

function usual({ session, output }: ModelRequest): string {
  if (session.agent === 'evaluator') return best
  if (session.agent === 'judge') return JSON.stringify({ pairs: [{ number: 1, same: true }] })
  if (session.agent === 'lead') return output ? plan('b') : 'The lead has written.'
  return STANDS[session.agent] ?? `${session.agent} has written.`
}

const only =
  (name: string, words: Words): Words =>
  (request) =>
    request.session.agent === name ? words(request) : undefined

/** The first and the last are one by their vectors; of the one between, only a model can say. */
const MEANT: Record<string, string> = {
  a: opinion('Use Redis caching', 0.75),
  b: opinion('Redis caching everywhere soon', 0.5),
  c: opinion('Adopt Redis caching', 0.5),
}

const torn = { consensus_threshold: 0.9 }
const CASES: Record<string, Case> = {
  mediate: {
    input: { ...torn, on_conflict: 'mediate' },
    words: only('b', ({ session }) => (session.turn > 1 ? opinion('go', 0.25) : undefined)),
  },
  escalate: { input: { ...torn, on_conflict: 'escalate', synthesis: 'vote' } },
  'escalate to the coordinator': { input: { ...torn, on_conflict: 'escalate' } },
  'solo, and enough': { input: { task: 'Name it.', solo_first: true }, words: only('a', () => opinion('go', 1)) },
  'solo, and more': { input: { solo_first: true, synthesis: 'vote' } },
  'waves that stop': {
    input: { synthesis: 'vote', limits: { max_parallel: 1 } },
    words: ({ session }) => (session.agent === 'c' ? undefined : opinion('go', 1)),
  },
  'a judge': { input: { synthesis: 'vote' }, words: only('b', () => opinion('go to the shop now', 0.5)) },
  'by meaning': {
    input: { synthesis: 'vote', limits: { max_parallel: 2 } },
    words: ({ session }) => MEANT[session.agent],
    meaning: true,
  },
  prose: { input: { synthesis: 'auto' }, words: only('a', () => 'I would rather not say.') },
  'a correction': {
    input: { mode: 'hierarchical' },
    words: only('lead', ({ session, output }) => (output && session.turn === 1 ? plan('nobody') : undefined)),
  },
  'a division that disagrees': {
    input: { ...torn, mode: 'hierarchical', synthesis: 'vote', on_conflict: 'mediate' },
  },
  'a coordinator without words': { input: {}, words: only('coordinator', () => ' ') },
}

for (const mode of ['parallel', 'sequential', 'hierarchical']) {
  for (const synthesis of ['coordinator', 'vote', 'merge', 'best_of', 'auto']) {
    CASES[`${mode} ${synthesis}`] = { input: { mode, synthesis } }
  }
}

export const COLLABORATIONS: readonly string[] = [...Object.keys(CASES), 'as a tool']

export function collaboration(name: string): OtherRun {
  const { input, words = () => undefined, meaning }: Case = CASES[name] ?? { input: { synthesis: 'vote' } }
  const names = input.mode === 'hierarchical' ? ['lead', 'b', 'c'] : ['a', 'b', 'c']
  const whole = { task: 'What now?', agents: names.map((one) => ({ name: one })), ...input }
  const say = (request: ModelRequest) => words(request) ?? usual(request)
  const called = name === 'as a tool'
  return {
    start(at) {
      const start = startEvent(at)
      if (called) return start
      const data = { ...start.data, pattern: 'collaborate', input: collaborateInput.parse(whole) }
      return { ...start, data } as Event
    },
    commands: [],
    answers: (request) => (called ? calling(request, whole) : { calls: [], text: say(request) }),
    options: {
      // Every life makes use of the same one: none may close it.
      embedder: meaning ? { ...wordEmbedder(), close: async () => {} } : false,
      agents: called ? [agent('lead', { tools: ['collaborate', 'look'] })] : [],
    },
  }
}

/** The lead collaborates beside another call, and says what it heard. */
function calling(request: ModelRequest, input: Record<string, unknown>) {
  if (request.session.agent !== 'lead') return { calls: [], text: usual(request) }
  const look = { name: 'look', input: { topic: 'sky' } }
  if (request.session.turn === 1) return { calls: [{ name: 'collaborate', input }, look] }
  const heard = request.messages.at(-1)
  return { calls: [], text: JSON.stringify(heard?.role === 'tool' ? heard.content : textOf(heard)) }
}
