import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { displayWidth } from '../../src/views/text-width.ts'
import { requireSandbox } from '../support/require-program.ts'
import type { CliResult } from './cli-fixture.ts'
import { createCliFixture, delegationScript, questionScript, singleAnswerScript } from './cli-fixture.ts'

const ESCAPE = '\u001b'
const RUN_ID = /^r_[0-9a-f]{12}$/

describe('run', () => {
  test('L2 --json prints exactly one object with the documented fields', async () => {
    requireSandbox()
    const cli = await createCliFixture()
    const model = await cli.script('s.json', singleAnswerScript('Hello.'))
    const done = await cli.troupe('run', 'task', '--agent', 'default', 'hi', '--json', '--model', model)
    expect(done).toMatchObject({ code: 0, err: '' })
    const result = JSON.parse(done.out)
    expect(Object.keys(result)).toEqual(FIELDS)
    expect(Object.keys(result.usage)).toEqual(['calls', 'input', 'output', 'cache_read', 'cache_write', 'usd'])
    expect(result).toMatchObject({
      status: 'completed',
      stop_reason: 'completed',
      error: null,
      output: { response: 'Hello.' },
    })
    expect(result.run_id).toMatch(RUN_ID)
    expect(result.usage.calls).toBe(1)
    const before = await cli.troupe('--json', 'run', 'tsk', 'hi')
    expect(before.code).toBe(2)
    const refused = JSON.parse(before.out)
    expect(Object.keys(refused)).toEqual(FIELDS)
    expect(refused).toMatchObject({
      run_id: null,
      status: 'failed',
      error: { code: 'unknown_pattern' },
    })
    expect(refused.error.alternatives[0]).toBe('task')
  })

  test('L1 a failed run exits with 1 and shows reason and hint, without a stack trace', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', [{ reply: { error: { status: 401, message: 'the key is wrong' } } }])
    const done = await cli.troupe('run', 'task', '--agent', 'default', 'hi', '--model', model)
    expect(done).toMatchObject({ code: 1, out: '' })
    expect(done.err).toMatch(/^error: the model returned 401: the key is wrong$/m)
    expect(done.err).toMatch(/^inspect with: npx --no troupe show r_/m)
    expect(done.err).not.toMatch(/ {4}at /)
    const object = await cli.troupe('run', 'task', '--agent', 'default', 'hi', '--model', model, '--json')
    expect(object.code).toBe(1)
    expect(JSON.parse(object.out)).toMatchObject({
      status: 'failed',
      error: { code: 'model_failed', responsible: 'operator' },
    })
  })

  test('L6 input comes from a file, stdin or flags; flags override the file', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', [
      { when: { says: 'from the file' }, reply: { text: 'File.' } },
      { when: { says: 'from stdin' }, reply: { text: 'Stdin.' } },
      { reply: { text: 'Flag.' } },
    ])
    await cli.write('in.yaml', 'agent: default\ninstruction: |\n  from the file\n')
    const run = ['run', 'task', '-q', '--model', model, '--input']
    expect((await cli.troupe(...run, 'in.yaml')).out).toBe('File.\n')
    expect((await cli.troupe(...run, 'in.yaml', '--instruction', 'mine')).out).toBe('Flag.\n')
    const stdin = JSON.stringify({ agent: 'default', instruction: 'from stdin' })
    expect((await cli.troupeWith({ stdin }, ...run, '-')).out).toBe('Stdin.\n')
  })

  test('L23 --limit max_recursion_depth is the limit depth', async () => {
    const cli = await createCliFixture()
    const delegateTo = (agent: string) => ({ toolCalls: [{ name: 'task', input: { agent, instruction: 'look' } }] })
    const model = await cli.script('s.json', [
      { when: { agent: 'default', turn: 1 }, reply: delegateTo('architect') },
      { when: { agent: 'architect', turn: 1 }, reply: delegateTo('researcher') },
      { reply: { text: 'Done.' } },
    ])
    const run = ['run', 'task', '--agent', 'default', 'do it', '--model', model]
    const shallow = await cli.troupe(...run)
    expect(shallow.err).not.toMatch(/researcher {2}starts/)
    const deep = await cli.troupe(...run, '--limit', 'max_recursion_depth=2')
    expect(deep).toMatchObject({ code: 0, out: 'Done.\n' })
    expect(deep.err).toMatch(/researcher {2}starts/)
  })

  test('L23 --limit sets and removes limits; a reached limit is named with the command to continue', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', delegationScript())
    const run = ['run', 'task', '--agent', 'default', 'do it', '--model', model]
    const stopped = await cli.troupe(...run, '--limit', 'calls=1', '--limit', 'usd=null')
    expect(stopped.code).toBe(1)
    expect(stopped.err).toMatch(/troupe resume r_\w+ --limit NAME=VALUE/)
    const id = /troupe resume (r_\w+)/.exec(stopped.err)?.[1] ?? ''
    const resumed = await cli.troupe('resume', id, '--limit', 'calls=10')
    expect(resumed).toMatchObject({ code: 0, out: 'All is done.\n' })
  })

  test('L9 runs are listed by project and store and found by id prefix', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', singleAnswerScript('Hello.'))
    const env = { TROUPE_STORE: 'elsewhere' }
    const run = ['run', 'task', '--agent', 'default', 'hi', '--model', model, '--json']
    const { run_id } = JSON.parse((await cli.troupeWith({ env }, ...run, '--project', 'mine')).out)
    await cli.troupeWith({ env }, ...run, '--project', 'mine')
    const [listed, others, found, many, foreign] = await Promise.all([
      cli.troupeWith({ env }, 'runs', '--project', 'mine', '--json'),
      cli.troupeWith({ env }, 'runs', '--json'),
      cli.troupe('show', run_id.slice(0, 9), '--project', 'mine', '--store', 'elsewhere', '--json'),
      cli.troupe('show', 'r_', '--project', 'mine', '--store', 'elsewhere'),
      cli.troupe('show', run_id, '--store', 'elsewhere'),
    ])
    expect(JSON.parse(listed?.out ?? '')).toHaveLength(2)
    expect(JSON.parse(others?.out ?? '')).toEqual([])
    expect(JSON.parse(found?.out ?? '')).toMatchObject({ run_id, project: 'mine' })
    expect(many).toMatchObject({ code: 2, err: expect.stringMatching(/'r_' matches 2 runs/) })
    expect(foreign?.code).toBe(2)
  })

  test('L24 names and texts in any script and with any quoting are passed on unchanged', async () => {
    const cli = await createCliFixture()
    await cli.write('people/zoe.md', '---\nname: Zoë 設計者\ndescription: draws\n---\nYou draw.\n')
    const model = await cli.script('s.json', singleAnswerScript('Ça va, 設計者 "quoted" \'too\' — 🎉'))
    const instruction = 'Say "it\'s fine"; $HOME `ls` 🎉\nsecond line'
    const done = await cli.troupe(
      'run',
      'task',
      '--agents',
      'people',
      '--agent',
      'Zoë 設計者',
      instruction,
      '--model',
      model,
    )
    expect(done).toMatchObject({ code: 0, out: 'Ça va, 設計者 "quoted" \'too\' — 🎉\n' })
    const shown = JSON.parse((await cli.troupe('show', '--json')).out)
    expect(shown.input.instruction).toBe(instruction)
    expect(shown.tree[0].agent).toBe('Zoë 設計者')
    expect(shown.output.session_id).toMatch(/^0{16}-[0-9a-f]{16}_Zo/)
  })
})

