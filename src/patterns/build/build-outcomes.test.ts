import { expect, test } from 'vitest'
import type { BuildScript } from '../../../test/support/build-harness.ts'
import {
  createSampleRepository,
  createTestBuild,
  dataOf,
  json,
  planTask,
  solve,
  TEST_COMMAND,
  write,
} from '../../../test/support/build-harness.ts'

const TASK = planTask('T1', ['src/slug.ts'])
const DEPENDENT = planTask('T2', ['src/total.ts'], { dependencies: ['T1'] })
const PLAN = { summary: 'One function', no_change_reason: null, tests_must_pass: false, tasks: [TASK] }
const APPROVED = { verdict: 'approved', summary: 'good', findings: [] }
const CHECKS = { checks: { test: TEST_COMMAND } }

/** The architect answers with these plans, one after the other, and decides and reports as told. */
function architectWith(
  plans: readonly object[],
  decision: object = { decision: 'abort', reason: 'no use' },
): BuildScript[string] {
  let answered = 0
  return ({ instruction, request }) => {
    if (instruction.includes('final report')) return { text: 'the report' }
    if (instruction.includes('did not complete its task')) return json(decision)
    const last = request.messages.at(-1)?.role === 'user'
    return json(plans[Math.min(last ? answered++ : answered, plans.length - 1)] ?? {})
  }
}

const reviewer = () => json(APPROVED)

function branches(repository: ReturnType<typeof createSampleRepository>): string {
  return repository.git('branch', '--format=%(refname:short)').trim()
}

test('BD8 a request that needs no change ends with its reason, and a plan without tasks is refused after one correction', async () => {
  const repository = createSampleRepository()
  const script = {
    architect: architectWith([{ tasks: [], no_change_reason: 'greet exists already' }]),
    developer: solve,
    reviewer,
  }
  const unchanged = await createTestBuild(repository, script, { build: CHECKS })
  const result = await unchanged.run({})
  expect(result.status).toBe('completed')
  expect(unchanged.output(result)).toMatchObject({
    status: 'no_change',
    branch: null,
    report: 'No change is needed: greet exists already',
  })
  const empty = await createTestBuild(
    repository,
    { ...script, architect: architectWith([{ tasks: [] }]) },
    { build: CHECKS },
  )
  const refused = await empty.run({})
  expect(refused).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('the plan has no tasks') },
  })
  const calls = (await empty.events(refused.run_id)).filter(({ type }) => type === 'model:end')
  expect(calls).toHaveLength(2)
  expect(branches(repository)).toBe('main')
})

test('BD9 a plan with a cycle or a scope that escapes is corrected once', async () => {
  const repository = createSampleRepository()
  const cycle = {
    ...PLAN,
    tasks: [
      planTask('T1', ['src/slug.ts'], { dependencies: ['T2'] }),
      planTask('T2', ['../x'], { dependencies: ['T1'] }),
    ],
  }
  const prompts: string[] = []
  const architect = architectWith([cycle, PLAN])
  const build = await createTestBuild(
    repository,
    {
      architect: (call) => {
        prompts.push(call.last)
        return architect(call)
      },
      developer: solve,
      reviewer,
    },
    { build: CHECKS },
  )
  const result = await build.run({})
  expect(build.output(result)).toMatchObject({ status: 'completed', tasks: [{ task_id: 'T1', status: 'completed' }] })
  expect(prompts[1]).toContain("T2: scope '../x' leaves the repository")
})

test('BD10 with approve_plan a person approves, declines or edits the plan', async () => {
  const repository = createSampleRepository()
  const build = await createTestBuild(
    repository,
    {
      architect: architectWith([{ ...PLAN, tasks: [planTask('T9', ['src/total.ts'])] }, PLAN]),
      developer: solve,
      reviewer,
    },
    { build: CHECKS },
  )
  const waiting = await build.run({ approve_plan: true })
  expect(waiting.status).toBe('waiting')
  const [first] = await build.troupe.gates().all()
  expect(first?.question).toContain('Approve this plan?')
  const again = await (await build.troupe.answer(first?.gate_id ?? '', 'use slug instead')).result
  expect(again.status).toBe('waiting')
  const [second] = await build.troupe.gates().all()
  const done = await (await build.troupe.answer(second?.gate_id ?? '', 'approve')).result
  expect(build.output(done)).toMatchObject({ status: 'completed', tasks: [{ task_id: 'T1' }] })
  const answers = (await build.events(waiting.run_id))
    .filter(({ type }) => type === ('build:plan_answer' as string))
    .map(dataOf)
  expect(answers).toMatchObject([{ answer: 'edited', text: 'use slug instead' }, { answer: 'approved' }])
  await build.run({ approve_plan: true })
  const [third] = await build.troupe.gates().all()
  const declined = await (await build.troupe.answer(third?.gate_id ?? '', 'no')).result
  expect(declined).toMatchObject({ status: 'failed', output: { status: 'declined', branch: null } })
})

