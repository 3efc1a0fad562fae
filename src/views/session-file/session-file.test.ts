import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runCollaboration } from '../../../test/support/collaboration.ts'
import { rules, runToEnd } from '../../../test/support/recorded-run.ts'
import { exportMulti, exportValid } from '../../../test/support/session-file-schema.ts'
import { runTeam, trio } from '../../../test/support/team-harness.ts'
import {
  agent,
  agents,
  createTestTroupe,
  functionModel,
  lastResultSessionId,
  modelFromRules,
  taskCall,
} from '../../../test/support/test-troupe.ts'
import { isMultiAgentSession, validateSession } from '../../entries/inspect.ts'
import { defineTool } from '../../index.ts'
import { sessionFileFrom } from './session-file.ts'

const files = (result: { files?: string[]; created?: string[]; deleted?: string[] }) =>
  defineTool({
    name: 'change',
    description: 'Changes files.',
    kind: 'read',
    category: 'action',
    input: z.object({}),
    execute: () => ({ success: true, output: 'changed', ...result }),
  })

describe('a single agent', () => {
  test('SF1 SF6 SF7 a completed run has its prompt, model, calls and changed files', async () => {
    const { troupe, task } = await createTestTroupe({
      agents,
      tools: [files({ files: ['a.ts', 'b.ts'], created: ['a.ts'], deleted: ['c.ts'] })],
      model: functionModel(({ session }) =>
        session.turn === 1
          ? {
              calls: [
                { name: 'change', input: {} },
                { name: 'change', input: { wrong: 1 } },
                { name: 'none', input: 'x' },
              ],
            }
          : { text: 'done' },
      ),
    })
    const { run_id } = await task('lead', 'Tidy up.\nSoon.')
    const session = await exportValid(troupe, run_id)
    expect(isMultiAgentSession(session)).toBe(false)
    expect(session).not.toHaveProperty('sub_sessions')
    expect(session).toMatchObject({
      session_id: run_id,
      task_title: 'Tidy up.',
      user_prompt: 'Tidy up.\nSoon.',
      status: 'success',
      run: { pattern: 'task', status: 'completed', stop_reason: 'completed' },
      summary: { files_created: ['a.ts'], files_modified: ['b.ts'], files_deleted: ['c.ts'], tool_calls_count: 3 },
    })
    expect(session.tool_calls.find(({ tool_name }) => tool_name === 'change')).toMatchObject({
      tool_name: 'change',
      tool_category: 'action',
      input: { params: {} },
      output: { status: 'success', result: 'changed' },
    })
    const unknown = session.tool_calls.find(({ tool_name }) => tool_name === 'none')
    expect(unknown?.output).toMatchObject({ status: 'failed', error: expect.stringContaining('none') })
    expect(session.summary.errors_encountered).toBe(
      session.tool_calls.filter(({ output }) => output.status === 'failed').length,
    )
    expect(session.summary.total_duration_ms).toBe(
      Date.parse(session.completed_at ?? '') - Date.parse(session.created_at),
    )
    await troupe.close()
  })

  test('SF6 a waiting run is in progress and names its question; a cancelled one has failed', async () => {
    const { troupe, task } = await createTestTroupe({
      agents,
      rules: [
        { when: { agent: 'lead' }, reply: { toolCalls: [{ name: 'ask_user', input: { question: 'Ship it?' } }] } },
      ],
    })
    const { run_id } = await task('lead', 'go')
    const waiting = await exportValid(troupe, run_id)
    expect(waiting).toMatchObject({
      status: 'in_progress',
      run: { status: 'waiting', stop_reason: null, waiting_for: ['Ship it?'] },
      tool_calls: [{ tool_name: 'ask_user', output: { status: 'in_progress' } }],
    })
    expect(waiting).not.toHaveProperty('completed_at')
    expect(waiting.tool_calls[0]).not.toHaveProperty('ended_at')
    await troupe.cancel(run_id, 'changed my mind')
    const cancelled = await exportValid(troupe, run_id)
    expect(cancelled).toMatchObject({ status: 'failed', run: { status: 'cancelled', stop_reason: 'cancelled' } })
    expect(cancelled.tool_calls[0]?.output.status).toBe('failed')
    await troupe.close()
  })

  test('SF6 a failed run has failed, with its error', async () => {
    const { troupe, task } = await createTestTroupe({
      agents,
      model: functionModel(() => {
        throw Object.assign(new Error('no credit left'), { status: 400 })
      }),
    })
    const { run_id } = await task('lead', 'go')
    const session = await exportValid(troupe, run_id)
    expect(session).toMatchObject({ status: 'failed', run: { status: 'failed', stop_reason: 'failed' } })
    expect(session.run?.error).toContain('no credit left')
    expect(session.summary.errors_encountered).toBe(1)
    await troupe.close()
  })

  test('SF6 a run that a limit ended keeps the stop_reason of Troupe', async () => {
    const { troupe } = await createTestTroupe({
      agents: [agent('lead', { max_turns: 1 })],
      tools: [files({})],
      model: functionModel(() => ({ text: 'so far', calls: [{ name: 'change', input: {} }] })),
    })
    const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    const session = await exportValid(troupe, result.run_id)
    expect(result.status).toBe('partial')
    expect(session.run).toMatchObject({ status: 'completed', stop_reason: result.stop_reason })
    expect(session.status).toBe('success')
    await troupe.close()
  })
})

