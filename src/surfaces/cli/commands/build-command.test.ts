import { expect, test } from 'vitest'
import { runCommand } from '../../../../test/support/command-run.ts'
import { applyBuildOptions } from './build-command.ts'

test('BD16 troupe build is troupe run build', async () => {
  const [short, long, ofStore] = await Promise.all([
    runCommand(['--store', 'x', 'build', '--help']),
    runCommand(['run', 'build', '--help']),
    runCommand(['--store', 'build', 'runs']),
  ])
  expect(short).toMatchObject({ code: 0, out: expect.arrayContaining([expect.stringMatching(/--style-guide/)]) })
  expect(short).toEqual(long)
  expect(ofStore).toMatchObject({ code: 0, err: [expect.stringMatching(/no runs in build/)] })
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
