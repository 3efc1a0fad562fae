import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { verifyJournal } from '../../src/audit/verify-journal.ts'
import type { Event, RunResult } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { requireSandbox } from '../support/require-program.ts'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'

/* A program starts a run, the command line or another program answers it, and the program carries it on: real processes, one store. */

// Each test starts up to ten processes.
vi.setConfig({ testTimeout: 120_000 })

const PROGRAM = fileURLToPath(new URL('./needs-child.ts', import.meta.url))
const INVOICE = { agent: 'default', instruction: 'pay the invoice' }
const SECRET = { agent: 'default', instruction: 'read the secret' }

interface Fixture extends CliFixture {
  program(env: Record<string, string>, ...argv: string[]): Promise<{ signal: string | null; result: ProgramResult }>
  payments(): number
}

type ProgramResult = RunResult & { error: { code: string; message: string; hint: string } | null }

async function createFixture(): Promise<Fixture> {
  const cli = await createCliFixture()
  await cli.script('script.json', [
    { when: { turn: 1, says: 'invoice' }, reply: { toolCalls: [{ name: 'pay', input: { amount: 5 } }] } },
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'ask_user', input: { question: 'Go on?' } }] } },
    {
      when: { turn: 2, tool: 'ask_user' },
      reply: { toolCalls: [{ name: 'Read', input: { file_path: 'secret.txt' } }] },
    },
    { when: { says: 'xyzzy' }, reply: { text: 'LEAKED' } },
    { reply: { text: 'Done.' } },
  ])
  writeFileSync(join(cli.folder, 'secret.txt'), 'xyzzy\n')
  const payments = join(cli.folder, 'payments.jsonl')
  return {
    ...cli,
    payments: () => (existsSync(payments) ? readFileSync(payments, 'utf8').trim().split('\n').length : 0),
    program: (env, ...argv) =>
      new Promise((resolve) => {
        const options = { cwd: cli.folder, env: { ...process.env, ...env } }
        execFile(process.execPath, [PROGRAM, ...argv], options, (error, out) => {
          const result = (out === '' ? null : JSON.parse(out)) as ProgramResult
          resolve({ signal: error?.signal ?? null, result })
        })
      }),
  }
}

async function startWaiting({ program }: Fixture, pattern: string, input: unknown) {
  const { result } = await program({}, 'start', pattern, JSON.stringify(input))
  expect(result.status).toBe('waiting')
  return { run_id: result.run_id, gate_id: result.gates[0]?.gate_id ?? '' }
}

async function readEvents({ folder }: Fixture, run_id: string): Promise<Event[]> {
  await using troupe = await createTroupe({ store: join(folder, '.troupe') })
  return troupe.events(run_id).all()
}

test.each([
  ['task', INVOICE],
  ['approval', { instruction: 'pay the invoice' }],
])(
  'ND3 ND8 an approval on the command line is stored, and the program that started %s pays once',
  async (name, input) => {
    // Without a sandbox the command line lacks Bash, too.
    requireSandbox()
    const fixture = await createFixture()
    const { run_id, gate_id } = await startWaiting(fixture, name, input)
    const inbox = await fixture.troupe('inbox')
    expect(inbox.out.replaceAll(/\s+/g, ' ')).toContain('the run cannot be continued here: this process lacks tool pay')
    const answered = await fixture.troupe('answer', gate_id, 'allow')
    expect(answered).toMatchObject({ code: 3, out: '' })
    const said = answered.err.replaceAll(/\s+/g, ' ')
    expect(said).toContain(
      `stored, but this process lacks what run ${run_id} needs: tool pay; hook beforeTool:protect; pattern approval`,
    )
    expect(said).toContain(`needs-child.ts in ${fixture.folder} on `)
    expect(fixture.payments()).toBe(0)
    expect((await fixture.troupe('inbox')).out).toContain('answered by user')
    expect((await fixture.troupe('answer', gate_id, 'deny')).err).toContain('already answered')
    const { result } = await fixture.program({}, 'claim')
    expect(result).toMatchObject({ run_id, status: 'completed' })
    expect((await fixture.program({}, 'claim')).result).toBeNull()
    expect(fixture.payments()).toBe(1)
    expect(verifyJournal(await readEvents(fixture, run_id))).toEqual([])
  },
)

