import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createCliFixture, singleAnswerScript } from './cli-fixture.ts'

/** Line breaks depend on the length of the machine's paths. */
const flat = (text = '') => text.replace(/\s+/g, ' ')

describe('usage errors', () => {
  test('L1 L17 unknown commands, options, patterns and choices suggest the nearest name and exit with 2', async () => {
    const cli = await createCliFixture()
    const cases = [
      [['shwo'], /unknown command 'shwo'/, /did you mean 'show'/],
      [['runs', '--jsn'], /unknown option '--jsn'/, /did you mean '--json'/],
      [['run', 'tsk', 'hi'], /unknown pattern 'tsk'/, /did you mean 'task'/],
      [['run'], /the argument PATTERN is missing/, /troupe run task --help/],
      [['run', 'task', '--contxt-depth', 'all'], /unknown option '--contxt-depth'/, /'--context-depth'/],
      [['run', 'task', '--context-depth', 'some'], /none, recent, all/, /troupe run task --help/],
      [['build', 'x', '--focus-areas', 'speed'], /'speed' is\s+none of security/, /run build --help/],
      [['run', 'task', 'hi', '--limit', 'cals=3'], /no limit 'cals'/, /did you mean 'calls'/],
      [['show', 'nothing'], /no run 'nothing'; there are no runs yet/, /--store/],
      [['answer', 'g_nothing', 'yes'], /no question 'g_nothing'/, /troupe inbox/],
      [['resume'], /missing required argument 'run'/, /troupe resume --help/],
      [['runs', '--store', 'postgres://u:pw@db/t'], /unknown store address 'postgres:\/\/…'/, /ending in \.db/],
      [['run', 'task', 'hi', '--store', 'postgres://u:pw@db/t'], /unknown store address/, /`memory`/],
    ] as const
    const results = await Promise.all(cases.map(([argv]) => cli.troupe(...argv)))
    for (const [index, [, message, hint]] of cases.entries()) {
      expect(results[index]).toMatchObject({ code: 2, out: '' })
      expect(results[index]?.err).toMatch(message)
      expect(results[index]?.err).toMatch(hint)
      expect(results[index]?.err).not.toContain('pw@')
      expect(results[index]?.err.trim().split('\n').length).toBeLessThanOrEqual(6)
    }
    expect(existsSync(join(cli.folder, '.troupe'))).toBe(false)
  })

  test('L47 help COMMAND prints the help, and a missing argument names the help of its command', async () => {
    const cli = await createCliFixture()
    const [help, ofChat, ofTeam, missing] = await Promise.all([
      ...[cli.troupe('help'), cli.troupe('help', 'chat'), cli.troupe('team', 'help')],
      cli.troupe('knowledge', 'search'),
    ])
    expect(help).toMatchObject({ code: 0, out: expect.stringMatching(/Start:[\s\S]*chat/) })
    expect(ofChat).toMatchObject({ code: 0, out: expect.stringMatching(/--resume <run>/) })
    expect(ofTeam).toMatchObject({ code: 0, out: expect.stringMatching(/check FILE/) })
    expect(missing).toMatchObject({ code: 2, err: expect.stringMatching(/troupe knowledge search --help/) })
  })

  test('L3 with --json an error is one object on stdout', async () => {
    const cli = await createCliFixture()
    const done = await cli.troupe('cancel', 'nothing', '--json')
    expect(done).toMatchObject({ code: 2, err: '' })
    const { error } = JSON.parse(done.out)
    expect(Object.keys(error)).toEqual(['code', 'message', 'responsible', 'retry', 'hint', 'alternatives'])
    expect(error.code).toBe('unknown_run')
    const usage = await cli.troupe('--json', 'nonsense')
    expect(JSON.parse(usage.out)).toMatchObject({
      error: { code: 'invalid_input', responsible: 'developer', retry: false },
    })
  })

  test('L1 L17 invalid input is rejected with the reason', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', singleAnswerScript('Hello.'))
    await cli.write('list.json', [1])
    await cli.write('broken.json', '{"agent":')
    await cli.write('broken.yaml', 'agent: [')
    const run = (...argv: string[]) => cli.troupe('run', 'task', '--model', model, ...argv)
    const results = await Promise.all([
      run('--agent', 'default', ''),
      run('--agent', 'architct', 'hello'),
      run('--session-id', 'nobody', 'hello'),
      run(),
      run('--input', 'missing.yaml'),
      run('--input', 'list.json'),
      run('--input', 'broken.json'),
      run('--input', 'broken.yaml'),
      run('--agent', 'default', 'hi', '--limit', 'calls=none'),
    ])
    expect(results.map(({ code }) => code)).toEqual(results.map(() => 2))
    const [empty, agent, session, nothing, missing, list, json, yaml, limit] = results.map(({ err }) => err)
    expect(empty).toMatch(/`instruction` is empty/)
    expect(agent).toMatch(/no agent 'architct'; known: architect/)
    expect(session).toMatch(/no session 'nobody'/)
    expect(nothing).toMatch(/instruction/)
    expect(missing).toMatch(/missing\.yaml cannot be read/)
    expect(list).toMatch(/must contain an object, not a list/)
    expect(json).toMatch(/is not valid JSON/)
    expect(yaml).toMatch(/is not valid JSON or YAML/)
    expect(limit).toMatch(/--limit calls=none: expected NAME=NUMBER or NAME=null/)
  })

  test('L1 L17 without a model, and with a missing or malformed script, the exit code is 2; an incomplete script fails the run', async () => {
    const cli = await createCliFixture()
    await cli.write('broken.json', '{"rules":[{"when":{"agnt":"x"},"reply":{"text":"hi"}}]}')
    await cli.script('other.json', [{ when: { agent: 'nobody' }, reply: { text: 'hi' } }])
    const run = (...argv: string[]) => cli.troupe('run', 'task', '--agent', 'default', 'hi', ...argv)
    const [none, unknown, missing, broken, miss] = await Promise.all([
      run(),
      run('--model', 'acme/best'),
      run('--model', 'scripted:nowhere.json'),
      run('--model', 'scripted:broken.json'),
      run('--model', 'scripted:other.json'),
    ])
    expect(none).toMatchObject({ code: 2 })
    expect(none?.err).toMatch(/no model is configured[\s\S]*--model/)
    expect(unknown?.err).toMatch(/acme/)
    expect(flat(missing?.err)).toMatch(/cannot read the script \S*nowhere\.json/)
    expect(flat(broken?.err)).toMatch(/rules\[0\]\.when: unknown key 'agnt'; did you mean 'agent'/)
    expect(flat(miss?.err)).toMatch(/has no rule for agent 'default'/)
    expect([unknown, missing, broken, miss].map(({ code }) => code)).toEqual([2, 2, 2, 1])
  })

  test('L17 a stack trace is shown only with TROUPE_DEBUG=1', async () => {
    const cli = await createCliFixture()
    const normal = await cli.troupe('show', 'nothing')
    const debug = await cli.troupeWith({ env: { TROUPE_DEBUG: '1' } }, 'show', 'nothing')
    expect(normal.err).not.toMatch(/ {4}at /)
    expect(debug.err).toMatch(/ {4}at /)
  })
})

