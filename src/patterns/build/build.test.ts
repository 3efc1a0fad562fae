import { expect, test } from 'vitest'
import type { BuildScript, ScriptedCall } from '../../../test/support/build-harness.ts'
import {
  createSampleRepository,
  createTestBuild,
  dataOf,
  json,
  planTask,
  SOLUTIONS,
  solve,
  TEST_COMMAND,
  write,
} from '../../../test/support/build-harness.ts'

const PLAN = {
  summary: 'Three functions in three files',
  no_change_reason: null,
  tests_must_pass: true,
  tasks: [planTask('T1', ['src/slug.ts']), planTask('T2', ['src/total.ts']), planTask('T3', ['src/initials.ts'])],
}

const APPROVED = { verdict: 'approved', summary: 'good', findings: [] }

/** The architect plans, and reports at the end. */
const architect: BuildScript[string] = ({ instruction }) =>
  instruction.includes('final report') ? { text: 'All functions are written.' } : json(PLAN)

test('BD1 BD2 developers in parallel, one review round that asks for changes, and a branch on which the tests pass', async () => {
  const repository = createSampleRepository()
  const before = repository.fingerprint()
  let arrived = 0
  let open: () => void = () => {}
  const bothArrived = new Promise<void>((resolve) => {
    open = resolve
  })
  let reviews = 0
  const build = await createTestBuild(
    repository,
    {
      architect,
      developer: async (call) => {
        // Each of the first two waits for the other: without parallel work this would never end.
        if (call.turn === 1 && ++arrived === 2) open()
        if (call.turn === 1 && arrived <= 2) await bothArrived
        const isFirst = !call.instruction.includes('<required_changes>')
        if (call.task === 'T1' && isFirst && call.turn === 2)
          return write('src/slug.ts', SOLUTIONS['src/slug.ts']?.replace(".replaceAll(' ', '-')", '') ?? '')
        return solve(call)
      },
      reviewer: () => {
        if (++reviews > 1) return json(APPROVED)
        const finding = {
          severity: 'major',
          category: 'bug',
          file: 'src/slug.ts',
          line: 2,
          description: 'keeps spaces',
        }
        return json({ verdict: 'changes_requested', summary: 'slug keeps spaces', findings: [finding] })
      },
    },
    // `npm test` is found in package.json.
    { build: { checks: {} } },
  )
  const result = await build.run({})
  const output = build.output(result)
  expect(result.status).toBe('completed')
  expect(output).toMatchObject({
    status: 'completed',
    iterations: 2,
    approved_by: 'reviewer',
    report: 'All functions are written.',
  })
  expect(output.checks.baseline[0]).toMatchObject({
    command: 'npm run test',
    status: 'failed',
    tests: { total: 4, failed: 3 },
  })
  expect(output.checks.final[0]).toMatchObject({ status: 'passed', tests: { total: 4, failed: 0 } })
  expect(output.changes).toEqual({
    files_created: [],
    files_modified: ['src/initials.ts', 'src/slug.ts', 'src/total.ts'],
    files_deleted: [],
  })
  // The failing check went to the developer whose work the review names, and to no other.
  const events = await build.events(result.run_id)
  const starts = events.filter(({ type }) => type === ('build:task_start' as string)).map(dataOf)
  expect(starts.map(({ task_id, iteration }) => `${task_id} ${iteration}`).sort()).toEqual([
    'T1 1',
    'T1 2',
    'T2 1',
    'T3 1',
  ])
  // The checkout, its index and its branch are as they were; the result is on a branch of its own, and nothing else is left.
  expect(repository.fingerprint()).toBe(before)
  expect(repository.git('branch', '--format=%(refname:short)').trim().split('\n')).toEqual(['main', output.branch])
  expect(repository.git('worktree', 'list').trim().split('\n')).toHaveLength(1)
  repository.git('checkout', '-q', output.branch ?? '')
  expect(repository.git('show', 'HEAD:src/slug.ts')).toBe(SOLUTIONS['src/slug.ts'])
})