test('BD11 BD40 a developer that fails is reported to the architect, whose decision is recorded; an abort removes everything', async () => {
  const repository = createSampleRepository()
  const developer: BuildScript[string] = ({ turn }) =>
    turn === 1
      ? write('src/slug.ts', '// begun\n')
      : json({ status: 'partial', summary: 'half', blockers: ['no idea'] })
  const build = await createTestBuild(
    repository,
    {
      architect: architectWith([{ ...PLAN, tasks: [TASK, DEPENDENT] }]),
      developer: (call) =>
        call.turn === 1
          ? { calls: [{ name: 'Read', input: { file_path: 'src/slug.ts' } }] }
          : call.turn === 2
            ? write('src/slug.ts', '// begun\n')
            : developer(call),
      reviewer,
    },
    { build: CHECKS },
  )
  const result = await build.run({})
  expect(build.output(result)).toMatchObject({
    status: 'aborted',
    tasks: [
      {
        task_id: 'T1',
        status: 'partial',
        output: { status: 'partial', changes: { files_modified: ['src/slug.ts'] }, blockers: ['no idea'] },
      },
      { task_id: 'T2', status: 'not_started' },
    ],
    decisions: [{ task_id: 'T1', attempt: 1, decision: 'abort', reason: 'no use', decided_by: 'architect' }],
  })
  const messages = (await build.events(result.run_id))
    .filter(({ type }) => type === ('build:message' as string))
    .map(dataOf)
  expect(messages.map(({ message_type }) => message_type)).toEqual([
    'task_assignment',
    'acknowledgment',
    'task_progress',
    'abort',
    'status_update',
    'abort',
  ])
  expect(messages.find(({ message_type }) => message_type === 'status_update')).toMatchObject({
    from_agent: { agent_id: 'developer-T2-1' },
    ...{ sequence_number: 1, correlation_id: 'T2-1', related_task_id: 'T2' },
    content: { state: 'not_started', depends_on: ['T1'] },
  })
  const [toDeveloper, toUser] = messages.filter(({ message_type }) => message_type === 'abort')
  expect(toDeveloper).toMatchObject({
    from_agent: { agent_id: 'architect' },
    to_agent: { agent_id: 'developer-T1-1', agent_type: 'developer' },
    ...{ sequence_number: 4, correlation_id: 'T1-1', reply_to: 'T1-1-3', related_task_id: 'T1' },
    content: { decision: 'abort', reason: 'no use', decided_by: 'architect' },
  })
  expect(toUser).toMatchObject({
    from_agent: { agent_id: 'architect' },
    to_agent: { agent_type: 'user' },
    ...{ sequence_number: 1, correlation_id: 'build' },
    content: { report: build.output(result).report },
  })
  expect(branches(repository)).toBe('main')
})

test('BD12 a task that is reassigned goes on from the partial work, with the earlier attempt in its input', async () => {
  const repository = createSampleRepository()
  const prompts: string[] = []
  const build = await createTestBuild(
    repository,
    {
      architect: architectWith([PLAN], {
        decision: 'reassign',
        agent: 'implementer',
        instruction: 'use replaceAll',
        reason: 'another view',
      }),
      developer: ({ turn }) =>
        turn === 1
          ? { calls: [{ name: 'Bash', input: { command: 'echo "// begun" >> src/slug.ts' } }] }
          : json({ status: 'partial', summary: 'half' }),
      implementer: (call) => {
        prompts.push(call.instruction)
        return call.turn === 1 ? { calls: [{ name: 'Read', input: { file_path: 'src/slug.ts' } }] } : solve(call)
      },
      reviewer,
    },
    { build: CHECKS },
  )
  const result = await build.run({})
  expect(build.output(result)).toMatchObject({ status: 'completed', tasks: [{ agent: 'implementer', attempts: 2 }] })
  expect(prompts[0]).toContain('"status":"partial","summary":"half"')
  expect(prompts[0]).toContain('use replaceAll')
})

test('BD13 after max_iterations: human_review asks, force_approve completes and says so', async () => {
  const repository = createSampleRepository()
  const finding = { severity: 'major', category: 'style', file: 'src/slug.ts', description: 'ugly' }
  const script = {
    architect: architectWith([PLAN]),
    developer: solve,
    reviewer: () => json({ verdict: 'changes_requested', summary: 'ugly', findings: [finding] }),
  }
  const build = await createTestBuild(repository, script, { build: { ...CHECKS, max_iterations: 1 } })
  const waiting = await build.run({})
  expect(waiting.status).toBe('waiting')
  const [gate] = await build.troupe.gates().all()
  expect(gate?.question).toContain('has not approved the work after 1 round.')
  const accepted = await (await build.troupe.answer(gate?.gate_id ?? '', 'approve')).result
  expect(accepted).toMatchObject({ status: 'completed', output: { status: 'completed', approved_by: 'person' } })
  const forced = await build.run({ escalation_on_max: 'force_approve' })
  expect(build.output(forced)).toMatchObject({
    status: 'completed',
    approved_by: 'force_approve',
    review: { verdict: 'changes_requested' },
  })
})

test('BD14 rejected work goes back to planning', async () => {
  const repository = createSampleRepository()
  let reviews = 0
  const second = { ...PLAN, tasks: [planTask('T2', ['src/total.ts'])] }
  const build = await createTestBuild(
    repository,
    {
      architect: architectWith([PLAN, second]),
      developer: solve,
      reviewer: () =>
        json(++reviews === 1 ? { verdict: 'rejected', summary: 'the wrong function', findings: [] } : APPROVED),
    },
    { build: CHECKS },
  )
  const result = await build.run({})
  expect(build.output(result)).toMatchObject({
    status: 'completed',
    iterations: 2,
    plan: { tasks: [{ task_id: 'T2' }] },
  })
})

test('BD15 a folder without a repository or without commits is refused before anything is paid', async () => {
  const repository = createSampleRepository()
  repository.git('update-ref', '-d', 'HEAD')
  const build = await createTestBuild(
    repository,
    { architect: architectWith([PLAN]), developer: solve, reviewer },
    { build: CHECKS },
  )
  const result = await build.run({})
  expect(result).toMatchObject({
    status: 'failed',
    error: { code: 'invalid_input', hint: expect.stringMatching(/commit/) },
  })
  expect((await build.events(result.run_id)).some(({ type }) => type === 'model:begin')).toBe(false)
})