describe('delegation', () => {
  test('SF2 SF4 SF8 sub-sessions are linked both ways, also when a session is resumed', async () => {
    const { events, result } = await runToEnd({ model: modelFromRules(...rules) })
    const session = sessionFileFrom(events)
    expect(await validateSession(session)).toEqual([])
    if (!isMultiAgentSession(session)) throw new Error('not a session of several agents')
    expect(session.collaboration).toEqual({
      mode: 'multi_agent',
      pattern: 'master_worker',
      orchestrator: { agent_id: 'lead', agent_type: 'lead' },
      participants: ['lead', 'coder', 'critic'].map((name) => ({ agent_id: name, agent_type: name })),
    })
    const [coder, critic, again] = session.sub_sessions
    expect(session.sub_sessions.map(({ agent: { agent_id } }) => agent_id)).toEqual(['coder', 'critic', 'coder'])
    expect(again).toMatchObject({ sub_session_id: `${coder?.sub_session_id}#2`, continues: coder?.sub_session_id })
    expect(coder).toMatchObject({
      parent_session_id: result.run_id,
      status: 'success',
      task: { description: 'write', priority: 'medium' },
      output: { status: 'completed', summary: 'Written.' },
      tool_calls: [{ tool_name: 'echo', output: { status: 'success', result: 'hello' } }],
    })
    const call = session.tool_calls.find(({ call_id }) => call_id === critic?.triggered_by_call_id)
    expect(call).toMatchObject({ tool_name: 'task', subagent_info: { subagent_type: 'critic', tool_uses: 0 } })
    expect(call?.subagent_info?.tokens_used).toBeGreaterThan(0)
    const first = session.messages.filter(({ correlation_id }) => correlation_id === coder?.sub_session_id)
    expect(first).toMatchObject([
      { message_type: 'task_assignment', from_agent: { agent_id: 'lead' }, to_agent: { agent_id: 'coder' } },
      { message_type: 'task_completion', reply_to: first[0]?.message_id, content: { summary: 'Written.' } },
    ])
  })

  test('SF2 every prefix of a journal is a valid file', async () => {
    const { events } = await runToEnd({ model: modelFromRules(...rules) })
    for (const length of events.keys()) {
      const session = sessionFileFrom(events.slice(0, length + 1))
      expect(await validateSession(session), `after event ${length + 1}`).toEqual([])
    }
  })

  test('SF2 a background session is a sub-session of the call that started it', async () => {
    const { troupe, task } = await createTestTroupe({
      agents,
      model: functionModel((request) => {
        const { agent: name, turn } = request.session
        if (name === 'coder') return { text: 'written' }
        if (turn === 1) return { calls: [taskCall('coder', 'write', { background: true })] }
        if (turn === 2)
          return { calls: [{ name: 'task_result', input: { session_id: lastResultSessionId(request), wait: true } }] }
        return { text: 'done' }
      }),
    })
    const { run_id } = await task('lead', 'go')
    const session = await exportMulti(troupe, run_id)
    expect(session.sub_sessions).toHaveLength(1)
    expect(
      session.tool_calls.map(({ tool_name, subagent_info }) => [tool_name, subagent_info?.sub_session_id]),
    ).toEqual([
      ['task', session.sub_sessions[0]?.sub_session_id],
      ['task_result', undefined],
    ])
    await troupe.close()
  })

  test('SF3 a pattern called as a tool opens a sub-session for each specialist, in the session of its caller', async () => {
    const { troupe, task } = await createTestTroupe({
      agents: [agent('lead', { tools: ['collaborate'] }), agent('a'), agent('b')],
      embedder: false,
      model: functionModel(({ session }) =>
        session.agent === 'lead' && session.turn === 1
          ? { calls: [{ name: 'collaborate', input: { task: 'x', agents: ['a', 'b'], synthesis: 'merge' } }] }
          : { text: `${session.agent} says so` },
      ),
    })
    const { run_id } = await task('lead', 'go')
    const session = await exportMulti(troupe, run_id)
    const [call, ...delegations] = session.tool_calls
    expect(call).toMatchObject({ tool_name: 'collaborate' })
    expect(call).not.toHaveProperty('subagent_info')
    expect(delegations).toHaveLength(session.sub_sessions.length)
    expect(delegations.map(({ subagent_info }) => subagent_info?.subagent_type)).toEqual(['a', 'b'])
    for (const delegation of delegations)
      expect(delegation).toMatchObject({ made_by_pattern: true, parent_call_id: call?.call_id })
    await troupe.close()
  })

  test('SF10 the type of an agent is that of its file, or its name', async () => {
    const { troupe, task } = await createTestTroupe({
      agents: [agent('lead'), agent('backend', { extra: { agent_type: 'developer' } })],
      model: functionModel(({ session }) =>
        session.agent === 'lead' && session.turn === 1 ? { calls: [taskCall('backend', 'write')] } : { text: 'ok' },
      ),
    })
    const session = await exportMulti(troupe, (await task('lead', 'go')).run_id)
    expect(session.sub_sessions[0]?.agent).toMatchObject({ agent_id: 'backend', agent_type: 'developer' })
    expect(session.tool_calls[0]?.subagent_info?.subagent_type).toBe('developer')
    expect(session.collaboration.orchestrator.agent_type).toBe('lead')
    await troupe.close()
  })

  test('SF10 an agent that a call defines has the type default, whoever wrote the call and whatever it says', async () => {
    const input = { task: 'x', agents: ['a', { name: 'architect2', role: 'architect' }], synthesis: 'merge' }
    const { troupe, task } = await createTestTroupe({
      agents: [agent('lead', { tools: ['collaborate'] }), agent('a')],
      embedder: false,
      model: functionModel(({ session }) =>
        session.agent === 'lead' && session.turn === 1
          ? { calls: [{ name: 'collaborate', input }] }
          : { text: `${session.agent} says so` },
      ),
    })
    const byModel = await task('lead', 'go')
    const byProgram = await troupe.run('collaborate' as string, input)
    for (const { run_id } of [byModel, byProgram]) {
      const { sub_sessions } = await exportMulti(troupe, run_id)
      const types = sub_sessions.map(({ agent: { agent_id, agent_type } }) => [agent_id, agent_type])
      expect(types).toEqual(
        expect.arrayContaining([
          ['a', 'a'],
          ['architect2', 'default'],
        ]),
      )
    }
    await troupe.close()
  })
})

