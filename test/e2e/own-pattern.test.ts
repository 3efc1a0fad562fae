import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { ChildExit } from '../chaos/child-process.ts'
import { runChild } from '../chaos/child-process.ts'
import { createCliFixture } from './cli-fixture.ts'

/* The pattern of examples/04-pattern in real processes. The command line knows it from the configuration of that folder. */

const CHILD = fileURLToPath(new URL('./own-pattern-child.ts', import.meta.url))
const CLI = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
const EXAMPLE = fileURLToPath(new URL('../../examples/04-pattern', import.meta.url))
const OFFLINE = new URL('../docs/offline-troupe.ts', import.meta.url).href

function run(folder: string, pattern: string, victim = ''): Promise<ChildExit> {
  return runChild('--import', OFFLINE, CHILD, folder, pattern, victim)
}

const paidIn = async (folder: string) => (await readFile(join(folder, 'paid'), 'utf8')).trim().split('\n')

interface ReviewOutput {
  votes: { agent: string }[]
}

test.each(['review', 'task'])(
  'X1 X3 a run with a user-written pattern (%s) that is killed with SIGKILL resumes to the same output and pays nothing twice',
  async (pattern) => {
    const whole = await createCliFixture()
    const undisturbed = JSON.parse((await run(whole.folder, pattern)).output) as { status: string; output: unknown }
    expect(undisturbed.status).toBe('completed')
    const { folder } = await createCliFixture()
    expect((await run(folder, pattern, 'lawyer')).signal).toBe('SIGKILL')
    expect((await run(folder, pattern, 'engineer')).signal).toBe('SIGKILL')
    const resumed = JSON.parse((await run(folder, pattern)).output) as typeof undisturbed
    // Session ids and usage of lost requests differ between runs; what the pattern returned does not.
    expect(resumed.status).toBe('completed')
    expect(responseOf(resumed.output)).toEqual(responseOf(undisturbed.output))
    expect(await paidIn(folder)).toEqual(await paidIn(whole.folder))
  },
  120_000,
)

function responseOf(output: unknown): unknown {
  const { response } = output as { response?: string }
  return response ?? output
}

test('PT9 `show` and `watch` show the events of a pattern that this process does not know by their fields', async () => {
  const { folder, troupe } = await createCliFixture()
  const store = ['--store', join(folder, 'store')]
  expect((await run(folder, 'review', 'engineer')).signal).toBe('SIGKILL')
  const id = await readFile(join(folder, 'run'), 'utf8')
  const interrupted = await troupe('show', id, ...store)
  expect([interrupted.code, interrupted.err]).toEqual([0, ''])
  expect(interrupted.out).toMatch(/review:vote {2}agent: editor, approve: false, reason: so says editor/)
  expect(interrupted.out).toMatch(/review:vote {2}agent: lawyer, approve: true/)
  // A process that lacks the pattern refuses to continue the run, and leaves it as it is.
  const refused = await troupe('resume', id, ...store)
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('pattern review')])
  expect((await run(folder, 'review')).code).toBe(0)
  const watched = await troupe('watch', id, '--from-start', ...store)
  expect(watched.code).toBe(0)
  expect(watched.err).toMatch(/review:vote {2}agent: engineer/)
  expect(watched.err).toMatch(/review:decided {2}approved: false, saved: 0/)
  const { votes } = JSON.parse(watched.out) as ReviewOutput
  expect(votes.map(({ agent }) => agent)).toEqual(['editor', 'lawyer', 'engineer'])
  const record = await troupe('show', id, '--json', ...store)
  expect(JSON.parse(record.out)).toMatchObject({ pattern: 'review', status: 'completed' })
})

test('CF12 in a folder whose configuration has `patterns`, the command line runs and resumes them and shows their views', async () => {
  const { folder, write } = await createCliFixture()
  const store = ['--store', join(folder, 'store')]
  const troupe = async (...args: string[]) => {
    const argv = [CLI, ...args, '--trust-project', ...store]
    const child = spawn(process.execPath, argv, { cwd: EXAMPLE, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text))
    const code = await new Promise((resolve) => child.on('close', resolve))
    return { code, output }
  }
  const help = await troupe('run', 'review', '--help')
  expect([help.code, help.output]).toEqual([0, expect.stringContaining('--needed <number>')])
  const input = { text: 'We never lose data.', reviewers: ['editor', 'lawyer', 'engineer'], needed: 1 }
  await write('input.json', input)
  const started = await troupe('run', 'review', '--input', join(folder, 'input.json'))
  expect([started.code, started.output]).toEqual([
    0,
    expect.stringMatching(/decision: approved [·-] approvals: 1 of 2/),
  ])
  const [id = ''] = /r_[0-9a-f]+/.exec(started.output) ?? []
  for (const command of ['show', 'resume']) {
    const { output } = await troupe(command, id)
    expect(output).toMatch(/decision: approved [·-] approvals: 1 of 2/)
    expect(output).not.toContain('review:vote')
  }
  const watched = await troupe('watch', id, '--from-start')
  expect(watched.output).toMatch(/editor {2}objects: Too strong a claim\./)
})
