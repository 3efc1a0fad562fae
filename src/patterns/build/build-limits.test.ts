import { expect, test } from 'vitest'
import type { BuildScript } from '../../../test/support/build-harness.ts'
import {
  createSampleRepository,
  createTestBuild,
  dataOf,
  json,
  planTask,
  SOLUTIONS,
  solve,
  write,
} from '../../../test/support/build-harness.ts'
import { exportMulti } from '../../../test/support/session-file-schema.ts'
import { timeLimit } from '../../../test/support/time-limit.ts'

const TASK = planTask('T1', ['src/slug.ts'])
const PLAN = { summary: 'One function', no_change_reason: null, tests_must_pass: false, tasks: [TASK] }
const reviewer = () => json({ verdict: 'approved', summary: 'good', findings: [] })
const never = () => new Promise<never>(() => {})

const architect: BuildScript[string] = ({ instruction }) => {
  if (instruction.includes('final report')) return { text: 'the report' }
  return json(instruction.includes('did not complete') ? { decision: 'abort', reason: 'no time left' } : PLAN)
}

test('BD11 when developer_timeout_ms ends a developer, its partial work is kept and reported to the architect', async () => {
  const reports: string[] = []
  const build = await createTestBuild(
    createSampleRepository(),
    {
      architect: (call) => {
        if (call.instruction.includes('did not complete')) reports.push(call.instruction)
        return architect(call)
      },
      developer: ({ turn }) => {
        if (turn === 1) return { calls: [{ name: 'Read', input: { file_path: 'src/slug.ts' } }] }
        return turn === 2 ? write('src/slug.ts', SOLUTIONS['src/slug.ts'] ?? '') : never()
      },
      reviewer,
    },
    { build: { checks: { test: '' }, developer_timeout_ms: 6000 } },
  )
  const result = await build.run({})
  expect(build.output(result)).toMatchObject({
    status: 'aborted',
    report: expect.stringMatching(
      /^the build was aborted: T1 \(partial\): .*timeout.*Nothing was kept\.\n\nthe report$/s,
    ),
    tasks: [
      {
        status: 'partial',
        output: {
          summary: 'no report; changed so far: src/slug.ts',
          changes: { files_modified: ['src/slug.ts'] },
          blockers: [expect.stringMatching(/stopped early \(timeout\)/)],
        },
      },
    ],
    decisions: [{ decision: 'abort', reason: 'no time left', decided_by: 'architect' }],
  })
  expect(reports[0]).toContain('changed so far: src/slug.ts')
  // The session file has the sub-agent as failed, with what it got done.
  const { sub_sessions } = await exportMulti(build.troupe, result.run_id)
  expect(sub_sessions.find(({ agent }) => agent.agent_type === 'developer')).toMatchObject({
    status: 'failed',
    output: { task_id: 'T1', status: 'partial', changes: { files_modified: ['src/slug.ts'] } },
  })
})

test('BD17 a check that hangs is killed, optional ones are then skipped and named, and a flood or a terminal does no harm', async () => {
  const build = await createTestBuild(
    createSampleRepository(),
    { architect, developer: solve, reviewer },
    {
      build: {
        checks: {
          test: 'yes flood | head -c 3000000; if [ -t 0 ] || read -r line; then exit 3; fi; echo "# tests 4"; echo "# pass 4"',
          custom: {
            hang: { command: 'sleep 600', required: false },
            late: { command: 'echo late', required: false },
          },
        },
        reviewer_timeout_ms: 5000,
      },
    },
  )
  const output = build.output(await build.run({}))
  expect(output).toMatchObject({ status: 'completed', approved_by: 'reviewer' })
  const [flood, hang, late] = output.checks.final
  expect(flood).toMatchObject({ name: 'test', status: 'passed', tests: { total: 4, failed: 0 } })
  expect(flood?.output).toMatch(/^\[\d+ characters omitted\]/)
  expect(flood?.output.length).toBeLessThan(7000)
  expect(hang).toMatchObject({ name: 'hang', status: 'timeout' })
  expect(late).toMatchObject({ name: 'late', status: 'skipped' })
  expect(output.notes.join('\n')).toMatch(/hang \(sleep 600\): timeout; killed after \d+ ms/)
  expect(output.notes.join('\n')).toMatch(/late \(echo late\): skipped.*`reviewer_timeout_ms` is 5000/)
})

