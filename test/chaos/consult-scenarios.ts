import type { Event } from '../../src/kernel/event.ts'
import type { ModelRequest } from '../../src/kernel/model.ts'
import { textFrom } from '../../src/kernel/model.ts'
import { consultInput } from '../../src/patterns/consult/input.ts'
import { answerJson, consultCall, routeTo } from '../support/consult-replies.ts'
import { CONSULT_TOOLS } from '../support/consultation.ts'
import type { ModelReply } from '../support/test-troupe.ts'
import { agent } from '../support/test-troupe.ts'
import type { RunScenario } from './chaos-run.ts'
import { startEvent } from './reference-run.ts'

/*
 * Consultations for the crash tests: as a run and as a tool, in the background, with clarifications, a failing specialist, several
 * specialists, a wait-for cycle and a person. A response depends only on the request.
 */

type Reply = (request: ModelRequest) => ModelReply

interface ConsultCase {
  /** The run itself is the consultation. */
  run?: true
  /** Of the asker. */
  max_turns?: number
  replies?: Record<string, Reply>
}

const id = (request: ModelRequest) =>
  /"collaboration_id":"([^"]+)"/.exec(JSON.stringify(request.messages).replaceAll('\\', ''))?.[1]
const turns =
  (...calls: ((request: ModelRequest) => { name: string; input: unknown }[])[]): Reply =>
  (request) => {
    const call = calls[request.session.turn - 1]
    const last = request.messages.at(-1)
    return call
      ? { calls: call(request) }
      : { text: JSON.stringify(last?.role === 'tool' ? last.content : textFrom(last)) }
  }
const isSynthesis = ({ messages }: ModelRequest) => JSON.stringify(messages).includes('<answers>')
const isCycle = ({ messages }: ModelRequest) => JSON.stringify(messages).includes('<cycle')

const CASES: Record<string, ConsultCase> = {
  run: { run: true },
  'tool call': {},
  rated: {
    replies: {
      lead: turns(
        () => [consultCall('What now?')],
        (request) => [
          { name: 'rate_consultation', input: { collaboration_id: id(request), rating: 5, lessons_learned: 'Ask.' } },
        ],
      ),
    },
  },
  clarification: {
    replies: {
      lead: turns(
        () => [consultCall('What now?')],
        (request) => [consultCall('Version 2.', { collaboration_id: id(request) })],
      ),
      coder: ({ session }) =>
        session.turn === 1 ? { text: '{"clarification_needed":"Which version?"}' } : answerJson('Go.'),
    },
  },
  background: {
    replies: {
      lead: turns(
        () => [consultCall('What now?', { background: true }), consultCall('And then?', { background: true })],
        (request) => [{ name: 'consult_result', input: { collaboration_id: id(request) } }],
      ),
    },
  },
  'background, not collected': {
    max_turns: 1,
    replies: {
      lead: ({ session }) =>
        session.turn === 1 ? { calls: [consultCall('What now?', { background: true })] } : { text: 'It is open.' },
    },
  },
  'background, several': {
    replies: {
      lead: turns(
        () => [consultCall('What now?', { background: true })],
        (request) => [{ name: 'consult_result', input: { collaboration_id: id(request) } }],
      ),
      orchestrator: (request) => (isSynthesis(request) ? answerJson('Both.') : routeTo('coder', 'critic')),
    },
  },
  'background, failing specialist': {
    replies: {
      lead: turns(
        () => [consultCall('What now?', { background: true })],
        (request) => [{ name: 'consult_result', input: { collaboration_id: id(request) } }],
      ),
      coder: () => ({ text: ' ' }),
      orchestrator: toCoderThenCritic,
    },
  },
  'failing specialist': { replies: { coder: () => ({ text: ' ' }), orchestrator: toCoderThenCritic } },
  several: {
    run: true,
    replies: { orchestrator: (request) => (isSynthesis(request) ? answerJson('Both.') : routeTo('coder', 'critic')) },
  },
  person: { run: true, replies: { coder: () => answerJson('Perhaps.', { confidence: 0.1 }) } },
  'wait-for cycle': {
    replies: {
      coder: turns(() => [consultCall('Which one do you mean?')]),
      orchestrator: (request) => {
        if (isCycle(request))
          return { text: '{"answer":null,"missing_information":["Which one?"],"who_could_know":null}' }
        return routeTo(JSON.stringify(request.messages).includes('Which one') ? 'lead' : 'coder')
      },
    },
  },
}

function toCoderThenCritic({ messages }: ModelRequest): ModelReply {
  return routeTo(JSON.stringify(messages).includes('- coder:') ? 'coder' : 'critic')
}

export const CONSULT_NAMES: readonly string[] = Object.keys(CASES)

export function consultScenario(name: string): RunScenario {
  const { run, max_turns, replies = {} }: ConsultCase = CASES[name] ?? {}
  const defaults: Record<string, Reply> = {
    lead: turns(() => [consultCall('What now?')]),
    orchestrator: () => routeTo('coder'),
    coder: () => answerJson('Go.'),
    critic: () => answerJson('Wait.'),
  }
  const respond: Reply = (request) => {
    const reply = replies[request.session.agent] ?? defaults[request.session.agent]
    return reply ? reply(request) : { text: '' }
  }
  return {
    start(at) {
      const start = startEvent(at)
      if (!run) return start
      const data = {
        ...start.data,
        pattern: 'consult',
        input: consultInput.parse({ question: 'What now?', as: 'lead' }),
      }
      return { ...start, data } as Event
    },
    commands: [],
    respond: (request) => ({ calls: [], text: '', ...respond(request) }) as never,
    options: {
      embedder: false,
      agents: ['lead', 'coder', 'critic'].map((each) =>
        agent(each, { tools: CONSULT_TOOLS, ...(each === 'lead' && max_turns ? { max_turns } : undefined) }),
      ),
    },
  }
}