test('BD3 BD39 BD40 the phases, the plan and the messages of a build are events, with sequence, correlation and reply links; the reviewer is told its focus areas and checks', async () => {
  const repository = createSampleRepository()
  const prompts: string[] = []
  const reviewer: BuildScript[string] = ({ instruction }) => {
    prompts.push(instruction)
    return json({ ...APPROVED, verification: { custom_checks: { sizes: true } } })
  }
  const checks = { test: TEST_COMMAND, custom: { sizes: 'test -s src/slug.ts' } }
  const build = await createTestBuild(repository, { architect, developer: solve, reviewer }, { build: { checks } })
  const result = await build.run({ focus_areas: ['security', 'logic'] })
  const { run_id } = result
  const events = await build.events(run_id)
  const phases = events.filter(({ type }) => type === ('build:phase' as string)).map((event) => dataOf(event).phase)
  expect(phases).toEqual(['receive', 'analyse', 'plan', 'delegate', 'collect', 'review', 'complete'])
  const messages = events.filter(({ type }) => type === ('build:message' as string)).map(dataOf)
  const task = messages.filter(({ correlation_id }) => correlation_id === 'T1-1')
  expect(task.map(({ message_type, sequence_number, reply_to }) => [message_type, sequence_number, reply_to])).toEqual([
    ['task_assignment', 1, undefined],
    ['acknowledgment', 2, 'T1-1-1'],
    ['task_completion', 3, 'T1-1-1'],
    ['status_update', 4, 'T1-1-1'],
  ])
  const [merge] = events.filter(({ type }) => type === ('build:merge' as string)).map(dataOf)
  expect(task[3]).toMatchObject({
    from_agent: { agent_id: 'developer-T1-1', agent_type: 'developer' },
    to_agent: { agent_id: 'architect' },
    related_task_id: 'T1',
    content: { state: 'merged', head: merge?.head },
  })
  expect(task[0]).toMatchObject({
    from_agent: { agent_id: 'architect', agent_type: 'architect' },
    to_agent: { agent_id: 'developer-T1-1', agent_type: 'developer', instance_id: 'T1-1' },
    related_task_id: 'T1',
    content: { task_id: 'T1', constraints: { scope: ['src/slug.ts'] }, previous_attempts: [], required_changes: [] },
  })
  const review = messages.filter(({ correlation_id }) => correlation_id === 'review-1')
  expect(review.map(({ message_type }) => message_type)).toEqual(['review_request', 'review_result'])
  expect(review[0]?.content).toMatchObject({
    review_scope: { focus_areas: ['security', 'logic'] },
    criteria: { must_pass_tests: true, custom_checks: ['sizes'] },
  })
  expect(prompts).toEqual([expect.stringContaining('Look at these most of all: security, logic.')])
  expect(build.output(result).review?.verification).toMatchObject({ custom_checks: { sizes: true } })
  // An area that does not exist is refused before anything is asked.
  await expect(build.run({ focus_areas: ['speed'] })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('focus_areas'),
  })
  expect(prompts).toHaveLength(1)
})

test('BD4 a reviewer that claims passing tests is overruled by the run', async () => {
  const repository = createSampleRepository()
  const build = await createTestBuild(
    repository,
    {
      architect,
      developer: (call) =>
        call.turn === 2 && call.task === 'T1' ? write('src/slug.ts', 'export const slug = () => 1\n') : solve(call),
      reviewer: () => json({ ...APPROVED, verification: { tests_passed: true, type_check_passed: true } }),
    },
    { build: { checks: { test: TEST_COMMAND }, max_iterations: 1, escalation_on_max: 'abort' } },
  )
  const result = await build.run({})
  const output = build.output(result)
  expect(result.status).toBe('failed')
  expect(output).toMatchObject({
    status: 'not_approved',
    branch: null,
    review: { verdict: 'changes_requested', verification: { tests_passed: false, type_check_passed: false } },
  })
  expect(output.notes.join('\n')).toMatch(/the reviewer claimed tests_passed, which no run has shown/)
  expect(output.notes.join('\n')).toMatch(/the reviewer approved although the check test/)
  // Nothing is left of work that was not approved.
  expect(repository.git('branch', '--format=%(refname:short)').trim()).toBe('main')
})

