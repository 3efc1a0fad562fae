import { expect, test } from 'vitest'
import { createSampleRepository, createTestBuild, json, planTask, solve } from '../../../test/support/build-harness.ts'
import { agent } from '../../../test/support/test-troupe.ts'

const PLAN = {
  summary: 'One function',
  no_change_reason: null,
  tests_must_pass: false,
  tasks: [planTask('T1', ['src/slug.ts'])],
}

test('BD21 an agent whose file lists build starts one with the default depth, and the run replays offline', async () => {
  const repository = createSampleRepository()
  const build = await createTestBuild(
    repository,
    {
      lead: ({ turn, last }) =>
        turn === 1 ? { calls: [{ name: 'build', input: { request: 'write slug' } }] } : { text: `lead saw: ${last}` },
      architect: ({ instruction }) => (instruction.includes('final report') ? { text: 'slug is written' } : json(PLAN)),
      developer: solve,
      reviewer: () => json({ verdict: 'approved', summary: 'good', findings: [] }),
    },
    { agents: [agent('lead', { tools: ['build'] })], permissions: {} },
  )
  const result = await build.troupe.run('task', { agent: 'lead', instruction: 'Write slug' })
  expect(result).toMatchObject({ status: 'completed' })
  const { response } = result.output as { response: string }
  expect(response).toContain('"status":"completed"')
  const branch = /troupe\/result\/[\w.-]+/.exec(response)?.[0] ?? ''
  expect(repository.git('branch', '--format=%(refname:short)').trim().split('\n')).toEqual(['main', branch])
  expect(await build.troupe.replay(result.run_id)).toMatchObject({ same: true, differences: [] })
})
