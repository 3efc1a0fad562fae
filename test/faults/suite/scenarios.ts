import type { WireReply, WireRequest } from '../wire-double.ts'
import { SPECIALISTS } from './options.ts'

/* The work of the trials: what is run, what the models answer, and what of the output has to be the same whatever happened. */

export interface Scenario {
  name: string
  pattern: string
  /** The inputs of its runs, one after the other; `session` is that of the run before. */
  inputs: readonly ((session: string) => object)[]
  reply(request: WireRequest): WireReply
  /** The part of the output that does not depend on times and ids. */
  summarize(output: unknown): unknown
  /** Whether an outage can be limited to some agents: the others must not answer to it. */
  canLoseAgents: boolean
}

const textOf = ({ messages }: WireRequest) => JSON.stringify(messages)
const lastPart = (request: WireRequest) => [...textOf(request).matchAll(/part ([\w-]+)/g)].at(-1)?.[1] ?? ''
const record = (name: string) => ({ calls: [{ name: 'record', input: { name } }] })
const response = (output: unknown) => (output as { response?: string } | null)?.response

/** Turns of this request since the newest instruction. */
function turnOf({ messages }: WireRequest): number {
  const instruction = messages.findLastIndex(({ role }) => role === 'user')
  return messages.slice(instruction).filter(({ role }) => role === 'assistant').length + 1
}

const WORKERS = 3
const LEAVES = 2

/** The lead calls three workers, each of which calls two leaves and records; each leaf records. */
const tree: Scenario = {
  name: 'tree',
  pattern: 'task',
  inputs: [() => ({ agent: 'lead', instruction: 'part lead' })],
  canLoseAgents: false,
  summarize: response,
  reply(request) {
    const { agent, turn } = request
    const part = /part ([\w-]+)/.exec(textOf(request))?.[1] ?? ''
    const task = (callee: string, name: string) => ({
      name: 'task',
      input: { agent: callee, instruction: `part ${name}` },
    })
    if (agent === 'lead' && turn === 1)
      return { calls: Array.from({ length: WORKERS }, (_, worker) => task('worker', `w${worker}`)) }
    if (agent === 'worker' && turn === 1)
      return { calls: Array.from({ length: LEAVES }, (_, leaf) => task('leaf', `${part}-l${leaf}`)) }
    if (agent === 'leaf' ? turn === 1 : agent === 'worker' && turn === 2) return record(part)
    return { text: `${part} done` }
  },
}

/** One session, continued in three runs, each of which records once. */
const sessions: Scenario = {
  name: 'sessions',
  pattern: 'task',
  inputs: [
    () => ({ agent: 'scribe', instruction: 'part s1' }),
    (session_id) => ({ session_id, instruction: 'part s2' }),
    (session_id) => ({ session_id, instruction: 'part s3' }),
  ],
  canLoseAgents: false,
  summarize: response,
  reply: (request) => {
    const part = lastPart(request)
    return turnOf(request) === 1 ? record(part) : { text: `${part} done after ${request.turn - 1} turns` }
  },
}

const member = (name: string) => ({ name, uses: name })
const recordOnce = (request: WireRequest, then: () => WireReply) =>
  request.turn === 1 && request.agent !== '' ? record(request.agent) : then()
const heard = (request: WireRequest) =>
  SPECIALISTS.filter((name) => textOf(request).includes(`word of ${name}`)).join(' ')

