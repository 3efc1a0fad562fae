import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { requireSandbox } from '../support/require-program.ts'
import { createCliFixture, questionScript, singleAnswerScript } from './cli-fixture.ts'

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))

describe('everyday use', () => {
  test('TK50 L1 run task needs no agent, and an unknown model is a usage error', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', singleAnswerScript('Hello.'))
    expect(await cli.troupe('run', 'task', 'hi', '--model', model)).toMatchObject({ code: 0, out: 'Hello.\n' })
    const unknown = await cli.troupe('run', 'task', 'hi', '--model', 'opnai/gpt-5')
    expect(unknown).toMatchObject({ code: 2, err: expect.stringMatching(/no provider 'opnai'; known: openai/) })
  })

  test('L56 show --full and show RUN AGENT print whole answers and tool results, without control sequences', async () => {
    const cli = await createCliFixture()
    const long = `START ${'a long line of a file '.repeat(40)}END`
    await cli.write('notes.txt', `${long}\nsecond line \u001b[2J\u0007bell\n`)
    const answer = `First.\n${'word '.repeat(100)}\u001b]0;title\u0007Last.`
    const model = await cli.script('s.json', [
      {
        when: { agent: 'default', turn: 1 },
        reply: { toolCalls: [{ name: 'Read', input: { file_path: 'notes.txt' } }] },
      },
      {
        when: { agent: 'default', turn: 2 },
        reply: { toolCalls: [{ name: 'task', input: { agent: 'architect', instruction: 'Plan it.' } }] },
      },
      { when: { agent: 'architect' }, reply: { text: 'The whole plan.' } },
      { reply: { text: answer } },
    ])
    const { run_id } = JSON.parse((await cli.troupe('run', 'task', 'read it', '--model', model, '--json')).out)
    const full = await cli.troupe('show', run_id, '--full')
    expect(full).toMatchObject({ code: 0, err: '' })
    expect(full.out).toContain(long)
    expect(full.out).toContain(`First.\n${'word '.repeat(100)}Last.`)
    expect(full.out).toMatch(/default is asked.*\nread it\n[\s\S]*default calls Read[\s\S]*gets the result of Read/)
    expect(full.out).toMatch(/architect answers.*\nThe whole plan\.\n/)
    expect(full.out.replaceAll(/[\n\t]/g, '')).not.toMatch(/\p{Cc}/u)
    const one = await cli.troupe('show', run_id, 'architect')
    expect(one.out).toMatch(/^── architect is asked.*\nPlan it\.\n\n── architect answers.*\nThe whole plan\.\n$/)
    const unknown = await cli.troupe('show', run_id, 'architct')
    expect(unknown).toMatchObject({
      code: 2,
      err: expect.stringMatching(/no agent 'architct'; known: architect, default/),
    })
    const entries = JSON.parse((await cli.troupe('show', run_id, 'architect', '--json')).out)
    expect(entries).toMatchObject([
      { agent: 'architect', kind: 'instruction', text: 'Plan it.' },
      { kind: 'response', text: 'The whole plan.' },
    ])
  })

  test('L52 --help after an unknown command, team command or pattern is an error with the nearest names', async () => {
    const cli = await createCliFixture()
    const cases = [
      [['shwo', '--help'], /unknown command 'shwo'/, /did you mean 'show'/],
      [['frobnicate', '-h'], /unknown command 'frobnicate'/, /troupe --help/],
      [['help', 'shwo'], /unknown command 'shwo'/, /did you mean 'show'/],
      [['--store', 'x', 'rnus', '--help'], /unknown command 'rnus'/, /did you mean 'runs'/],
      [['run', 'tsk', '--help'], /unknown pattern 'tsk'/, /did you mean 'task'/],
      [['team', 'chek', '--help'], /unknown team command 'chek'/, /did you mean 'check'/],
    ] as const
    const results = await Promise.all(cases.map(([argv]) => cli.troupe(...argv)))
    for (const [index, [, message, hint]] of cases.entries()) {
      expect(results[index]).toMatchObject({ code: 2, out: '' })
      expect(results[index]?.err).toMatch(message)
      expect(results[index]?.err).toMatch(hint)
    }
    expect(await cli.troupe('run', 'task', '--help')).toMatchObject({ code: 0, err: '' })
  })

  test('L53 a warning is one line of its own, and Node says nothing about itself', async () => {
    requireSandbox()
    const cli = await createCliFixture()
    const model = await cli.script('s.json', singleAnswerScript('Hello.'))
    const argv = ['run', 'task', 'hi', '--model', model, '-q', '--allow', 'Foo(bar)']
    const { out, err } = await cli.troupeWith({ env: { COLUMNS: '200' } }, ...argv)
    expect(out).toBe('Hello.\n')
    expect(err).toMatch(/^warning: the rule Foo\(bar\) .* no tool has this name\n$/)
    const warns = await cli.write(
      'warn.cjs',
      "process.once('beforeExit', () => process.emitWarning('new thing', 'ExperimentalWarning'))",
    )
    const quiet = { NODE_OPTIONS: `--require ./${warns}` }
    expect((await cli.troupeWith({ env: quiet }, 'runs', '--json')).err).toBe('')
    const debug = await cli.troupeWith({ env: { ...quiet, TROUPE_DEBUG: '1' } }, 'runs', '--json')
    expect(debug.err).toBe('warning: new thing\n')
  })

  test('L54 after answer --no-wait the inbox says that the run only has to be resumed', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('q.json', questionScript())
    await cli.troupe('run', 'task', 'hi', '--model', model)
    const [gate] = JSON.parse((await cli.troupe('inbox', '--json')).out)
    expect((await cli.troupe('inbox')).out).toContain(`troupe answer ${gate.gate_id} YOUR ANSWER`)
    expect(await cli.troupe('answer', gate.gate_id, 'blue', '--no-wait')).toMatchObject({ code: 0 })
    for (const command of [['inbox'], ['show', gate.run_id]]) {
      const { out } = await cli.troupe(...command)
      expect(out).toContain(`answered by user; resume with: npx --no troupe resume ${gate.run_id}`)
      expect(out).not.toContain('troupe answer')
    }
    expect(await cli.troupe('resume', gate.run_id)).toMatchObject({ code: 0, out: 'Blue it is.\n' })
    expect((await cli.troupe('inbox')).err).toBe('no open questions\n')
  })

  test('L55 fork --at refuses what is not the number of an event', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', singleAnswerScript('Hello.'))
    const { run_id } = JSON.parse((await cli.troupe('run', 'task', 'hi', '--model', model, '--json')).out)
    const results = await Promise.all(
      ['abc', '', '0', '1.5', '1e1'].map((at) => cli.troupe('fork', run_id, '--at', at)),
    )
    for (const { code, err } of results) {
      expect(code).toBe(2)
      expect(err.replace(/\s+/g, ' ')).toMatch(`not the number of an event hint: pass the seq`)
      expect(err.replace(/\s+/g, ' ')).toContain(`troupe show ${run_id} --events`)
    }
    expect((await cli.troupe('runs', '--json')).out.match(/"run_id"/g)).toHaveLength(1)
  })

  test('ST57 a store that cannot be created is an error at once', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', singleAnswerScript('Hello.'))
    await cli.write('a-file', 'text')
    const run = (store: string) => cli.troupe('run', 'task', 'hi', '--model', model, '--store', store)
    const [file, below] = await Promise.all([run('a-file'), run('a-file/sub')])
    for (const { code, err } of [file, below]) {
      expect(code).toBe(1)
      expect(err.replace(/\s+/g, ' ')).toMatch(/a-file is a file, not the folder of a store hint: choose a folder/)
    }
    if (existsSync('/proc/self')) {
      const { code, err } = await run('/proc/x')
      expect({ code, err }).toMatchObject({ code: 1, err: expect.stringMatching(/\/proc\/x/) })
    }
    expect(await cli.read('a-file')).toBe('text')
    expect(existsSync(join(cli.folder, '.troupe', 'troupe.db'))).toBe(false)
  })

  test('ST24 a store in a read-only folder is an error at once, for new and for listed runs', async (context) => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', singleAnswerScript('Hello.'))
    mkdirSync(join(cli.folder, 'store'), { mode: 0o555 })
    chmodSync(cli.folder, 0o755)
    const troupe = (...argv: string[]) => runAsOrdinaryUser(cli.folder, argv)
    const version = troupe('--version')
    if (version.status !== 0) return context.skip('another user cannot read this clone')
    for (const argv of [
      ['run', 'task', 'hi', '--model', model, '--no-tools', '--store', 'store'],
      ['run', 'task', 'hi', '--model', model, '--no-tools', '--store', 'store/deeper'],
      ['runs', '--store', 'store'],
    ]) {
      const { status, stdout, stderr } = troupe(...argv)
      expect({ status, out: stdout }).toEqual({ status: 1, out: '' })
      expect(stderr.replace(/\s+/g, ' ')).toMatch(/troupe\.db cannot be written hint: make the file and its folder/)
    }
  })
})

/** Root may write anywhere, so its commands run as another user. */
function runAsOrdinaryUser(cwd: string, argv: readonly string[]) {
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const options = { cwd, encoding: 'utf8' as const, env: { ...process.env, HOME: cwd }, ...user }
  return spawnSync(process.execPath, [MAIN, ...argv], options)
}
