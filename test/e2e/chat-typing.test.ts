import { describe, expect, test } from 'vitest'
import type { Place } from './command-line.ts'
import { place } from './command-line.ts'
import { heldModel } from './held-model.ts'
import type { Screen } from './screen.ts'
import { line, screen } from './screen.ts'
import { cue } from './team-script.ts'

/* Keys, pastes and terminals of all kinds. */

const ONE = 'name: One\nagents: [{ name: helper }]\n'

async function scripted(here: Place): Promise<string> {
  await here.write('one.yaml', ONE)
  const model = await here.script('s.json', [cue('helper', 'I hear you.')])
  return `./troupe chat one.yaml --model ${model} --no-tools`
}

async function begun(here: Place, terminal: Screen): Promise<void> {
  await line(terminal, `${await scripted(here)}; echo left $?`)
  await terminal.shows(/say what you want[^›]*^›/m)
}

/** What the run was asked, from its journal. */
async function messages(here: Place): Promise<string[]> {
  const rows: { run_id: string }[] = JSON.parse((await here.troupe('runs', '--json')).out)
  const shown = await Promise.all(rows.map(({ run_id }) => here.troupe('show', run_id, '--json')))
  return shown.map(({ out }) => (JSON.parse(out) as { input: { message: string } }).input.message)
}

describe('typing to a team', () => {
  test('CH16 a pasted text of several lines is one message, also when a line of it looks like a command', async () => {
    const here = await place()
    const terminal = await screen(here, {}, 80)
    await begun(here, terminal)
    await terminal.paste('Please review:\n\n/quit is what users type\n\tthird line\n')
    await terminal.shows(/^› Please review:␤␤\/quit is what users type␤␉third line␤/m)
    await terminal.key('Enter')
    await terminal.shows(/^you: Please review:\n\n {2}\/quit is what users type/m)
    await terminal.shows(/^helper: I hear you\./m)
    await terminal.paste('/quit\nis no command here')
    await terminal.key('Enter')
    await terminal.shows(/(^helper: I hear you\.[\s\S]*){2}/m)
    await line(terminal, '/quit')
    await terminal.shows(/^left 0$/m)
    expect(await messages(here)).toEqual(['Please review:\n\n/quit is what users type\n\tthird line'])
  }, 60_000)

  test('CH16 a line that ends in a backslash goes on in the next one', async () => {
    const here = await place()
    const terminal = await screen(here, {}, 80)
    await begun(here, terminal)
    await line(terminal, 'first\\')
    await terminal.shows(/^› first␤$/m)
    await line(terminal, 'second')
    await terminal.shows(/^you: first\n {2}second$/m)
    await line(terminal, '/quit')
    await terminal.shows(/^left 0$/m)
    expect(await messages(here)).toEqual(['first\nsecond'])
    await here.troupeWith(
      { stdin: 'third\\\nfourth\n' },
      ...['chat', 'one.yaml', '--model', 'scripted:s.json', '--no-tools'],
    )
    expect((await messages(here))[0]).toBe('third\nfourth')
  }, 60_000)

  test('CH17 put aside with Ctrl-Z and taken up again, what was typed is there and the talk goes on', async () => {
    const here = await place()
    const terminal = await screen(here, {}, 80)
    const command = await scripted(here)
    await line(terminal, 'set -m')
    await line(terminal, command)
    await terminal.shows(/say what you want[^›]*^›/m)
    await terminal.type('half a li')
    await terminal.shows(/^› half a li$/m)
    await terminal.key('C-z')
    await terminal.shows(/Stopped/)
    await terminal.paste('echo plain')
    await terminal.shows(/^\$ echo plain$/m)
    await terminal.key('Enter')
    await line(terminal, 'fg; echo left $?')
    await terminal.shows(/^› half a li$/m)
    await line(terminal, 'ne')
    await terminal.shows(/^you: half a line$/m)
    await terminal.shows(/^helper: I hear you\./m)
    await line(terminal, '/quit')
    await terminal.shows(/^left 0$/m)
  }, 60_000)

  test('CH18 without colours there is still a place to type, and who is at work', async () => {
    const here = await place()
    await here.write('one.yaml', ONE)
    const model = await heldModel()
    const terminal = await screen(here, { ...model.env, NO_COLOR: '1' }, 80)
    await line(terminal, `./troupe chat one.yaml --model ${model.name} --no-tools; echo left $?`)
    await terminal.shows(/say what you want[^›]*^›/m)
    await line(terminal, 'Go.')
    const turn = await model.turn('helper')
    await terminal.shows(/^helper: …$/m)
    turn.answer('Done.')
    await terminal.shows(/^helper: Done\.$/m)
    await line(terminal, '/quit')
    await terminal.shows(/^left 0$/m)
  }, 60_000)

  test('CH18 where nothing moves, who has the turn is said', async () => {
    const here = await place()
    await here.write('one.yaml', ONE)
    const model = await here.script('s.json', [cue('helper', 'I hear you.')])
    const chat = await here.troupeWith({ stdin: 'Go.\n' }, 'chat', 'one.yaml', '--model', model, '--no-tools')
    expect(chat.err).toMatch(/^ {2}helper …$/m)
  })

  test('CH18 no place to type is drawn into words that go on through a pipe', async () => {
    const here = await place()
    const terminal = await screen(here, {}, 80)
    await line(terminal, `${await scripted(here)} | cat; echo left`)
    await terminal.shows(/say what you want/)
    await line(terminal, 'Go.')
    const shown = await terminal.shows(/^helper: I hear you\.$/m)
    expect(shown.join('\n')).not.toContain('›')
    await line(terminal, '/quit')
    await terminal.shows(/^left$/m)
  }, 60_000)

  test('CH11 a line that just fills its row leaves nothing behind', async () => {
    const here = await place()
    const terminal = await screen(here, {}, 60)
    await begun(here, terminal)
    const full = 'w'.repeat(58)
    await line(terminal, full)
    const shown = await terminal.shows(/^helper: I hear you\./m)
    expect(shown.filter((text) => text.startsWith('› w'))).toEqual([])
  }, 60_000)
})