describe('read-only commands', () => {
  test('L21 read-only commands create no store, and an empty store shows how to start', async () => {
    const cli = await createCliFixture()
    const [runs, inbox, agents, doctor] = await Promise.all([
      cli.troupe('runs'),
      cli.troupe('inbox', '--json'),
      cli.troupe('agents', '--json'),
      cli.troupe('doctor'),
    ])
    expect(runs).toMatchObject({ code: 0, out: '' })
    expect(runs?.err).toMatch(/no runs in \.troupe; start one with: npx --no troupe run/)
    expect(JSON.parse(inbox?.out ?? '')).toEqual([])
    expect(JSON.parse(agents?.out ?? '').agents.map(({ name }: { name: string }) => name)).toContain('reviewer')
    expect(doctor?.out).toMatch(/the first run creates it/)
    expect(existsSync(join(cli.folder, '.troupe'))).toBe(false)
  })

  test('A17 L20 agents and doctor report problems of agent files with their location', async () => {
    const cli = await createCliFixture()
    await cli.write('people/good.md', '---\nname: good\ndescription: fine\n---\nYou are fine.\n')
    await cli.write('people/odd.md', '---\nname: odd\ncolr: red\ndescription: odd\n---\nYou are odd.\n')
    const agents = await cli.troupe('agents', '--agents', 'people')
    expect(agents.out).toMatch(/^good /m)
    expect(flat(agents.err)).toMatch(/people\/odd\.md:3:? unknown key 'colr'/)
    const doctor = await cli.troupeWith(
      { env: { TROUPE_AGENTS: 'people', TROUPE_MODEL: 'scripted:x.json' } },
      'doctor',
      '--json',
    )
    const { healthy, checks } = JSON.parse(doctor.out)
    expect(healthy).toBe(true)
    const models = ['models', 'fast', 'general', 'reasoning']
    expect(checks.map(({ name }: { name: string }) => name)).toEqual([
      'node',
      'config',
      ...models,
      'sandbox',
      'search',
      'store',
      'agents',
      'agents',
    ])
  })

  test('L20 a damaged store is reported and not modified', async () => {
    const cli = await createCliFixture()
    const damage = 'this is no database '.repeat(100)
    await cli.write('.troupe/troupe.db', damage)
    const doctor = await cli.troupe('doctor')
    expect(doctor.code).toBe(1)
    expect(doctor.out).toMatch(/✗ store/)
    const runs = await cli.troupe('runs', '--json')
    expect(runs.code).toBe(1)
    expect(JSON.parse(runs.out).error.code).toMatch(/^store_/)
    expect(await cli.read('.troupe/troupe.db')).toBe(damage)
  })
})
