import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MultiAgentSession } from '../session-file/agent-session.ts'
import { validateSession } from '../session-file/validate-session.ts'
import { sessionFromTranscript } from './session-from-transcript.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
let second = 0
const record = (type: 'user' | 'assistant', content: unknown, more: object = {}) => ({
  ...{ type, uuid: `u${++second}`, parentUuid: null, isSidechain: false, sessionId: 's1', timestamp: at(second) },
  message: {
    role: type,
    model: 'claude-x',
    content,
    ...(type === 'assistant' && { usage: { input_tokens: 3, output_tokens: 4 } }),
  },
  ...more,
})
const call = (id: string, name: string, input: object) => [{ type: 'tool_use', id, name, input }]
const result = (id: string, content: string, more: object = {}) => [
  { type: 'tool_result', tool_use_id: id, content, ...more },
]

const main = [
  { type: 'summary', summary: 'Of another session' },
  { type: 'a kind that nobody knows yet', payload: 1 },
  record('user', 'Write the parser.'),
  record('assistant', call('c1', 'Task', { prompt: 'Explore.', subagent_type: 'Explore' })),
  record('user', result('c1', 'Explored.'), { toolUseResult: { agentId: 'a1' } }),
  record('assistant', call('c2', 'Write', { file_path: 'src/new.ts', content: 'x' })),
  record('user', result('c2', 'ok'), { toolUseResult: { type: 'create' } }),
  record('assistant', call('c3', 'Edit', { file_path: 'src/old.ts' })),
  record('user', result('c3', 'ok'), { toolUseResult: {} }),
  record('assistant', call('c4', 'Bash', { command: 'false' })),
  record('user', result('c4', 'exit 1', { is_error: true })),
  record('assistant', [{ type: 'text', text: 'Done, with sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789.' }]),
]
const side = (...more: object[]) => [
  record('user', 'Explore.', { isSidechain: true, ...more[0] }),
  record('assistant', call('s1', 'Grep', { pattern: 'x' }), { isSidechain: true, ...more[1] }),
  record('user', result('s1', 'found'), { isSidechain: true, ...more[2] }),
  record('assistant', [{ type: 'text', text: 'Explored.' }], { isSidechain: true, ...more[3] }),
]
const agent = { agentId: 'a1' }
const inline = () => {
  const records = side()
  return records.map((one, index) => ({ ...one, parentUuid: records[index - 1]?.uuid ?? null }))
}

describe('SF15 a transcript of a coding agent becomes a valid session file', () => {
  test.each([
    ['files of their own, joined by id', () => side(agent, agent, agent, agent)],
    ['side chains in the file, joined by prompt', inline],
  ])('SF15 with sub-agents in %s', async (_where, subAgent) => {
    const session = sessionFromTranscript([...main, ...subAgent()]) as MultiAgentSession
    expect(await validateSession(session)).toEqual([])
    expect(session).toMatchObject({
      session_id: 's1',
      user_prompt: 'Write the parser.',
      status: 'success',
      agent: { model_id: 'claude-x' },
      collaboration: { mode: 'multi_agent', pattern: 'master_worker' },
      summary: { files_created: ['src/new.ts'], files_modified: ['src/old.ts'], errors_encountered: 1 },
      sub_sessions: [{ agent: { agent_type: 'Explore' }, triggered_by_call_id: 'c1', status: 'success' }],
    })
    expect(session.tool_calls.map(({ tool_name, tool_category }) => [tool_name, tool_category])).toEqual([
      ['Task', 'task_management'],
      ['Write', 'action'],
      ['Edit', 'action'],
      ['Bash', 'action'],
    ])
    expect(session.tool_calls[0]?.subagent_info).toMatchObject({ tool_uses: 1, tokens_used: 14 })
    expect(session.messages.map(({ message_type }) => message_type)).toEqual(['task_assignment', 'task_completion'])
  })

  test('SF15 repeated records count once, and a sub-agent that nobody started has a call made up for it', async () => {
    const orphan = side(agent, agent, agent, agent)
    const session = sessionFromTranscript([main[2], main[2], ...orphan, ...orphan]) as MultiAgentSession
    expect(await validateSession(session)).toEqual([])
    expect(session).toMatchObject({
      status: 'in_progress',
      tool_calls: [{ call_id: 'started:a1', made_by_pattern: true }],
      sub_sessions: [{ tool_calls: [{ call_id: 's1' }] }],
    })
  })

  test('SF15 any order, loss, repetition or wrong link of records gives a valid file', async () => {
    const all = [...main, ...side(agent, agent, agent, agent), ...inline()]
    const links = fc.constantFrom(undefined, null, 'u3', 'u14', 'u15', 'nowhere', 7)
    const damaged = fc.array(fc.tuple(fc.constantFrom(...all), links, fc.boolean()), { minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(damaged, async (picked) => {
        const records = picked.map(([one, parentUuid, isKept]) => (isKept ? one : { ...one, parentUuid }))
        const hasMessage = records.some(({ type }) => type === 'user' || type === 'assistant')
        if (!hasMessage) return expect(() => sessionFromTranscript(records)).toThrow(/has no messages/)
        expect(await validateSession(sessionFromTranscript(records))).toEqual([])
      }),
      { numRuns: 100 },
    )
  })

  test('SF15 secrets are redacted', () => {
    const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789'
    const session = sessionFromTranscript([record('user', `Use the key ${secret}.`)])
    expect(JSON.stringify(session)).not.toContain(secret)
  })
})