describe('patterns of runs', () => {
  const plan = {
    plan: 'x',
    assignments: [
      { agent: 'b', subtask: 'one' },
      { agent: 'c', subtask: 'two' },
    ],
  }

  test.each([
    ['parallel', 'master_worker', 'collaborate'],
    ['sequential', 'pipeline', 'collaborate'],
    ['hierarchical', 'master_worker', 'a'],
  ])('SF3 SF5 a %s collaboration is %s', async (mode, pattern, orchestrator) => {
    const replies = {
      everybody: '{"response":"r","recommendation":"yes"}',
      a: JSON.stringify(plan),
      coordinator: 'all',
    }
    const { troupe, result } = await runCollaboration(replies, { mode })
    const session = await exportMulti(troupe, result.run_id)
    expect(session).toMatchObject({
      user_prompt: 'What now?',
      collaboration: { pattern, orchestrator: { agent_id: orchestrator } },
    })
    expect(session.sub_sessions.length).toBeGreaterThanOrEqual(3)
    expect(session.tool_calls).toHaveLength(session.sub_sessions.length)
    expect(session.tool_calls.every((call) => call.made_by_pattern && call.tool_name === 'collaborate')).toBe(true)
    await troupe.close()
  })

  test('SF5 SF8 a team is peer_to_peer, and its handoffs are messages', async () => {
    const { troupe, result } = await runTeam(trio, { a: ['a text'], b: ['a better text'] })
    const session = await exportMulti(troupe, result.run_id)
    expect(session.collaboration).toMatchObject({ pattern: 'peer_to_peer', orchestrator: { agent_id: 'a' } })
    expect(session.sub_sessions.map(({ agent: { agent_id } }) => agent_id)).toEqual(['a', 'b'])
    const route = session.messages.map(({ from_agent, to_agent }) => `${from_agent.agent_id} → ${to_agent.agent_id}`)
    expect(route).toEqual(['a → b', 'b → user'])
    await troupe.close()
  })

  test('SF5 SF8 SF10 a consultation is master_worker, and its exchanges are messages', async () => {
    const { troupe, task } = await createTestTroupe({
      agents: [agent('lead', { tools: ['consult'] }), agent('expert')],
      embedder: false,
      model: functionModel(({ session }) => {
        if (session.agent === 'lead' && session.turn === 1)
          return { calls: [{ name: 'consult', input: { question: 'Which port?', suggested_agent: 'expert' } }] }
        return { text: session.agent === 'expert' ? 'Port 80.' : '{"agent":"expert","reason":"x","confidence":0.9}' }
      }),
    })
    const session = await exportMulti(troupe, (await task('lead', 'go')).run_id)
    expect(session.collaboration.pattern).toBe('master_worker')
    const expert = session.sub_sessions.find((sub) => sub.agent.agent_id === 'expert')
    expect(expert?.agent.agent_type).toBe('expert')
    expect(session.messages.map(({ message_type }) => message_type)).toContain('feedback')
    await troupe.close()
  })

  test('SF14 secrets in instructions and arguments are redacted', async () => {
    const redact = { redact: (text: string) => text.replaceAll('hunter2', '[secret]') }
    const { troupe, task } = await createTestTroupe({ agents, rules: [{ reply: { text: 'fine' } }], redact })
    const { run_id } = await task('lead', 'the password is hunter2')
    const session = await exportValid(troupe, run_id)
    expect(session.user_prompt).toBe('the password is [secret]')
    expect(JSON.stringify(session)).not.toContain('hunter2')
    await troupe.close()
  })
})
