import { describe, expect, test } from 'vitest'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'
import { replyRule } from './team-script.ts'

/* Resuming conversations, and the hints that lead there. */

const PAIR = `name: Pair
agents: [{ name: writer }, { name: reviewer }]
handoffs: [{ from_agent: writer, to_agent: reviewer }]
context_variables: { words: 5 }
`
const ENDS = `${PAIR}after_work_behavior: terminate\n`
const bothReplies = [replyRule('writer', 'Draft.'), replyRule('reviewer', 'Fine.')]

async function runChat(cli: CliFixture, lines: readonly string[], ...more: string[]) {
  return cli.troupeWith({ stdin: lines.map((text) => `${text}\n`).join('') }, 'chat', ...more, '--no-tools')
}

const findRunId = (text: string) => /\br_[0-9a-f]{12}/.exec(text)?.[0] ?? ''
const flat = (text: string) => text.replaceAll(/\s+/g, ' ')

/** A run that failed because the script has no reply for the reviewer. */
async function failRun(cli: CliFixture) {
  await cli.write('pair.yaml', PAIR)
  const model = await cli.script('half.json', bothReplies.slice(0, 1))
  return runChat(cli, ['Go.'], 'pair.yaml', '--model', model)
}

describe('chat --resume', () => {
  test('CH23 --resume --limit raises a reached limit, and the command of the hint can be copied', async () => {
    const cli = await createCliFixture()
    await cli.write('pair.yaml', PAIR)
    const model = await cli.script('s.json', bothReplies)
    const first = await runChat(cli, ['Go.'], 'pair.yaml', '--model', model, '--limit', 'calls=1')
    const id = findRunId(first.err)
    expect(flat(first.err)).toContain(`troupe chat --resume ${id} --retry --limit calls=2`)
    expect(first.err).not.toMatch(/\/retry tries/)
    const resumed = await runChat(cli, ['And now?'], '--resume', id, '--retry', '--limit', 'calls=40')
    expect(resumed).toMatchObject({ code: 0 })
    expect(resumed.out).toMatch(/^reviewer: Fine\.$/m)
    expect(JSON.parse((await cli.troupe('runs', '--json')).out)).toHaveLength(1)
  })

  test('CH23 --resume --set sets a variable', async () => {
    const cli = await createCliFixture()
    await cli.write('pair.yaml', PAIR)
    const model = await cli.script('s.json', bothReplies)
    const id = findRunId((await runChat(cli, ['Go.'], 'pair.yaml', '--model', model)).err)
    const resumed = await runChat(cli, ['Once more.'], '--resume', id, '--set', 'words=99')
    expect(resumed.code).toBe(0)
    const events = await cli.troupe('show', id, '--events', '--json')
    expect(events.out).toMatch(/"do":\s*"set",\s*"name":\s*"words",\s*"value":\s*99/)
  })

  test('CH23 L42 chat, resume and answer reject another model and say what to do', async () => {
    const cli = await createCliFixture()
    await cli.write('pair.yaml', PAIR)
    const model = await cli.script('s.json', bothReplies)
    const id = findRunId((await runChat(cli, ['Go.'], 'pair.yaml', '--model', model)).err)
    const [gate] = JSON.parse((await cli.troupe('inbox', '--json')).out) as { gate_id: string }[]
    const refused = await Promise.all([
      runChat(cli, ['more'], '--resume', id, '--model', 'openai/gpt-9'),
      cli.troupe('resume', id, '--model', 'openai/gpt-9'),
      cli.troupe('answer', gate?.gate_id ?? '', 'more', '--model', 'openai/gpt-9'),
    ])
    for (const { code, err } of refused) {
      expect(code).toBe(2)
      expect(flat(err)).toMatch(
        /was started with scripted:.*s\.json and keeps it hint: .*troupe fork r_\w+ --at SEQ --model/,
      )
    }
    const same = await runChat(cli, ['more'], '--resume', id, '--model', model)
    expect(same).toMatchObject({ code: 0 })
  })

  test('CH24 --resume shows a failed run and retries it only with /retry', async () => {
    const cli = await createCliFixture()
    const first = await failRun(cli)
    expect(first.code).toBe(1)
    const id = findRunId(first.err)
    expect(first.err).toContain(`resume with: npx --no troupe chat --resume ${id}`)
    await cli.script('half.json', bothReplies)
    const calls = async () => JSON.parse((await cli.troupe('show', id, '--json')).out).usage.calls as number
    const before = await calls()
    const viewed = await runChat(cli, [], '--resume', id)
    expect(viewed).toMatchObject({ code: 1 })
    expect(viewed.err.match(/^error: /gm)).toHaveLength(1)
    expect(await calls()).toBe(before)
    const resumed = await runChat(cli, ['/retry'], '--resume', id)
    expect(resumed.out).toMatch(/^reviewer: Fine\.$/m)
    expect(resumed.code).toBe(0)
  })

  test('CH24 --retry retries at once', async () => {
    const cli = await createCliFixture()
    const id = findRunId((await failRun(cli)).err)
    await cli.script('half.json', bothReplies)
    const resumed = await runChat(cli, [], '--resume', id, '--retry')
    expect(resumed).toMatchObject({ code: 0 })
    expect(resumed.out).toMatch(/^reviewer: Fine\.$/m)
  })

  test('CH25 the run after an ended one has its model and limits', async () => {
    const cli = await createCliFixture()
    await cli.write('ends.yaml', ENDS)
    const model = await cli.script('s.json', bothReplies)
    const first = await runChat(cli, ['Go.'], 'ends.yaml', '--model', model, '--limit', 'calls=7')
    expect(first.err).toMatch(/resume with: npx --no troupe chat --resume r_/)
    const resumed = await runChat(cli, ['Once more.'], '--resume', findRunId(first.err))
    expect(resumed).toMatchObject({ code: 0 })
    const [newest] = JSON.parse((await cli.troupe('runs', '--json')).out) as { run_id: string }[]
    const shown = JSON.parse((await cli.troupe('show', newest?.run_id ?? '', '--json')).out)
    expect(shown.input.message).toBe('Once more.')
    expect(shown.limits.calls).toBe(7)
  })

  test('L43 commands in hints can be copied and use the same store; an in-memory run is not offered for resume', async () => {
    const cli = await createCliFixture()
    await cli.write('pair.yaml', PAIR)
    const model = await cli.script('s.json', bothReplies)
    const named = await runChat(cli, ['Go.'], 'pair.yaml', '--model', model, '--store', 'my runs', '--project', 'p1')
    const [, command = ''] = /resume with: npx --no troupe (.*)$/m.exec(named.err) ?? []
    expect(command).toMatch(/^--store 'my runs' --project p1 chat --resume r_\w+$/)
    const args = command.split(' ').slice(-2)
    const reopened = await runChat(cli, ['/quit'], '--store', 'my runs', '--project', 'p1', ...args)
    expect(reopened.out).toContain('reviewer: Fine.')
    const inbox = await cli.troupe('inbox', '--store', 'my runs', '--project', 'p1')
    expect(flat(inbox.out)).toMatch(/answer with: npx --no troupe --store 'my runs' --project p1 answer g_/)
    const inMemory = await runChat(cli, ['Go.'], 'pair.yaml', '--model', model, '--store', 'memory')
    expect(inMemory.err).not.toContain('resume with')
    const clone = { npm_package_name: 'troupe', npm_lifecycle_event: 'troupe' }
    const cloned = await cli.troupeWith({ env: clone }, 'show', 'r_x', '--store', 'my runs')
    expect(cloned.err).toContain('hint: the store is my runs; choose another')
    const listed = await cli.troupeWith({ env: clone }, 'runs')
    expect(listed.err).toContain('start one with: npm run -s troupe -- run --help')
    const withoutStore = await cli.troupe('show')
    expect(withoutStore.err).toMatch(/the store is \.troupe; choose another/)
  })

  test('CH20 --quiet prints the command to resume only while a question is open', async () => {
    const cli = await createCliFixture()
    const gate =
      'name: G\nagents: [{ name: a }, { name: b }]\nhandoffs: [{ from_agent: a, to_agent: b, approve: true }]\n'
    await cli.write('gate.yaml', gate)
    await cli.write('pair.yaml', PAIR)
    const model = await cli.script('s.json', [replyRule('a', 'A.'), replyRule('b', 'B.'), ...bothReplies])
    const unanswered = await runChat(cli, ['Go.'], 'gate.yaml', '--model', model, '-q')
    expect(unanswered.code).toBe(3)
    expect(unanswered.err).toMatch(/\? a wants to hand off to b[\s\S]*resume with/)
    const quiet = await runChat(cli, ['Go.'], 'pair.yaml', '--model', model, '-q')
    expect(quiet).toMatchObject({ code: 0, err: '', out: 'writer: Draft.\nreviewer: Fine.\n' })
  })

  test('CH21 the inbox lists questions first, then waiting teams with the command to end them', async () => {
    const cli = await createCliFixture()
    await cli.write('pair.yaml', PAIR)
    const ask =
      'name: G\nagents: [{ name: a }, { name: boss, kind: human }]\nhandoffs: [{ from_agent: a, to_agent: boss }]\n'
    await cli.write('ask.yaml', ask)
    const model = await cli.script('s.json', [replyRule('a', 'May I?'), ...bothReplies])
    const id = findRunId((await runChat(cli, ['Go.'], 'pair.yaml', '--model', model)).err)
    await runChat(cli, ['Go.'], 'ask.yaml', '--model', model)
    const { out } = await cli.troupe('inbox')
    expect(flat(out)).toMatch(
      /^\? g_\w+ you answer as boss in r_\w+ May I\? .*\? g_\w+ the team waits for you in r_\w+ Fine\./,
    )
    const kinds = JSON.parse((await cli.troupe('inbox', '--json')).out) as { detail: { kind: string } }[]
    expect(kinds.map(({ detail }) => detail.kind)).toEqual(['person', 'reply'])
    const [, command = ''] = /or end it: npx --no troupe answer (g_\w+) ''/.exec(flat(out)) ?? []
    expect((await cli.troupe('answer', command, '', '--no-tools')).code).toBe(0)
    expect(JSON.parse((await cli.troupe('show', id, '--json')).out).status).toBe('completed')
  })

  test('L44 the object of a waiting run has its gates', async () => {
    const cli = await createCliFixture()
    await cli.write('pair.yaml', PAIR)
    const model = await cli.script('s.json', bothReplies)
    const waits = ['run', 'team', 'Go.', '--team', 'pair.yaml', '--model', model, '--no-tools', '--json']
    const { gates } = JSON.parse((await cli.troupe(...waits)).out)
    expect(gates).toEqual([
      {
        gate_id: expect.stringMatching(/^g_/),
        question: 'Fine.',
        choices: null,
        detail: expect.objectContaining({ kind: 'reply' }),
      },
    ])
    await cli.write('ends.yaml', ENDS)
    const ended = await cli.troupe(...waits.map((word) => (word === 'pair.yaml' ? 'ends.yaml' : word)))
    expect(JSON.parse(ended.out)).not.toHaveProperty('gates')
  })
})