test('ND2 ND3 a hook that denies stays in force: neither a program without it nor the command line goes on', async () => {
  const fixture = await createFixture()
  const { run_id, gate_id } = await startWaiting(fixture, 'task', SECRET)
  const { result: left } = await fixture.program({ LACKS: 'hook' }, 'answer', gate_id, 'yes')
  expect(left).toMatchObject({ status: 'waiting', not_continued: { code: 'needs_missing' } })
  expect(left.not_continued?.message).toContain('hook beforeTool:protect')
  const before = await readEvents(fixture, run_id)
  expect((await fixture.program({ LACKS: 'hook' }, 'claim')).result).toBeNull()
  expect((await fixture.program({ LACKS: 'hook' }, 'resume', run_id)).result.error).toMatchObject({
    code: 'needs_missing',
  })
  const refused = await fixture.troupe('resume', run_id, '--json')
  expect([refused.code, JSON.parse(refused.out)]).toMatchObject([2, { error: { code: 'needs_missing' } }])
  expect(await readEvents(fixture, run_id)).toEqual(before)
  const { result } = await fixture.program({}, 'resume', run_id)
  expect(result).toMatchObject({ status: 'completed', output: { response: 'Done.' } })
  const events = await readEvents(fixture, run_id)
  expect(JSON.stringify(events)).toContain('secret.txt is protected')
  expect(JSON.stringify(events)).not.toContain('xyzzy')
})

test('L54 a process that cannot continue a run does not say how to resume it there', async () => {
  const fixture = await createFixture()
  const { run_id, gate_id } = await startWaiting(fixture, 'task', INVOICE)
  expect((await fixture.troupe('answer', gate_id, 'allow')).code).toBe(3)
  for (const command of [['inbox'], ['show', run_id]]) {
    const { out } = await fixture.troupe(...command)
    expect.soft(out, command[0]).toContain('answered by user')
    expect.soft(out.replaceAll(/\s+/g, ' '), command[0]).toContain('cannot be continued here')
    expect.soft(out, command[0]).not.toContain('troupe resume')
  }
})

test.each(['before payment', 'after payment'])(
  'ND3 a program killed %s is taken over by the same program only, which pays once',
  async (KILL) => {
    const fixture = await createFixture()
    const { run_id, gate_id } = await startWaiting(fixture, 'task', INVOICE)
    expect((await fixture.troupe('answer', gate_id, 'allow')).code).toBe(3)
    expect((await fixture.program({ KILL }, 'claim')).signal).toBe('SIGKILL')
    expect((await fixture.troupe('resume', run_id)).code).toBe(2)
    expect((await fixture.program({ LACKS: 'tool' }, 'claim')).result).toBeNull()
    const shown = await fixture.troupe('show', run_id)
    expect(shown.out.replaceAll(/\s+/g, ' ')).toContain('cannot be continued here: this process lacks tool pay')
    expect((await fixture.program({}, 'claim')).result).toMatchObject({ run_id, status: 'completed' })
    expect(fixture.payments()).toBe(1)
  },
)

test('ND7 a fork and a replay in a process that lacks parts are refused, and write nothing', async () => {
  const fixture = await createFixture()
  const { run_id } = await startWaiting(fixture, 'approval', { instruction: 'pay the invoice' })
  const forked = await fixture.troupe('fork', run_id, '--at', '4')
  expect([forked.code, forked.err]).toEqual([2, expect.stringContaining('this process lacks what run')])
  const { result } = await fixture.program({ LACKS: 'hook' }, 'fork', run_id, '4')
  expect(result.error).toMatchObject({ code: 'needs_missing' })
  expect((await fixture.program({ LACKS: 'pattern' }, 'replay', run_id)).result.error).toMatchObject({
    code: 'unknown_pattern',
  })
  expect(await fixture.program({ LACKS: 'tool,hook' }, 'replay', run_id)).toMatchObject({ result: { same: true } })
  const runs = JSON.parse((await fixture.troupe('runs', '--json')).out) as { run_id: string; missing: object[] }[]
  expect(runs.map((row) => [row.run_id, row.missing.length])).toEqual([[run_id, 3]])
})

test('ND6 a run can be cancelled by a process that lacks all of its parts, and nothing is executed', async () => {
  const fixture = await createFixture()
  for (const [pattern, input] of [
    ['task', SECRET],
    ['approval', { instruction: 'pay the invoice' }],
  ] as const) {
    const { run_id, gate_id } = await startWaiting(fixture, pattern, input)
    expect((await fixture.troupe('answer', gate_id, 'allow')).code).toBe(3)
    expect((await fixture.troupe('cancel', run_id)).code).toBe(0)
    const events = await readEvents(fixture, run_id)
    expect(events.at(-1)).toMatchObject({ type: 'run:end', data: { status: 'cancelled' } })
    expect(verifyJournal(events)).toEqual([])
    expect(JSON.stringify(events)).not.toContain('xyzzy')
  }
  expect(fixture.payments()).toBe(0)
})
