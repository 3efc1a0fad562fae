import { expect, test } from 'vitest'
import { applyBuildOptions, expandBuildCommand } from './build-command.ts'

test('BD16 troupe build is troupe run build', () => {
  expect(expandBuildCommand(['build', 'add a flag', '--repo', 'x'])).toEqual([
    'run',
    'build',
    'add a flag',
    '--repo',
    'x',
  ])
  expect(expandBuildCommand(['--store', 'build', 'runs'])).toEqual(['--store', 'build', 'runs'])
})

test('BD16 a person is asked about the plan on a terminal, unless --no-approve is given', () => {
  const request = { request: 'x' }
  expect(applyBuildOptions({}, request, true)).toEqual({ request: 'x', approve_plan: true })
  expect(applyBuildOptions({}, request, false)).toEqual(request)
  expect(applyBuildOptions({ approve: false }, request, true)).toEqual({ request: 'x', approve_plan: false })
  expect(applyBuildOptions({ approve: true }, { ...request, approve_plan: true }, false)).toMatchObject({
    approve_plan: true,
  })
})

test('BD16 --repo is the workspace', () => {
  const options = { repo: 'some/folder', workspace: undefined as unknown as string }
  applyBuildOptions(options, {}, false)
  expect(options.workspace).toBe('some/folder')
})
