import { expect, test } from 'vitest'
import type { BuildScript } from '../../../../test/support/build-harness.ts'
import {
  createSampleRepository,
  createTestBuild,
  json,
  planTask,
  SOLUTIONS,
  solve,
  write,
} from '../../../../test/support/build-harness.ts'
import { exportMulti } from '../../../../test/support/session-file-schema.ts'

const PLAN = {
  summary: 'Two functions',
  no_change_reason: null,
  tests_must_pass: false,
  tasks: [
    planTask('T1', ['src/slug.ts'], { priority: 'high' }),
    planTask('T2', ['src/extra.ts'], { dependencies: [{ task_id: 'T1', kind: 'hard' }] }),
  ],
}

const script: BuildScript = {
  architect: ({ instruction }) => (instruction.includes('final report') ? { text: 'Done.' } : json(PLAN)),
  developer(call) {
    if (call.task === 'T1') return solve(call)
    if (call.turn === 1) return write('src/extra.ts', SOLUTIONS['src/total.ts'] ?? '')
    return json({ status: 'completed', summary: 'wrote src/extra.ts', notes: null, blockers: [] })
  },
  reviewer: () => json({ verdict: 'approved', summary: 'good', findings: [] }),
}

test('SF5 SF7 SF8 SF9 a build is master_worker: tasks, contracts, messages, phases and merged files', async () => {
  const build = await createTestBuild(createSampleRepository(), script)
  const result = await build.run({ approve_plan: false })
  expect(result.status, JSON.stringify(result.error)).toBe('completed')
  const session = await exportMulti(build.troupe, result.run_id)
  expect(session.collaboration).toMatchObject({
    pattern: 'master_worker',
    orchestrator: { agent_id: 'architect', agent_type: 'architect' },
  })
  const developers = session.sub_sessions.filter(({ agent }) => agent.agent_type === 'developer')
  expect(developers.map(({ task }) => task)).toMatchObject([
    { task_id: 'T1', priority: 'high', dependencies: [] },
    { task_id: 'T2', priority: 'medium', dependencies: ['T1'] },
  ])
  expect(developers.map(({ agent }) => agent.agent_id)).toEqual(['developer-T1-1', 'developer-T2-1'])
  expect(developers[1]?.output).toMatchObject({
    task_id: 'T2',
    status: 'completed',
    changes: { files_created: ['src/extra.ts'] },
  })
  const [reviewer] = session.sub_sessions.filter(({ agent }) => agent.agent_type === 'reviewer')
  expect(reviewer?.output).toMatchObject({ verdict: 'approved', findings: [] })
  expect(session.summary).toMatchObject({
    files_created: ['src/extra.ts'],
    files_modified: ['src/slug.ts'],
    files_deleted: [],
  })
  const types = new Set(session.messages.map(({ message_type }) => message_type))
  expect([...types]).toEqual(
    expect.arrayContaining(['task_assignment', 'acknowledgment', 'task_completion', 'review_request', 'review_result']),
  )
  const phases = session.phase_annotations ?? []
  expect(phases.map(({ phase_type }) => phase_type)).toEqual(expect.arrayContaining(['plan', 'execute', 'verify']))
  const execute = phases.find(({ phase_type, tool_call_range }) => phase_type === 'execute' && tool_call_range)
  expect(execute, 'the range of a phase spans sub-sessions').toBeDefined()
})