test('BD17 a required check that hangs is killed: the work is not approved, and where it hung before, the result says so', async () => {
  const check_timeout_ms = timeLimit(1500)
  const hangsIn = async (command: string) => {
    const repository = createSampleRepository()
    const checks = { test: command }
    const build = await createTestBuild(
      repository,
      { architect, developer: solve, reviewer },
      { build: { checks, check_timeout_ms, max_iterations: 1, escalation_on_max: 'abort' } },
    )
    const output = build.output(await build.run({}))
    return { output, branches: repository.git('branch', '--format=%(refname:short)').trim().split('\n') }
  }
  const since = await hangsIn('grep -q "not written" src/slug.ts || sleep 600')
  expect(since.output).toMatchObject({
    status: 'not_approved',
    branch: null,
    review: { verdict: 'changes_requested', verification: { tests_passed: false } },
    checks: {
      baseline: [{ status: 'passed' }],
      final: [{ status: 'timeout', reason: `killed after ${check_timeout_ms} ms` }],
    },
  })
  expect(since.output.notes.join('\n')).toMatch(
    /the reviewer approved although the check test .*: timeout; killed after/,
  )
  expect(since.branches).toEqual(['main'])
  const always = await hangsIn('sleep 600')
  expect(always.output).toMatchObject({
    status: 'completed',
    checks: { baseline: [{ status: 'timeout' }], final: [{ status: 'timeout' }] },
  })
  expect(always.output.notes).toContain(
    `test (sleep 600): timeout; killed after ${check_timeout_ms} ms; it did not pass before the work either, so it shows nothing about the work`,
  )
})

test('BD26 BD40 a reviewer that exceeds reviewer_timeout_ms is asked again, which a message says, and the next round has no work for developers', async () => {
  let reviews = 0
  let developed = 0
  const build = await createTestBuild(
    createSampleRepository(),
    {
      architect,
      developer: (call) => {
        if (call.turn === 1) developed++
        return solve(call)
      },
      reviewer: () => (++reviews < 3 ? never() : reviewer()),
    },
    { build: { checks: { test: '' }, reviewer_timeout_ms: 1500 } },
  )
  const result = await build.run({})
  const output = build.output(result)
  expect(output).toMatchObject({ status: 'completed', iterations: 2 })
  expect(developed).toBe(1)
  const review = (await build.events(result.run_id))
    .map(dataOf)
    .filter(({ correlation_id, message_type }) => correlation_id === 'review-1' && message_type !== undefined)
  expect(review).toMatchObject([
    { message_type: 'review_request' },
    {
      ...{ message_type: 'status_update', sequence_number: 2, reply_to: 'review-1-1' },
      ...{ from_agent: { agent_type: 'reviewer' }, to_agent: { agent_id: 'architect' } },
      content: { state: 'asked_again', summary: expect.stringContaining('the reviewer is asked once more') },
    },
    { message_type: 'review_result' },
  ])
  expect(output.notes).toContain('the reviewer gave no verdict: it failed twice')
  // A project without tests can be built, and the result says what that means.
  expect(output.notes).toContain('no test command was found: nothing shows that the work runs')
})

test('BD10 a plan as JSON replaces the one of the architect; one with problems is asked about again', async () => {
  const build = await createTestBuild(
    createSampleRepository(),
    { architect, developer: solve, reviewer },
    { build: { checks: { test: '' } } },
  )
  const gate = async () => (await build.troupe.gates().all())[0]
  await build.run({ approve_plan: true })
  const escaping = JSON.stringify({ tasks: [planTask('T7', ['src/total.ts', '../x'])] })
  await (await build.troupe.answer((await gate())?.gate_id ?? '', escaping)).result
  const again = await gate()
  expect(again?.question).toMatch(/^Your plan cannot be used as it is: T7: scope '\.\.\/x' leaves the repository\./)
  const plan = JSON.stringify({ tasks: [planTask('T8', ['src/total.ts'])] })
  const result = await (await build.troupe.answer(again?.gate_id ?? '', plan)).result
  expect(build.output(result)).toMatchObject({ status: 'completed', changes: { files_modified: ['src/total.ts'] } })
})