test('BD5 a developer that writes outside its scope is stopped by its tools, and what a command writes there is undone and reported', async () => {
  const repository = createSampleRepository()
  const results: string[] = []
  const build = await createTestBuild(repository, {
    architect: (call) =>
      call.instruction.includes('final report')
        ? { text: 'done' }
        : json({ ...PLAN, tests_must_pass: false, tasks: [PLAN.tasks[0]] }),
    developer: (call) => {
      const isFirst = !call.instruction.includes('<required_changes>')
      if (!isFirst) return solve(call)
      results.push(call.last)
      if (call.turn === 1) return write('src/greet.ts', 'export const greet = 1\n')
      if (call.turn === 2)
        return {
          calls: [
            {
              name: 'Bash',
              input: { command: 'echo bad > src/greet.ts; echo new > notes.txt; rm test/total.test.ts' },
            },
          ],
        }
      if (call.turn === 3) return { calls: [{ name: 'Read', input: { file_path: 'src/slug.ts' } }] }
      if (call.turn === 4) return write('src/slug.ts', SOLUTIONS['src/slug.ts'] ?? '')
      return json({ status: 'completed', summary: 'all done' })
    },
    reviewer: () => json(APPROVED),
  })
  const result = await build.run({})
  const output = build.output(result)
  expect(results[1]).toMatch(/only Write\(src\/slug\.ts\)/)
  const violations = (await build.events(result.run_id))
    .filter(({ type }) => type === ('build:scope_violation' as string))
    .map(dataOf)
  expect(violations).toMatchObject([
    { task_id: 'T1', files: ['notes.txt', 'src/greet.ts', 'test/total.test.ts'], scope: ['src/slug.ts'] },
  ])
  expect(output).toMatchObject({
    status: 'completed',
    changes: { files_created: [], files_modified: ['src/slug.ts'], files_deleted: [] },
  })
  expect(output.tasks[0]?.attempts).toBe(2)
  expect(output.notes.join('\n')).toMatch(/developer \(T1\) changed files outside its scope/)
})

test('BD6 two developers who change the same line end in a merge round with both sides', async () => {
  const repository = createSampleRepository()
  const tasks = [planTask('T1', ['src/greet.ts']), planTask('T2', ['src/greet.ts'])]
  const prompts: string[] = []
  const greet = (text: string) => `export function greet(name: string): string {\n  return ${text}\n}\n`
  const build = await createTestBuild(
    repository,
    {
      architect: (call) =>
        call.instruction.includes('final report') ? { text: 'done' } : json({ ...PLAN, tests_must_pass: false, tasks }),
      developer: (call) => {
        const isMerge = call.instruction.includes('conflict markers')
        if (isMerge) prompts.push(call.instruction)
        if (call.task === 'T1') repository.beginBranch('T1-1', 'T2-1')
        if (call.turn === 1) return { calls: [{ name: 'Read', input: { file_path: 'src/greet.ts' } }] }
        const text = isMerge
          ? "'Hello, ' + name + '!' + '' + ''"
          : `'Hello, ' + name + '!' + ''${call.task === 'T1' ? '' : '.trim()'}`
        if (call.turn === 2) return write('src/greet.ts', greet(text))
        return json({ status: 'completed', summary: 'changed greet' })
      },
      reviewer: () => json(APPROVED),
    },
    { build: { checks: { test: TEST_COMMAND } } },
  )
  const result = await build.run({})
  const output = build.output(result)
  expect(output).toMatchObject({ status: 'completed', merge_rounds: 1 })
  expect(prompts[0]).toContain('.trim()')
  expect(prompts[0]).toMatch(/"yours":.*trim.*"merged_by_others":/)
  expect(repository.git('show', `${output.branch}:src/greet.ts`)).toBe(greet("'Hello, ' + name + '!' + '' + ''"))
})

test('BD7 a developer that deletes or weakens tests is caught by the comparison with the baseline', async () => {
  const repository = createSampleRepository()
  const tasks = [planTask('T1', ['src/slug.ts', 'test/**'])]
  const cheat = ({ turn }: ScriptedCall) => {
    if (turn === 1)
      return {
        calls: [
          {
            name: 'Bash',
            input: {
              command:
                "rm test/slug.test.ts; sed -i \"s/test('total'/test.skip('total'/; /assert.equal/d\" test/total.test.ts; rm test/initials.test.ts",
            },
          },
        ],
      }
    return json({ status: 'completed', summary: 'all tests pass now' })
  }
  const build = await createTestBuild(
    repository,
    {
      architect: (call) => (call.instruction.includes('final report') ? { text: 'done' } : json({ ...PLAN, tasks })),
      developer: cheat,
      reviewer: () => json(APPROVED),
    },
    { build: { checks: { test: TEST_COMMAND }, max_iterations: 1, escalation_on_max: 'abort' } },
  )
  const result = await build.run({})
  const output = build.output(result)
  expect(output.checks.final[0]?.status).toBe('passed')
  expect(output).toMatchObject({ status: 'not_approved', review: { verdict: 'changes_requested' } })
  const findings = output.review?.findings.map(({ description }) => description).join('\n') ?? ''
  expect(findings).toContain('deleted test files: test/initials.test.ts, test/slug.test.ts')
  expect(findings).toContain('test ran 2 tests, 4 before')
  expect(findings).toContain('test skipped 1 tests, 0 before')
  expect(findings).toContain('test/total.test.ts lost 1 assertion')
  expect(findings).toContain('test/total.test.ts switches off 1 test')
})
