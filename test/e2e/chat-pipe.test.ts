import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture, singleAnswerScript } from './cli-fixture.ts'
import { APPROVAL_TEAM, REVIEW_TEAM, replyRule, reviewScript } from './team-script.ts'

async function runChat(cli: CliFixture, lines: readonly string[], ...more: string[]) {
  const result = await cli.troupeWith({ stdin: `${lines.join('\n')}\n` }, 'chat', ...more, '--no-tools')
  return {
    ...result,
    objects: () =>
      result.out
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text)),
  }
}

const HELPER = 'name: One\nagents: [{ name: helper, role: Helps }]\n'

async function prepareHelperTeam(cli: CliFixture): Promise<string[]> {
  await cli.write('one.yaml', HELPER)
  const model = await cli.script('s.json', [
    replyRule('helper', 'And blue?', { after: 1 }),
    replyRule('helper', 'Red?\n\nOr what?'),
  ])
  return ['one.yaml', '--model', model]
}

describe('chat in a pipe', () => {
  test('CH1 each line is answered before the next is read; messages go to stdout, the rest to stderr', async () => {
    const cli = await createCliFixture()
    const { code, out, err } = await runChat(cli, ['Paint it.', '', 'no'], ...(await prepareHelperTeam(cli)))
    expect({ code, out }).toEqual({ code: 0, out: 'helper: Red?\n\n  Or what?\nhelper: And blue?\n' })
    expect(err).toMatch(/→ you/)
    expect(err).toMatch(/resume with: npx --no troupe chat --resume r_/)
    expect(err).not.toContain('\x1b')
  })

  test('CH3 CH4 CH5 commands set variables and show the last handoffs and the help', async () => {
    const cli = await createCliFixture()
    await cli.write('review.yaml', REVIEW_TEAM)
    const model = await cli.script('s.json', reviewScript())
    const lines = ['/set strict=true', 'Write it.', '/why', '/help']
    const { code, out, err } = await runChat(cli, lines, 'review.yaml', '--model', model)
    expect(code).toBe(0)
    const { output } = JSON.parse((await cli.troupe('show', '--json')).out)
    expect(output.variables).toMatchObject({ strict: true, approved: true })
    expect(out).toMatch(
      /writer → reviewer\n✓ writer → reviewer {2}priority 1\n {3}✓~ draft is complete: the agent judged it true/,
    )
    expect(out).toMatch(/reviewer → the end/)
    expect(out).toMatch(/decision: the run ends \(after_work\)/)
    expect(out).toMatch(/\/next AGENT/)
    expect(err).toMatch(/route: writer → reviewer/)
  })

  test('CH5 pause, step and next are applied with the next message', async () => {
    const cli = await createCliFixture()
    const lines = ['Paint it.', '/pause', 'no', 'think of the frame', '/step', '/continue']
    const { code, out, err } = await runChat(cli, lines, ...(await prepareHelperTeam(cli)))
    expect(code).toBe(0)
    expect(err).toMatch(/recorded: applied with your next message/)
    expect(err).toMatch(/\? Paused before helper/)
    expect(err).toMatch(/recorded: delivered when the team continues/)
    expect(out.match(/helper: And blue\?/g)).toHaveLength(1)
  })

  test('CH6 a handoff that needs approval can be approved, denied or redirected', async () => {
    const cli = await createCliFixture()
    await cli.write('gate.yaml', APPROVAL_TEAM)
    const model = await cli.script('s.json', [
      ...[replyRule('writer', 'Draft.'), replyRule('editor', 'Edited.'), replyRule('lawyer', 'Lawful.')],
    ])
    const yes = await runChat(cli, ['Go.', 'perhaps', 'yes'], 'gate.yaml', '--model', model)
    expect(yes.err).toMatch(/\? writer wants to hand off to editor/)
    expect(yes.err).toMatch(/answer one of: yes, no, writer, editor, lawyer/)
    expect(yes.out).toBe('writer: Draft.\neditor: Edited.\n')
    const no = await runChat(cli, ['Go.', 'n'], 'gate.yaml', '--model', model)
    expect(no.out).toBe('writer: Draft.\n')
    const other = await runChat(cli, ['Go.', 'lawyer'], 'gate.yaml', '--model', model)
    expect(other.out).toBe('writer: Draft.\nlawyer: Lawful.\n')
    const unanswered = await runChat(cli, ['Go.'], 'gate.yaml', '--model', model)
    expect(unanswered.code).toBe(3)
  })

  test('CH8 a conversation can be resumed by any process and shows its last messages', async () => {
    const cli = await createCliFixture()
    const first = await runChat(cli, ['Paint it.'], ...(await prepareHelperTeam(cli)))
    const [, id = ''] = /--resume (r_\w+)/.exec(first.err) ?? []
    const second = await runChat(cli, ['/why', 'no'], '--resume', id.slice(0, 9))
    expect(second).toMatchObject({ code: 0 })
    expect(second.out).toMatch(/^helper: Red\?/)
    expect(second.out).toMatch(/no rule holds/)
    expect(second.out).toMatch(/helper: And blue\?\n$/)
    const unknown = await runChat(cli, [], '--resume', 'r_nope')
    expect(unknown.code).toBe(2)
    await cli.troupe(
      'run',
      'task',
      'hi',
      '--agent',
      'default',
      '--model',
      await cli.script('t.json', singleAnswerScript('Hi.')),
    )
    const task = await runChat(cli, [], '--resume', JSON.parse((await cli.troupe('runs', '--json')).out)[0].run_id)
    expect(task.err).toMatch(/is a run of the pattern 'task', not of 'team'/)
  })

  test('CH9 --agent chats with one agent of the roster', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', singleAnswerScript('I plan.'))
    const alone = await runChat(cli, ['Hello.', 'Again.'], '--agent', 'architect', '--model', model)
    expect(alone).toMatchObject({ code: 0, out: 'architect: I plan.\narchitect: I plan.\n' })
    const unknown = await runChat(cli, ['Hello.'], '--agent', 'architct', '--model', model)
    expect(unknown).toMatchObject({ code: 2 })
    expect(unknown.err).toMatch(/no agent 'architct'; known: architect/)
    const missing = await runChat(cli, [])
    expect(missing.err).toMatch(/FILE, --agent or --resume is missing/)
  })

  test('CH10 changed agent files are used from the next message on, a changed team file after /new', async () => {
    const cli = await createCliFixture()
    const agent = (instructions: string) => `---\nname: painter\ndescription: Paints\n---\n${instructions}\n`
    await cli.write('mine/painter.md', agent('You like red.'))
    await cli.write('team.yaml', 'name: Art\nagents: [{ name: artist, uses: painter }]\n')
    const model = await cli.script('s.json', [
      { when: { agent: 'artist', says: 'You like blue' }, reply: { text: 'Blue it is.' } },
      { when: { agent: 'artist' }, reply: { text: 'Red it is.' } },
      { when: { agent: 'critic' }, reply: { text: 'I am the critic.' } },
    ])
    const chat = cli.startWith(
      { keep_stdin_open: true },
      'chat',
      'team.yaml',
      '--agents',
      'mine',
      '--model',
      model,
      '--no-tools',
    )
    chat.type('Paint.')
    await chat.waitFor(/artist: Red it is\./)
    await cli.write('mine/painter.md', agent('You like blue.'))
    chat.type('Once more.')
    await chat.waitFor(/artist: Blue it is\./)
    await cli.write('mine/painter.md', '---\nname: painter\ndescr')
    chat.type('And again.')
    await chat.waitFor(/agents not reloaded:\s+\S+painter\.md:\d+:/)
    await chat.waitFor(/(artist: Blue it is\.[\s\S]*){2}/)
    await cli.write('team.yaml', 'name: Judges\nagents: [{ name: critic }]\n')
    chat.type('/new')
    chat.type('And now?')
    await chat.waitFor(/critic: I am the critic\./)
    chat.close()
    expect((await chat.done).code).toBe(0)
  })

  test('CH22 a message to an agent whose file was deleted is stored; after it is restored, /retry continues', async () => {
    const cli = await createCliFixture()
    const agent = '---\nname: painter\ndescription: Paints\n---\nYou paint.\n'
    await cli.write('mine/painter.md', agent)
    await cli.write('team.yaml', 'name: Art\nagents: [{ name: artist, uses: painter }]\n')
    const model = await cli.script('s.json', [replyRule('artist', 'Red it is.')])
    const chat = cli.startWith(
      { keep_stdin_open: true },
      'chat',
      'team.yaml',
      '--agents',
      'mine',
      '--model',
      model,
      '--no-tools',
    )
    chat.type('Paint.')
    await chat.waitFor(/artist: Red it is\./)
    await rm(join(cli.folder, 'mine/painter.md'))
    chat.type('Once more.')
    await chat.waitFor(/stored, but .*lacks .*agent painter/)
    await cli.write('mine/painter.md', agent)
    chat.type('/retry')
    await chat.waitFor(/(artist: Red it is\.[\s\S]*){2}/)
    chat.close()
    expect((await chat.done).code).toBe(0)
  })

  test('CH3 /help is complete on a narrow terminal', async () => {
    const cli = await createCliFixture()
    await cli.write('a.yaml', 'name: A\nagents: [{ name: a }]\n')
    const options = { stdin: '/help\n', env: { COLUMNS: '40' } }
    const model = await cli.script('s.json', [replyRule('a', 'A.')])
    const { out } = await cli.troupeWith(options, 'chat', 'a.yaml', '--model', model, '--no-tools')
    expect(out.replaceAll(/\s+/g, ' ')).toContain(
      '/attach [FILE] attach a file to your next message; without FILE, remove what is attached',
    )
  })

  test('CH13 with --json every line is one object, including the output of commands', async () => {
    const cli = await createCliFixture()
    const { code, objects } = await runChat(
      cli,
      ['Paint it.', '/why', '/nope'],
      ...(await prepareHelperTeam(cli)),
      '--json',
    )
    expect(code).toBe(0)
    const events = objects()
    expect(events.map(({ type }) => type)).toEqual([
      ...['user', 'run', 'turn', 'message', 'handoff', 'question', 'user', 'why', 'user', 'error'],
    ])
    expect(events[3]).toEqual({ type: 'message', agent: 'helper', round: 1, text: 'Red?\n\nOr what?', artifacts: [] })
    expect(events[5]).toMatchObject({ kind: 'reply', question: 'Red?\n\nOr what?' })
    expect(events[7].handoffs).toMatchObject([{ from: 'helper', to: 'user', rules: expect.any(Array) }])
    expect(events[9].error).toMatchObject({ code: 'invalid_input', alternatives: expect.arrayContaining(['/new']) })
  })

  test('CH14 an error in a line does not end the chat, and a failed run can be retried', async () => {
    const cli = await createCliFixture()
    await cli.write('one.yaml', HELPER)
    const model = await cli.script('s.json', [{ when: { agent: 'nobody' }, reply: { text: '-' } }])
    const chat = cli.startWith({ keep_stdin_open: true }, 'chat', 'one.yaml', '--model', model, '--no-tools')
    chat.type('/next')
    await chat.waitFor(/\/next needs AGENT/)
    chat.type('Hello.')
    await chat.waitFor(/error: helper, round 1: .*[\s\S]*\/retry resumes/)
    chat.type('/retry')
    await chat.waitFor(/(error: helper, round 1[\s\S]*){2}/)
    chat.type('/quit')
    expect((await chat.done).code).toBe(1)
  })
})
