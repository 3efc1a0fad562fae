import { expect, test } from 'vitest'
import { createCliFixture, delegationScript } from './cli-fixture.ts'

const ID = /[0-9a-f]{16}-[0-9a-f]{16}_\w+/

test('L70 sessions lists ids with agent, run, turns and state; --run, --agent and -n select', async () => {
  const cli = await createCliFixture()
  const empty = await cli.troupe('sessions')
  expect(empty).toMatchObject({ code: 0, out: '' })
  expect(empty.err).toContain('no sessions in')
  const model = await cli.script('s.json', delegationScript())
  const { run_id } = JSON.parse((await cli.troupe('run', 'task', '--json', 'do it', '--model', model)).out)
  const listed = await cli.troupeWith({ env: { COLUMNS: '120' } }, 'sessions')
  expect(listed.out.split('\n')[0]).toMatch(/session +agent +run +turns +state/)
  expect(listed.out).toMatch(new RegExp(`0{16}-[0-9a-f]{16}_default +default +${run_id} +1 +completed`))
  const narrow = await cli.troupeWith({ env: { COLUMNS: '60' } }, 'sessions')
  expect(narrow.out).toMatch(new RegExp(`^0{16}-[0-9a-f]{16}_default +${run_id} +1 +completed$`, 'm'))
  const rows = JSON.parse((await cli.troupe('sessions', '--json', '--run', run_id, '--agent', 'researcher')).out)
  expect(rows).toMatchObject([{ agent: 'researcher', run_id, turn_count: 1, session_id: expect.stringMatching(ID) }])
  expect(JSON.parse((await cli.troupe('sessions', '--json', '-n', '1')).out)).toHaveLength(1)
  const none = await cli.troupe('sessions', '--agent', 'nobody')
  expect(none.err).toContain('no sessions of the agent nobody')
})

test('L71 run task --continue resumes the newest session, or the one whose id or prefix is given', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', [
    { when: { says: 'one' }, reply: { text: 'First.' } },
    { reply: { text: 'Next.' } },
  ])
  const run = async (...argv: string[]) => {
    const done = await cli.troupe('run', 'task', '--json', '--model', model, ...argv)
    return JSON.parse(done.out)
  }
  expect((await run('two', '--continue')).error).toMatchObject({ code: 'unknown_session' })
  const first = (await run('one')).output
  const second = (await run('and a second', '--agent', 'reviewer')).output
  expect((await run('--continue', 'go on')).output).toMatchObject({ session_id: second.session_id, turn_count: 2 })
  const byId = await run('--continue', first.session_id, 'go on')
  expect(byId.output).toMatchObject({ session_id: first.session_id, agent: 'default', turn_count: 2 })
  const prefix = first.session_id.slice(17, 29)
  expect((await run('go on', '--continue', prefix)).output).toMatchObject({
    session_id: first.session_id,
    turn_count: 3,
  })
  const unknown = await run('go on', '--continue', 'ffffffffffff')
  expect(unknown.error).toMatchObject({ code: 'unknown_session', hint: expect.stringContaining('troupe sessions') })
})

test('L71 a word besides an instruction is an id: the newest session is not continued instead', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', [{ reply: { text: 'First.' } }])
  const run = (...argv: string[]) => cli.troupe('run', 'task', '--json', '--model', model, ...argv)
  const { run_id, output } = JSON.parse((await run('one')).out)
  for (const wrong of ['nope', 'default', run_id, 'zz00']) {
    const { error } = JSON.parse((await run('go on', '--continue', wrong)).out)
    expect(error).toMatchObject({ code: 'unknown_session', message: expect.stringContaining(`'${wrong}'`) })
  }
  const rows = JSON.parse((await cli.troupe('sessions', '--json')).out)
  expect(rows).toMatchObject([{ session_id: output.session_id, turn_count: 1 }])
})