/** A parallel group with a sub-team that is a group itself, then a scribe. */
const groups: Scenario = {
  name: 'groups',
  pattern: 'team',
  canLoseAgents: true,
  inputs: [
    () => ({
      message: 'part team',
      team: {
        name: 'Panel',
        entry: 'panel',
        share_instructions: false,
        agents: [
          ...['ann', 'bob', 'scribe'].map(member),
          {
            name: 'inner',
            team: {
              name: 'Inner',
              entry: 'pair',
              share_instructions: false,
              agents: ['cas', 'dan'].map(member),
              groups: [{ name: 'pair', kind: 'parallel', members: ['cas', 'dan'] }],
              after_work_behavior: 'terminate',
            },
          },
        ],
        groups: [{ name: 'panel', kind: 'parallel', members: ['ann', 'bob', 'inner'] }],
        handoffs: [{ from_agent: 'panel', to_agent: 'scribe' }],
        after_work_behavior: 'terminate',
      },
    }),
  ],
  summarize: (output) => {
    const { history = [] } = (output ?? {}) as { history?: { agent_name: string; parts: { text?: string }[] }[] }
    return history.map(({ agent_name, parts }) => [agent_name, ...parts.map(({ text }) => text)])
  },
  reply: (request) =>
    recordOnce(request, () => ({
      text: request.agent === 'scribe' ? `heard ${heard(request)}` : `word of ${request.agent}`,
    })),
}

interface Contributions {
  result?: string
  contributions?: { agent: string; response: string; status: string }[]
}

function summarizeContributions(output: unknown): unknown {
  const { result, contributions = [] } = (output ?? {}) as Contributions
  return [result, ...contributions.map(({ agent, response: text, status }) => [agent, text, status])]
}

const contribution = (agent: string, recommendation: string) =>
  JSON.stringify({ response: `word of ${agent}`, recommendation, confidence: 0.9, concerns: [], questions: [] })

/** A vote in waves of two. */
const waves: Scenario = {
  name: 'waves',
  pattern: 'collaborate',
  canLoseAgents: true,
  inputs: [
    () => ({
      task: 'part vote',
      agents: [...SPECIALISTS],
      categories: ['ship', 'wait'],
      synthesis: 'vote',
      vote: { wave: 2 },
    }),
  ],
  summarize: summarizeContributions,
  reply: (request) =>
    recordOnce(request, () => ({
      text: contribution(request.agent, ['bob', 'dan'].includes(request.agent) ? 'wait' : 'ship'),
    })),
}

/** Specialists and a coordinator, whose synthesis says whom it has heard. */
const panel: Scenario = {
  name: 'panel',
  pattern: 'collaborate',
  canLoseAgents: true,
  inputs: [() => ({ task: 'part panel', agents: SPECIALISTS.slice(0, 4), synthesis: 'coordinator' })],
  summarize: summarizeContributions,
  reply: (request) =>
    recordOnce(request, () => ({
      text: request.agent === '' ? `heard ${heard(request)}` : contribution(request.agent, 'ship'),
    })),
}

const sessionIds = (request: WireRequest) =>
  [...textOf(request).matchAll(/session_id\\+":\\+"([\w-]+)/g)].map(([, session_id]) => session_id)

const answer = {
  ...{ answer: 'word of ann', confidence: 0.9, clarification_needed: null },
  ...{ additional_context: null, code_reference: null, suggested_next_steps: [] },
}

/** A consultation, and two tasks in the background whose results are collected after it. */
const background: Scenario = {
  name: 'background',
  pattern: 'task',
  inputs: [() => ({ agent: 'asker', instruction: 'part asker' })],
  canLoseAgents: false,
  summarize: response,
  reply(request) {
    const { agent, turn } = request
    const route = { needed: 'x', agents: ['ann'], reason: 'data question', rationale: 'It knows.', confidence: 0.9 }
    if (agent === 'orchestrator') return { text: JSON.stringify(route) }
    if (agent !== 'asker')
      return recordOnce(request, () => ({ text: agent === 'ann' ? JSON.stringify(answer) : `word of ${agent}` }))
    const tasks = ['leaf', 'scribe']
    if (turn === 1) {
      const started = tasks.map((name) => ({ agent: name, instruction: `part ${name}`, background: true }))
      const consult = { name: 'consult', input: { question: 'Who is there?' } }
      return { calls: [...started.map((input) => ({ name: 'task', input })), consult] }
    }
    if (turn === 2)
      return { calls: sessionIds(request).map((session_id) => ({ name: 'task_result', input: { session_id } })) }
    return { text: `heard ${[...tasks, 'ann'].filter((name) => textOf(request).includes(`word of ${name}`))}` }
  },
}

export const SCENARIOS: readonly Scenario[] = [tree, groups, waves, panel, sessions, background]
