import { expect, test } from 'vitest'
import type { AgentSession, MultiAgentSession } from '../../../src/entries/inspect.ts'
import { isMultiAgentSession, validateSession } from '../../../src/entries/inspect.ts'
import { createSampleRepository, createTestBuild, json, planTask, solve } from '../../support/build-harness.ts'
import { exportMulti, exportValid } from '../../support/session-file-schema.ts'

/* The eight acceptance criteria of section 10 of the specification of builds, on one run. */

const plan = (...tasks: object[]) => ({ summary: 'Write', no_change_reason: null, tests_must_pass: false, tasks })
const finding = { severity: 'major', category: 'bug', file: 'src/total.ts', line: 2, description: 'sums wrongly' }

/** Two developers; the first review rejects, the second asks for changes, the third approves. */
async function buildInThreeRounds() {
  const plans = [
    plan(planTask('T1', ['src/slug.ts']), planTask('T2', ['src/initials.ts'])),
    plan(planTask('T3', ['src/total.ts'])),
  ]
  const verdicts = ['rejected', 'changes_requested', 'approved']
  const build = await createTestBuild(
    createSampleRepository(),
    {
      architect: ({ instruction, request }) => {
        if (instruction.includes('final report')) return { text: 'All are written.' }
        return json(plans[request.messages.filter(({ role }) => role === 'assistant').length > 0 ? 1 : 0])
      },
      developer: solve,
      reviewer: () => {
        const verdict = verdicts.shift()
        return json({ verdict, summary: 'as found', findings: verdict === 'approved' ? [] : [finding] })
      },
    },
    { build: { checks: { test: '' } } },
  )
  const result = await build.run({})
  return { build, result, output: build.output(result), session: await exportMulti(build.troupe, result.run_id) }
}

test('BD1 SF11 the eight acceptance criteria of the specification hold for one build', async () => {
  const { build, output, session } = await buildInThreeRounds()
  // 1. The data model supports multi-agent sessions.
  expect(session.collaboration).toMatchObject({
    mode: 'multi_agent',
    pattern: 'master_worker',
    orchestrator: { agent_type: 'architect' },
  })
  // 2. The architect delegates tasks to developers.
  const messages = (type: string) => session.messages.filter(({ message_type }) => message_type === type)
  expect(
    messages('task_assignment').map(({ from_agent, to_agent }) => [from_agent.agent_type, to_agent.agent_type]),
  ).toEqual(Array.from({ length: 4 }, () => ['architect', 'developer']))
  // 3. The output of a developer is traceable to its task, and to the delegation that caused it.
  const developers = session.sub_sessions.filter(({ agent }) => agent.agent_type === 'developer')
  expect(developers.map(({ task }) => task.task_id).sort()).toEqual(['T1', 'T2', 'T3', 'T3'])
  for (const { output: own, task, triggered_by_call_id, sub_session_id } of developers) {
    expect(own?.task_id).toBe(task.task_id)
    const call = session.tool_calls.find(({ call_id }) => call_id === triggered_by_call_id)
    expect(call?.subagent_info?.sub_session_id).toBe(sub_session_id)
  }
  // 4. The reviewer approves and rejects changes.
  const verdicts = messages('review_result').map(({ content }) => (content as { verdict: string }).verdict)
  expect(verdicts).toEqual(['rejected', 'changes_requested', 'approved'])
  // 5. The iteration loop works: rejected work is planned again, and requested changes go to the developer of the file.
  expect(output).toMatchObject({
    status: 'completed',
    iterations: 3,
    approved_by: 'reviewer',
    plan: { tasks: [{ task_id: 'T3' }] },
  })
  // 6. Sessions of a single agent stay valid.
  const { run_id } = await build.troupe.run('task', { agent: 'reviewer', instruction: 'Read it.' })
  const single: AgentSession = await exportValid(build.troupe, run_id)
  expect(isMultiAgentSession(single)).toBe(false)
  // 7. The types compile: this narrows to the type of several agents.
  const typed: AgentSession = session
  const narrowed: MultiAgentSession | undefined = isMultiAgentSession(typed) ? typed : undefined
  expect(narrowed?.sub_sessions).toHaveLength(session.sub_sessions.length)
  // 8. Session data validates, and a file whose links are broken does not.
  expect(await validateSession(session)).toEqual([])
  expect(await validateSession({ ...session, tool_calls: [] })).not.toEqual([])
})