const FIELDS = ['run_id', 'status', 'stop_reason', 'output', 'error', 'usage', 'duration_ms']

describe('output', () => {
  test('L4 L5 L9 piped output has no escape codes and respects COLUMNS=60', async () => {
    requireSandbox()
    const cli = await createCliFixture()
    const env = { COLUMNS: '60' }
    await cli.write(
      'people/long.md',
      `---\nname: ${'設計者'.repeat(12)}\ndescription: ${'word '.repeat(40)}\n---\nYou work.\n`,
    )
    const asking = await cli.script(
      'ask.json',
      questionScript(['a rather long choice', 'another one that is long', 'blue']),
    )
    const withAgents = ['--agents', 'people']
    const results: CliResult[] = []
    const run = async (...argv: string[]) => results[results.push(await cli.troupeWith({ env }, ...argv)) - 1]
    const instruction = 'a long instruction '.repeat(20)
    await run('run', 'task', ...withAgents, '--agent', '設計者'.repeat(12), instruction, '--model', asking)
    await run('run', 'task', '--agent', 'architct', instruction, '--model', asking)
    for (const command of ['runs', 'show', 'inbox', 'show --events', 'verify r_nope', '--help', 'run task --help']) {
      await run(...command.split(' '))
    }
    await run('agents', ...withAgents)
    await run('demo')
    for (const { out, err } of results) {
      expect(out + err).not.toContain(ESCAPE)
      const wide = `${out}${err}`
        .split('\n')
        .filter((text) => displayWidth(text) > 60 && !/^(SQLite\. It|The architect)/.test(text))
      expect(wide).toEqual([])
    }
  })

  test('L18 the demo is labelled, runs offline, delegates twice, resumes one session and says how to show it', async () => {
    const cli = await createCliFixture()
    const env = { TMPDIR: cli.folder, COLUMNS: '200' }
    const done = await cli.troupeWith({ env }, 'demo')
    expect(done.code).toBe(0)
    expect(done.err).toMatch(/SCRIPTED DEMO/)
    expect(done.err).toMatch(/✓ completed .* 6 calls · [\d,]+ tokens/)
    expect(done.out).toMatch(/^SQLite\. /)
    expect(done.out).toMatch(/├─ ✓ researcher {2}1 call/)
    expect(done.out).toMatch(/├─ ✓ architect/)
    expect(done.out).toMatch(/└─ ✓ researcher \(continued\)/)
    expect(existsSync(join(cli.folder, '.troupe'))).toBe(false)
    const [, command = ''] = /inspect it: npx --no troupe (.*)/.exec(done.err) ?? []
    const shown = await cli.troupe(...command.split(' '))
    expect(shown).toMatchObject({ code: 0, out: expect.stringMatching(/task {2}completed[\s\S]*researcher/) })
  })

  test('L25 --help and --version need no configuration, and --help lists every command', async () => {
    const cli = await createCliFixture()
    expect((await cli.troupe('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/)
    const help = await cli.troupe('--help')
    for (const command of 'demo run runs show watch resume cancel inbox answer agents doctor'.split(' ')) {
      expect(help.out).toMatch(new RegExp(`^  ${command}\\b`, 'm'))
    }
    expect(await cli.troupe()).toMatchObject({ code: 0, out: help.out })
    expect((await cli.troupe('run', '--help')).out).toMatch(/^ {2}task \[INSTRUCTION…\]/m)
  })
})
