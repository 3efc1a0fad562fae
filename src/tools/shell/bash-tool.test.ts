import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import type { ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'

let fixture: ToolWorkspace
// Not at the top of the file, where no test could be skipped.
beforeEach(() => {
  fixture ??= createToolWorkspace()
})
afterAll(() => fixture?.[Symbol.dispose]())

const bash = (command: string, more = {}) => fixture.call('Bash', { command, ...more })

test('TO48 Bash runs in the workspace and returns stdout, stderr and the exit status', async () => {
  const result = await bash('pwd; echo problem >&2; echo made > file')
  expect(result).toMatchObject({ success: true })
  expect(result.text).toContain(`${fixture.workspace}\n`)
  expect(result.text).toContain('problem')
  expect(existsSync(join(fixture.workspace, 'file'))).toBe(true)
  expect((await bash('true')).text).toBe('[no output]')
  expect(await bash('echo half; exit 3')).toMatchObject({
    success: false,
    error: 'the command failed with status 3\nhalf\n',
  })
  expect((await bash('no-such-program')).text).toContain('status 127')
  expect((await bash('echo "a" \'b\' `echo c` $((1+1)) \\$x ü')).text).toBe('a b c 2 $x ü\n')
  expect((await bash('kill -9 $$')).success).toBe(false)
})

test('TO49 long output is truncated in the middle, and Read can open the whole', async () => {
  const { text } = await bash('seq 1 30000')
  expect(text.length).toBeLessThan(32_000)
  expect(text.startsWith('1\n2\n')).toBe(true)
  expect(text.endsWith('30000\n')).toBe(true)
  const [, path = ''] = /Read: (\S+?)\]/.exec(text) ?? []
  const middle = await fixture.call('Read', { file_path: path, offset: 15_000, limit: 1 })
  expect(middle.text).toContain(' 15000\t15000')
  expect((await bash(`cat ${path}`)).success).toBe(false)
})

test('TO50 a timeout or an abort kills the command with all its processes', async () => {
  const slow = await bash('echo begun; sleep 60', { timeout: 400 })
  expect(slow.success).toBe(false)
  expect(slow.text).toContain('exceeded its timeout of 400 ms')
  expect(slow.text).toContain('begun')
  const stop = new AbortController()
  const aborted = fixture.call('Bash', { command: 'touch started; sleep 60; touch finished' }, { signal: stop.signal })
  while (!existsSync(join(fixture.workspace, 'started'))) await new Promise((resolve) => setImmediate(resolve))
  stop.abort(new Error('aborted by the test'))
  expect((await aborted).text).toContain('aborted by the test')
  expect(existsSync(join(fixture.workspace, 'finished'))).toBe(false)
})

test('TO51 git, node, pipes and parallel processes work in the sandbox', async () => {
  const result = await bash(
    'git init -q repo && cd repo && echo x > a && git add a && git commit -qm first && git log --format=%an && ' +
      "node -e \"console.log(require('child_process').execSync('echo nested').toString())\" && seq 100 | xargs -P 8 -n 1 echo | wc -l",
  )
  expect(result.text.split(/\s+/).filter(Boolean)).toEqual(['Troupe', 'agent', 'nested', '100'])
})

test('TO52 a command with a NUL character or of excessive length is rejected', async () => {
  expect((await bash('echo \0')).text).toContain('NUL')
  expect((await bash('x'.repeat(200_000))).text).toContain('Too big')
})
