import { expect, test } from 'vitest'
import {
  createSampleRepository,
  createTestBuild,
  json,
  planTask,
  solve,
  write,
} from '../../../test/support/build-harness.ts'

const plan = (...tasks: object[]) => ({ summary: 'Write', no_change_reason: null, tests_must_pass: false, tasks })
const greet = (text: string) => `export function greet(name: string): string {\n  return ${text}\n}\n`

test('BD14 a task of a rejected plan that was never merged does not hold up the next plan', {
  timeout: 120_000,
}, async () => {
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
      developer: (call) => {
        if (call.task === 'T3') return solve(call)
        // The conflict of T2 is never resolved.
        if (call.instruction.includes('conflict markers'))
          return json({ status: 'completed', summary: 'left as it is' })
        if (call.turn === 1) return { calls: [{ name: 'Read', input: { file_path: 'src/greet.ts' } }] }
        if (call.turn === 2) return write('src/greet.ts', greet(`'${call.task}, ' + name`))
        return json({ status: 'completed', summary: 'changed greet' })
      },
      reviewer: () => json({ verdict: verdicts.shift(), summary: 'as found', findings: [] }),
    },
    { build: { checks: { test: '' }, overlapping_scopes: 'parallel' } },
  )
  const output = build.output(await build.run({}))
  expect(output).toMatchObject({ status: 'completed', iterations: 2, merge_rounds: 4 })
  // The report does not hide it.
  expect(output.tasks.map(({ task_id, status }) => [task_id, status])).toEqual([
    ['T1', 'completed'],
    ['T2', 'failed'],
    ['T3', 'completed'],
  ])
  expect(output.notes.join('\n')).toMatch(/T2 was not merged: src\/greet\.ts still conflict/)
  expect(repository.git('show', `${output.branch}:src/greet.ts`)).toBe(greet("'T1, ' + name"))
})
