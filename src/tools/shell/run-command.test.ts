import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createTools, wallClock } from '../tools.ts'
import { createCommandRunner } from './run-command.ts'

function openRunner() {
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'troupe command ü-')))
  const toolbox = createTools({ workspace })
  onTestFinished(() => toolbox.close())
  const runner = createCommandRunner({ sandboxIn: () => toolbox.sandbox, ...wallClock })
  return (command: string, more: { timeout_ms?: number; max_output_chars?: number } = {}) =>
    runner.run({ workspace, command, timeout_ms: 60_000, max_output_chars: 1000, ...more })
}

describe('commands that Troupe runs', () => {
  test('TO90 the exit code and the output of both streams are returned', async () => {
    const run = openRunner()
    expect(await run('echo out; echo err >&2; exit 3')).toMatchObject({
      status: 'exited',
      exit_code: 3,
      output: expect.stringMatching(/out\nerr|err\nout/),
      omitted_chars: 0,
    })
  })

  test('TO90 a command that hangs is killed with its processes', async () => {
    const run = openRunner()
    const outcome = await run('echo begun; sleep 1000 & sleep 1000', { timeout_ms: 300 })
    expect(outcome).toMatchObject({ status: 'timeout', output: 'begun\n' })
  })

  test('TO90 of a flood the end is kept', async () => {
    const run = openRunner()
    const outcome = await run('for i in $(seq 1 50000); do echo line $i; done; echo the end')
    expect(outcome.output.length).toBeLessThan(3000)
    expect(outcome.output.endsWith('line 50000\nthe end\n')).toBe(true)
    expect(outcome.omitted_chars).toBeGreaterThan(400_000)
  })

  test('TO90 there is no terminal and no input', async () => {
    const run = openRunner()
    const outcome = await run(
      'test -t 0 || echo no terminal; read answer || echo no answer; (echo x > /dev/tty) 2>/dev/null || echo no tty',
    )
    expect(outcome).toMatchObject({ exit_code: 0, output: 'no terminal\nno answer\nno tty\n' })
  })
})
