import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture, singleAnswerScript } from './cli-fixture.ts'
import { APPROVAL_TEAM, REVIEW_TEAM, replyRule, reviewScript } from './team-script.ts'

async function runChat(here: CliFixture, lines: readonly string[], ...more: string[]) {
  const said = await here.troupeWith({ stdin: `${lines.join('\n')}\n` }, 'chat', ...more, '--no-tools')
  return {
    ...said,
    objects: () =>
      said.out
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text)),
  }
}

const HELPER = 'name: One\nagents: [{ name: helper, role: Helps }]\n'

async function prepareHelperTeam(here: CliFixture): Promise<string[]> {
  await here.write('one.yaml', HELPER)
  const model = await here.script('s.json', [
    replyRule('helper', 'And blue?', { after: 1 }),
    replyRule('helper', 'Red?\n\nOr what?'),
  ])
  return ['one.yaml', '--model', model]
}

describe('chat in a pipe', () => {
  test('CH1 each line is answered before the next is read; messages go to stdout, the rest to stderr', async () => {
    const here = await createCliFixture()
    const { code, out, err } = await runChat(here, ['Paint it.', '', 'no'], ...(await prepareHelperTeam(here)))
    expect({ code, out }).toEqual({ code: 0, out: 'helper: Red?\n\n  Or what?\nhelper: And blue?\n' })
    expect(err).toMatch(/→ you/)
    expect(err).toMatch(/resume with: troupe chat --resume r_/)
    expect(err).not.toContain('\x1b')
  })

  test('CH3 CH4 commands show members, variables, the last handoffs and the help', async () => {
    const here = await createCliFixture()
    await here.write('review.yaml', REVIEW_TEAM)
    const model = await here.script('s.json', reviewScript())
    const lines = ['/vars', '/set strict=true', 'Write it.', '/who', '/vars', '/why', '/artifacts', '/help', '/graph']
    const { code, out, err } = await runChat(here, lines, 'review.yaml', '--model', model)
    expect(code).toBe(0)
    expect(out).toMatch(/strict = false[\s\S]*strict = true/)
    expect(out).toMatch(/writer {5}Writes · 2×/)
    expect(out).toMatch(/approved = true/)
    expect(out).toMatch(
      /writer → reviewer\n✓ writer → reviewer {2}priority 1\n {3}✓~ draft is complete: the agent judged it true/,
    )
    expect(out).toMatch(/reviewer → the end/)
    expect(out).toMatch(/decision: the run ends \(after_work\)/)
    expect(out).toMatch(/\/next AGENT/)
    expect(out).toMatch(/▸ writer {2}Writes/)
    expect(err).toMatch(/route: writer → reviewer/)
  })

  test('CH5 pause, step and next are applied with the next message', async () => {
    const here = await createCliFixture()
    const lines = ['Paint it.', '/pause', 'no', 'think of the frame', '/step', '/continue']
    const { code, out, err } = await runChat(here, lines, ...(await prepareHelperTeam(here)))
    expect(code).toBe(0)
    expect(err).toMatch(/recorded: applied with your next message/)
    expect(err).toMatch(/\? Paused before helper/)
    expect(err).toMatch(/recorded: delivered when the team continues/)
    expect(out.match(/helper: And blue\?/g)).toHaveLength(1)
  })

  test('CH6 a handoff that needs approval can be approved, refused or redirected', async () => {
    const here = await createCliFixture()
    await here.write('gate.yaml', APPROVAL_TEAM)
    const model = await here.script('s.json', [
      ...[replyRule('writer', 'Draft.'), replyRule('editor', 'Edited.'), replyRule('lawyer', 'Lawful.')],
    ])
    const yes = await runChat(here, ['Go.', 'perhaps', 'yes'], 'gate.yaml', '--model', model)
    expect(yes.err).toMatch(/\? writer wants to hand off to editor/)
    expect(yes.err).toMatch(/answer one of: yes, no, writer, editor, lawyer/)
    expect(yes.out).toBe('writer: Draft.\neditor: Edited.\n')
    const no = await runChat(here, ['Go.', 'n'], 'gate.yaml', '--model', model)
    expect(no.out).toBe('writer: Draft.\n')
    const other = await runChat(here, ['Go.', 'lawyer'], 'gate.yaml', '--model', model)
    expect(other.out).toBe('writer: Draft.\nlawyer: Lawful.\n')
    const open = await runChat(here, ['Go.'], 'gate.yaml', '--model', model)
    expect(open.code).toBe(3)
  })

  test('CH8 a conversation can be resumed by any process and shows its last messages', async () => {
    const here = await createCliFixture()
    const first = await runChat(here, ['Paint it.'], ...(await prepareHelperTeam(here)))
    const [, id = ''] = /--resume (r_\w+)/.exec(first.err) ?? []
    const second = await runChat(here, ['/why', 'no'], '--resume', id.slice(0, 9))
    expect(second).toMatchObject({ code: 0 })
    expect(second.out).toMatch(/^helper: Red\?/)
    expect(second.out).toMatch(/no rule holds/)
    expect(second.out).toMatch(/helper: And blue\?\n$/)
    const unknown = await runChat(here, [], '--resume', 'r_nope')
    expect(unknown.code).toBe(2)
    await here.troupe(
      'run',
      'task',
      'hi',
      '--agent',
      'default',
      '--model',
      await here.script('t.json', singleAnswerScript('Hi.')),
    )
    const task = await runChat(here, [], '--resume', JSON.parse((await here.troupe('runs', '--json')).out)[0].run_id)
    expect(task.err).toMatch(/is a run of the pattern 'task', not of 'team'/)
  })

  test('CH9 --agent chats with one agent of the roster', async () => {
    const here = await createCliFixture()
    const model = await here.script('s.json', singleAnswerScript('I plan.'))
    const alone = await runChat(here, ['Hello.', 'Again.'], '--agent', 'architect', '--model', model)
    expect(alone).toMatchObject({ code: 0, out: 'architect: I plan.\narchitect: I plan.\n' })
    const unknown = await runChat(here, ['Hello.'], '--agent', 'architct', '--model', model)
    expect(unknown).toMatchObject({ code: 2 })
    expect(unknown.err).toMatch(/no agent 'architct'; known: architect/)
    const nobody = await runChat(here, [])
    expect(nobody.err).toMatch(/FILE, --agent or --resume is missing/)
  })

  test('CH10 changed agent files are used from the next message on, a changed team file after /new', async () => {
    const here = await createCliFixture()
    const agent = (words: string) => `---\nname: painter\ndescription: Paints\n---\n${words}\n`
    await here.write('mine/painter.md', agent('You like red.'))
    await here.write('team.yaml', 'name: Art\nagents: [{ name: artist, uses: painter }]\n')
    const model = await here.script('s.json', [
      { when: { agent: 'artist', says: 'You like blue' }, reply: { text: 'Blue it is.' } },
      { when: { agent: 'artist' }, reply: { text: 'Red it is.' } },
      { when: { agent: 'critic' }, reply: { text: 'I am the critic.' } },
    ])
    const chat = here.startWith(
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
    await here.write('mine/painter.md', agent('You like blue.'))
    await chat.waitFor(/painter changed; used from your next message on/)
    chat.type('Once more.')
    await chat.waitFor(/artist: Blue it is\./)
    await here.write('team.yaml', 'name: Judges\nagents: [{ name: critic }]\n')
    await chat.waitFor(/team\.yaml changed; \/new starts a conversation with it/)
    chat.type('/new')
    chat.type('And now?')
    await chat.waitFor(/critic: I am the critic\./)
    chat.close()
    expect((await chat.done).code).toBe(0)
  })

  test('CH22 a deleted agent file is announced; after it is restored, /retry continues', async () => {
    const here = await createCliFixture()
    const agent = '---\nname: painter\ndescription: Paints\n---\nYou paint.\n'
    await here.write('mine/painter.md', agent)
    await here.write('team.yaml', 'name: Art\nagents: [{ name: artist, uses: painter }]\n')
    const model = await here.script('s.json', [replyRule('artist', 'Red it is.')])
    const chat = here.startWith(
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
    await rm(join(here.folder, 'mine/painter.md'))
    await chat.waitFor(/painter: agent file deleted/)
    chat.type('Once more.')
    await chat.waitFor(/error: .*no agent 'painter'/)
    await here.write('mine/painter.md', agent)
    await chat.waitFor(/painter changed; used from/)
    chat.type('/retry')
    await chat.waitFor(/(artist: Red it is\.[\s\S]*){2}/)
    chat.close()
    expect((await chat.done).code).toBe(0)
  })

  test('CH3 /who counts turns of group members, and /help is complete on a narrow terminal', async () => {
    const here = await createCliFixture()
    const team =
      'name: G\nagents: [{ name: a }, { name: b }]\ngroups: [{ name: both, kind: parallel, members: [a, b] }]\n'
    await here.write('g.yaml', `${team}entry: both\n`)
    const model = await here.script('s.json', [replyRule('a', 'A.'), replyRule('b', 'B.')])
    const how = { stdin: 'Go.\n/who\n/help\n', env: { COLUMNS: '40' } }
    const { out } = await here.troupeWith(how, 'chat', 'g.yaml', '--model', model, '--no-tools')
    expect(out).toMatch(/^ {2}a .*1×$[\s\S]*^ {2}b .*1×$/m)
    expect(out.replaceAll(/\s+/g, ' ')).toContain(
      '/artifacts [NAME] list artifacts; with a name, print its newest version',
    )
  })

  test('CH13 with --json every line is one object, including the output of commands', async () => {
    const here = await createCliFixture()
    const { code, objects } = await runChat(
      here,
      ['Paint it.', '/who', '/nope'],
      ...(await prepareHelperTeam(here)),
      '--json',
    )
    expect(code).toBe(0)
    const told = objects()
    expect(told.map(({ type }) => type)).toEqual([
      ...['user', 'run', 'turn', 'message', 'handoff', 'question', 'user', 'who', 'user', 'error'],
    ])
    expect(told[3]).toEqual({ type: 'message', agent: 'helper', round: 1, text: 'Red?\n\nOr what?', artifacts: [] })
    expect(told[5]).toMatchObject({ kind: 'reply', question: 'Red?\n\nOr what?' })
    expect(told[7].members).toEqual([{ name: 'helper', kind: 'agent', role: 'Helps', turns: 1, speaking: false }])
    expect(told[9].error).toMatchObject({ code: 'invalid_input', alternatives: expect.arrayContaining(['/new']) })
  })

  test('CH14 an error in a line does not end the chat, and a failed run can be retried', async () => {
    const here = await createCliFixture()
    await here.write('one.yaml', HELPER)
    const model = await here.script('s.json', [{ when: { agent: 'nobody' }, reply: { text: '-' } }])
    const chat = here.startWith({ keep_stdin_open: true }, 'chat', 'one.yaml', '--model', model, '--no-tools')
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
