import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'

const bench = createToolWorkspace()
afterAll(() => bench[Symbol.dispose]())

const bash = (command: string, more = {}) => bench.call('Bash', { command, ...more })

test('TO48 Bash runs in the workspace and returns what is said on both streams, and how it ended', async () => {
  const answer = await bash('pwd; echo problem >&2; echo made > file')
  expect(answer).toMatchObject({ success: true })
  expect(answer.text).toContain(`${bench.workspace}\n`)
  expect(answer.text).toContain('problem')
  expect(existsSync(join(bench.workspace, 'file'))).toBe(true)
  expect((await bash('true')).text).toBe('[no output]')
  expect(await bash('echo half; exit 3')).toMatchObject({
    success: false,
    error: 'the command failed with status 3\nhalf\n',
  })
  expect((await bash('no-such-program')).text).toContain('status 127')
  expect((await bash('echo "a" \'b\' `echo c` $((1+1)) \\$x ü')).text).toBe('a b c 2 $x ü\n')
  expect((await bash('kill -9 $$')).success).toBe(false)
})

test('TO49 long output is shown from both ends, and the whole can be read on with Read', async () => {
  const { text } = await bash('seq 1 30000')
  expect(text.length).toBeLessThan(32_000)
  expect(text.startsWith('1\n2\n')).toBe(true)
  expect(text.endsWith('30000\n')).toBe(true)
  const [, path = ''] = /Read: (\S+?)\]/.exec(text) ?? []
  const middle = await bench.call('Read', { file_path: path, offset: 15_000, limit: 1 })
  expect(middle.text).toContain(' 15000\t15000')
  expect((await bash(`cat ${path}`)).success).toBe(false)
})

test('TO50 a command ends at its time limit and when the call is given up, with all it started', async () => {
  const late = await bash('echo begun; sleep 60', { timeout: 400 })
  expect(late.success).toBe(false)
  expect(late.text).toContain('did not end within 400 ms')
  expect(late.text).toContain('begun')
  const stop = new AbortController()
  const given = bench.call('Bash', { command: 'touch started; sleep 60; touch finished' }, { signal: stop.signal })
  while (!existsSync(join(bench.workspace, 'started'))) await new Promise((resolve) => setImmediate(resolve))
  stop.abort(new Error('given up'))
  expect((await given).text).toContain('given up')
  expect(existsSync(join(bench.workspace, 'finished'))).toBe(false)
})

test('TO51 what is needed to make software works inside: git, node, pipes, many processes', async () => {
  const answer = await bash(
    'git init -q repo && cd repo && echo x > a && git add a && git commit -qm first && git log --format=%an && ' +
      "node -e \"console.log(require('child_process').execSync('echo nested').toString())\" && seq 100 | xargs -P 8 -n 1 echo | wc -l",
  )
  expect(answer.text.split(/\s+/).filter(Boolean)).toEqual(['Troupe', 'agent', 'nested', '100'])
})

test('TO52 a command with a NUL, or far too long, is refused', async () => {
  expect((await bash('echo \0')).text).toContain('NUL')
  expect((await bash('x'.repeat(200_000))).text).toContain('Too big')
})
