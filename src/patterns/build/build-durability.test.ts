import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { BuildScript, SampleRepository } from '../../../test/support/build-harness.ts'
import { createSampleRepository, createTestBuild, json, planTask, solve } from '../../../test/support/build-harness.ts'
import { agent } from '../../../test/support/test-troupe.ts'
import { TroupeError } from '../../errors.ts'

const APPROVED = json({ verdict: 'approved', summary: 'good', findings: [] })

/** One task, for the function that the request names. */
const architect: BuildScript[string] = ({ instruction }) => {
  if (instruction.includes('final report')) return { text: 'It is written.' }
  const file = instruction.includes('write total') ? 'src/total.ts' : 'src/slug.ts'
  return json({ summary: 'One function', no_change_reason: null, tasks: [planTask('T1', [file])] })
}

function branchesOf({ git }: SampleRepository): string[] {
  return git('branch', '--format=%(refname:short)').trim().split('\n')
}

function expectNothingLeft(repository: SampleRepository, ...results: (string | null)[]): void {
  expect(branchesOf(repository)).toEqual(['main', ...results].sort())
  expect(repository.git('worktree', 'list').trim().split('\n')).toHaveLength(1)
  expect(readdirSync(join(process.env.XDG_STATE_HOME ?? '', 'troupe/worktrees'))).toEqual([])
}

test('BD32 a cancelled build removes its worktrees and branches, also if nobody was executing it', async () => {
  const repository = createSampleRepository()
  const before = repository.fingerprint()
  const atWork = Promise.withResolvers<void>()
  const build = await createTestBuild(repository, {
    architect,
    developer: (call) => {
      if (call.turn < 3) return solve(call)
      atWork.resolve()
      return new Promise(() => {})
    },
    reviewer: () => APPROVED,
  })
  const working = await build.troupe.stream('build' as string, { request: 'write slug' })
  await atWork.promise
  expect(branchesOf(repository)).toHaveLength(3)
  expect(await working.cancel('enough')).toMatchObject({ status: 'cancelled' })
  expectNothingLeft(repository)
  expect(await build.troupe.replay(working.run_id)).toMatchObject({ same: true, differences: [] })
  const waiting = await build.run({ request: 'write slug', approve_plan: true })
  expect(waiting.status).toBe('waiting')
  expect(branchesOf(repository)).toHaveLength(2)
  expect(await build.troupe.cancel(waiting.run_id)).toMatchObject({ status: 'cancelled' })
  expectNothingLeft(repository)
  expect(repository.fingerprint()).toBe(before)
})

test('BD33 two builds at once in one repository complete, each with its own branch', async () => {
  const repository = createSampleRepository()
  const build = await createTestBuild(repository, { architect, developer: solve, reviewer: () => APPROVED })
  const requests = ['write slug', 'write total']
  const results = await Promise.all(requests.map((request) => build.run({ request })))
  const outputs = results.map((result) => build.output(result))
  expect(outputs.map(({ status, changes }) => [status, changes.files_modified])).toEqual([
    ['completed', ['src/slug.ts']],
    ['completed', ['src/total.ts']],
  ])
  expectNothingLeft(repository, ...outputs.map(({ branch }) => branch))
})

test('BD33 two builds of one run, as tool calls of one turn, do not remove the worktrees of each other', async () => {
  const repository = createSampleRepository()
  const call = (request: string) => ({ name: 'build', input: { request } })
  const build = await createTestBuild(
    repository,
    {
      lead: ({ turn, last }) =>
        turn === 1 ? { calls: [call('write slug'), call('write total')] } : { text: `lead saw: ${last}` },
      architect,
      developer: solve,
      reviewer: () => APPROVED,
    },
    { agents: [agent('lead', { tools: ['build'] })], permissions: {} },
  )
  const result = await build.troupe.run('task', { agent: 'lead', instruction: 'Write slug and total' })
  const { response } = result.output as { response: string }
  expect(response.match(/"status":"completed","report"/g)).toHaveLength(2)
  const branches = new Set(response.match(/troupe\/result\/[\w.-]+/g))
  expect(branches.size).toBe(2)
  expectNothingLeft(repository, ...branches)
})

test('BD34 after a planning session that failed, the run can be resumed and completes', async () => {
  const repository = createSampleRepository()
  let isDown = true
  const build = await createTestBuild(repository, {
    architect: (call) => {
      if (isDown) throw new TroupeError('model_auth', 'the key was rejected', { hint: 'set another key' })
      return architect(call)
    },
    developer: solve,
    reviewer: () => APPROVED,
  })
  const failed = await build.run({ request: 'write slug' })
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'model_auth', hint: 'set another key' } })
  isDown = false
  const resumed = await (await build.troupe.resume(failed.run_id)).result
  expect(resumed).toMatchObject({ status: 'completed', output: { status: 'completed' } })
  expectNothingLeft(repository, build.output(resumed).branch)
  const plans = (await build.events(failed.run_id)).filter(({ type }) => type === ('build:plan' as string))
  expect(plans.map(({ data }) => (data as unknown as { plan: { tasks: object[] } }).plan.tasks.length)).toEqual([1])
})

test('BD38 an outage during the work or the review ends no task: the run fails, and resume completes it', async () => {
  const repository = createSampleRepository()
  const down = new Set(['developer', 'reviewer', 'architect 2'])
  let architectRequests = 0
  let developed = 0
  const check = (name: string) => {
    if (down.has(name)) throw new TroupeError('model_auth', 'the key was rejected', { hint: 'set another key' })
  }
  const build = await createTestBuild(repository, {
    architect: (call) => {
      architectRequests += 1
      check(`architect ${architectRequests}`)
      return architect(call)
    },
    developer: (call) => {
      check('developer')
      if (call.turn === 1) developed += 1
      return solve(call)
    },
    reviewer: () => {
      check('reviewer')
      return APPROVED
    },
  })
  let result = await build.run({ request: 'write slug' })
  for (const name of ['developer', 'reviewer']) {
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_auth' } })
    down.delete(name)
    down.delete('architect 2')
    result = await (await build.troupe.resume(result.run_id)).result
  }
  expect(result).toMatchObject({ status: 'completed', output: { status: 'completed' } })
  expect(developed).toBe(1)
  expectNothingLeft(repository, build.output(result).branch)
})
