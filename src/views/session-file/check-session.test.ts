import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { schemaErrors } from '../../../test/support/session-file-schema.ts'
import type { MultiAgentSession } from '../../entries/inspect.ts'
import { isMultiAgentSession, validateSession } from '../../entries/inspect.ts'

/** The example of the documentation. */
function example(): MultiAgentSession {
  const page = readFileSync(new URL('../../../docs/guide/session-file.md', import.meta.url), 'utf8')
  return JSON.parse(/```json\n([\s\S]*?)```/.exec(page)?.[1] ?? 'null')
}

function single(): Record<string, unknown> {
  const { collaboration: _c, sub_sessions: _s, messages: _m, ...session } = example()
  const [first] = session.tool_calls
  const { subagent_info: _info, ...call } = first ?? {}
  return { ...session, tool_calls: [call] }
}

test('SF11 SF12 the example of the documentation is valid, and so is a session of one agent', async () => {
  expect(schemaErrors(example())).toEqual([])
  expect(await validateSession(example())).toEqual([])
  expect(isMultiAgentSession(example())).toBe(true)
  expect(schemaErrors(single())).toEqual([])
  expect(await validateSession(single())).toEqual([])
  expect(await validateSession({ ...single(), added_later: 1 })).toEqual([])
})

test('SF11 SF12 agent types are open: an unknown type is valid', async () => {
  const session = example()
  for (const sub of session.sub_sessions) sub.agent.agent_type = 'cartographer'
  expect(schemaErrors(session)).toEqual([])
  expect(await validateSession(session)).toEqual([])
})

type Change = (session: MultiAgentSession) => void

const wrong: [what: string, path: string, change: Change][] = [
  ['an unknown status', 'status', (session) => Object.assign(session, { status: 'done' })],
  ['no prompt', 'user_prompt', (session) => Reflect.deleteProperty(session, 'user_prompt')],
  ['a time that is none', 'created_at', (session) => Object.assign(session, { created_at: 'yesterday' })],
  [
    'an unknown category',
    'tool_calls[0].tool_category',
    (session) => Object.assign(session.tool_calls[0] ?? {}, { tool_category: 'magic' }),
  ],
  [
    'an unknown message type',
    'messages[0].message_type',
    (session) => Object.assign(session.messages[0] ?? {}, { message_type: 'shout' }),
  ],
  [
    'no priority',
    'sub_sessions[0].task.priority',
    (session) => Reflect.deleteProperty(session.sub_sessions[0]?.task ?? {}, 'priority'),
  ],
]

test.each(wrong)('SF11 SF12 a file with %s is rejected at %s', async (_what, path, change) => {
  const session = example()
  change(session)
  expect((await validateSession(session)).map((problem) => problem.path)).toEqual([path])
  expect(schemaErrors(session)).not.toEqual([])
})

const broken: [what: string, path: string, change: Change][] = [
  [
    'a completed session without its time',
    'completed_at',
    (session) => Reflect.deleteProperty(session, 'completed_at'),
  ],
  [
    'a sub-session that no call triggered',
    'sub_sessions[0].triggered_by_call_id',
    ({ tool_calls }) => Reflect.deleteProperty(tool_calls[0] ?? {}, 'subagent_info'),
  ],
  [
    'a trigger that does not exist',
    'sub_sessions[0].triggered_by_call_id',
    ({ sub_sessions }) => Object.assign(sub_sessions[0] ?? {}, { triggered_by_call_id: 'none' }),
  ],
  [
    'a parent that does not exist',
    'sub_sessions[0].parent_session_id',
    ({ sub_sessions }) => Object.assign(sub_sessions[0] ?? {}, { parent_session_id: 'none' }),
  ],
  [
    'a call that ended before it began',
    'tool_calls[0].ended_at',
    ({ tool_calls }) => Object.assign(tool_calls[0] ?? {}, { ended_at: '2020-01-01T00:00:00.000Z' }),
  ],
  [
    'a call twice',
    'tool_calls[1].call_id',
    ({ tool_calls }) => tool_calls.push(structuredClone(tool_calls[0] as never)),
  ],
  [
    'a message that answers none',
    'messages[0].reply_to',
    ({ messages }) => Object.assign(messages[0] ?? {}, { reply_to: 'none' }),
  ],
]

test.each(broken)('SF11 a file with %s has a problem at %s', async (_what, path, change) => {
  const session = example()
  change(session)
  expect((await validateSession(session)).map((problem) => problem.path)).toContain(path)
})

test('SF11 a missing field is said to be missing, whatever its type', async () => {
  const { status: _status, agent: _agent, ...session } = single()
  expect(await validateSession(session)).toEqual([
    { path: 'status', message: 'is missing' },
    { path: 'agent', message: 'is missing' },
  ])
})

test('SF11 what is no object is said to be none', async () => {
  for (const value of [null, [], 'text', 3]) expect(await validateSession(value)).toMatchObject([{ path: '' }])
})
