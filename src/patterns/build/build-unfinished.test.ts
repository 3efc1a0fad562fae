import { expect, test } from 'vitest'
import type { BuildScript, SampleRepository } from '../../../test/support/build-harness.ts'
import {
  createSampleRepository,
  createTestBuild,
  dataOf,
  json,
  planTask,
  solve,
  write,
} from '../../../test/support/build-harness.ts'

const plan = (...tasks: object[]) => ({ summary: 'Write', no_change_reason: null, tests_must_pass: false, tasks })
const greet = (text: string) => `export function greet(name: string): string {\n  return ${text}\n}\n`

/** Two developers change one line, each in its own way; the conflict of the second is never resolved. */
const leaveConflict =
  (repository: SampleRepository): BuildScript[string] =>
  (call) => {
    if (call.task === 'T1') repository.beginBranch('T1-1', 'T2-1')
    if (call.instruction.includes('conflict markers')) return json({ status: 'completed', summary: 'left as it is' })
    if (call.turn === 1) return { calls: [{ name: 'Read', input: { file_path: 'src/greet.ts' } }] }
    if (call.turn === 2) return write('src/greet.ts', greet(`'${call.task}, ' + name`))
    return json({ status: 'completed', summary: 'changed greet' })
  }
const SETTINGS = { build: { checks: { test: '' } } }

test('BD41 an approval does not complete a build with an unfinished task: the next round works on it', async () => {
  const repository = createSampleRepository()
  const architect: BuildScript[string] = ({ instruction }) =>
    instruction.includes('final report')
      ? { text: 'Both are done.' }
      : json(plan(planTask('T1', ['src/greet.ts']), planTask('T2', ['src/greet.ts'])))
  const reviewer = () => json({ verdict: 'approved', summary: 'good', findings: [] })
  const build = await createTestBuild(
    repository,
    { architect, developer: leaveConflict(repository), reviewer },
    SETTINGS,
  )
  const output = build.output(await build.run({}))
  expect(output).toMatchObject({ status: 'completed', iterations: 2, approved_by: 'reviewer' })
  expect(output.tasks).toMatchObject([
    { task_id: 'T1', status: 'completed' },
    { task_id: 'T2', status: 'completed' },
  ])
  expect(repository.git('show', `${output.branch}:src/greet.ts`)).toBe(greet("'T2, ' + name"))
})

test('BD14 BD40 a task of a rejected plan that was never merged is reported and does not hold up the next plan', async () => {
  const plans = [
    plan(planTask('T1', ['src/greet.ts']), planTask('T2', ['src/greet.ts'])),
    plan(planTask('T3', ['src/total.ts'])),
  ]
  const verdicts = ['rejected', 'approved']
  const repository = createSampleRepository()
  const build = await createTestBuild(
    repository,
    {
      architect: ({ instruction, request }) => {
        if (instruction.includes('final report')) return { text: 'Only the second plan was carried out.' }
        return json(plans[request.messages.some(({ role }) => role === 'assistant') ? 1 : 0])
      },
      developer: (call) => (call.task === 'T3' ? solve(call) : leaveConflict(repository)(call)),
      reviewer: () => json({ verdict: verdicts.shift(), summary: 'as found', findings: [] }),
    },
    SETTINGS,
  )
  const result = await build.run({})
  const output = build.output(result)
  expect(output).toMatchObject({ status: 'completed', iterations: 2, merge_rounds: 4 })
  // The report does not hide it.
  expect(output.tasks.map(({ task_id, status }) => [task_id, status])).toEqual([
    ['T1', 'completed'],
    ['T2', 'failed'],
    ['T3', 'completed'],
  ])
  expect(output.notes.join('\n')).toMatch(/T2 was not merged: src\/greet\.ts still conflicts after/)
  const statuses = (await build.events(result.run_id))
    .map(dataOf)
    .filter(({ message_type }) => message_type === 'status_update')
  expect(statuses).toMatchObject([
    { related_task_id: 'T1', content: { state: 'merged' } },
    { related_task_id: 'T2', content: { state: 'not_merged', files: ['src/greet.ts'] } },
    { related_task_id: 'T3', content: { state: 'merged' } },
  ])
  expect(repository.git('show', `${output.branch}:src/greet.ts`)).toBe(greet("'T1, ' + name"))
})
