import { describe, expect, test } from 'vitest'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'
import { startManualModel } from './manual-model.ts'
import { replyRule } from './team-script.ts'
import type { Terminal } from './terminal.ts'
import { openTerminal, typeLine } from './terminal.ts'

/* Keys, pastes and different kinds of terminals. */

const ONE = 'name: One\nagents: [{ name: helper }]\n'

async function prepareChat(cli: CliFixture): Promise<string> {
  await cli.write('one.yaml', ONE)
  const model = await cli.script('s.json', [replyRule('helper', 'Got it.')])
  return `./troupe chat one.yaml --model ${model} --no-tools`
}

async function startChat(cli: CliFixture, terminal: Terminal): Promise<void> {
  await typeLine(terminal, `${await prepareChat(cli)}; echo exit $?`)
  await terminal.waitFor(/type a message[^›]*^›/m)
}

/** The message of the run, from its journal. */
async function readMessages(cli: CliFixture): Promise<string[]> {
  const rows: { run_id: string }[] = JSON.parse((await cli.troupe('runs', '--json')).out)
  const shown = await Promise.all(rows.map(({ run_id }) => cli.troupe('show', run_id, '--json')))
  return shown.map(({ out }) => (JSON.parse(out) as { input: { message: string } }).input.message)
}

describe('chat input', () => {
  test('CH16 pasted text of several lines is one message, even if a line looks like a command', async () => {
    const cli = await createCliFixture()
    const terminal = await openTerminal(cli, {}, 80)
    await startChat(cli, terminal)
    await terminal.paste('Please review:\n\n/quit is what users type\n\tthird line\n')
    await terminal.waitFor(/^› Please review:␤␤\/quit is what users type␤␉third line␤/m)
    await terminal.key('Enter')
    await terminal.waitFor(/^you: Please review:\n\n {2}\/quit is what users type/m)
    await terminal.waitFor(/^helper: Got it\./m)
    await terminal.paste('/quit\nis no command here')
    await terminal.key('Enter')
    await terminal.waitFor(/(^helper: Got it\.[\s\S]*){2}/m)
    await typeLine(terminal, '/quit')
    await terminal.waitFor(/^exit 0$/m)
    expect(await readMessages(cli)).toEqual(['Please review:\n\n/quit is what users type\n\tthird line'])
  })

  test('CH16 a line that ends with a backslash continues on the next line', async () => {
    const cli = await createCliFixture()
    const terminal = await openTerminal(cli, {}, 80)
    await startChat(cli, terminal)
    await typeLine(terminal, 'first\\')
    await terminal.waitFor(/^› first␤$/m)
    await typeLine(terminal, 'second')
    await terminal.waitFor(/^you: first\n {2}second$/m)
    await typeLine(terminal, '/quit')
    await terminal.waitFor(/^exit 0$/m)
    expect(await readMessages(cli)).toEqual(['first\nsecond'])
    await cli.troupeWith(
      { stdin: 'third\\\nfourth\n' },
      ...['chat', 'one.yaml', '--model', 'scripted:s.json', '--no-tools'],
    )
    expect((await readMessages(cli))[0]).toBe('third\nfourth')
  })

  test('CH17 after Ctrl-Z and fg the typed input is preserved and the chat continues', async () => {
    const cli = await createCliFixture()
    const terminal = await openTerminal(cli, {}, 80)
    const command = await prepareChat(cli)
    await typeLine(terminal, 'set -m')
    await typeLine(terminal, command)
    await terminal.waitFor(/type a message[^›]*^›/m)
    await terminal.type('half a li')
    await terminal.waitFor(/^› half a li$/m)
    await terminal.key('C-z')
    await terminal.waitFor(/Stopped/)
    await terminal.paste('echo plain')
    await terminal.waitFor(/^\$ echo plain$/m)
    await terminal.key('Enter')
    await typeLine(terminal, 'fg; echo exit $?')
    await terminal.waitFor(/^› half a li$/m)
    await typeLine(terminal, 'ne')
    await terminal.waitFor(/^you: half a line$/m)
    await terminal.waitFor(/^helper: Got it\./m)
    await typeLine(terminal, '/quit')
    await terminal.waitFor(/^exit 0$/m)
  })

  test('CH18 NO_COLOR keeps the prompt and the live block', async () => {
    const cli = await createCliFixture()
    await cli.write('one.yaml', ONE)
    const model = await startManualModel()
    const terminal = await openTerminal(cli, { ...model.env, NO_COLOR: '1' }, 80)
    await typeLine(terminal, `./troupe chat one.yaml --model ${model.name} --no-tools; echo exit $?`)
    await terminal.waitFor(/type a message[^›]*^›/m)
    await typeLine(terminal, 'Go.')
    const turn = await model.nextTurn('helper')
    await terminal.waitFor(/^helper: …$/m)
    turn.answer('Done.')
    await terminal.waitFor(/^helper: Done\.$/m)
    await typeLine(terminal, '/quit')
    await terminal.waitFor(/^exit 0$/m)
  })

  test('CH18 without cursor control a line shows which agent has the turn', async () => {
    const cli = await createCliFixture()
    await cli.write('one.yaml', ONE)
    const model = await cli.script('s.json', [replyRule('helper', 'Got it.')])
    const chat = await cli.troupeWith({ stdin: 'Go.\n' }, 'chat', 'one.yaml', '--model', model, '--no-tools')
    expect(chat.err).toMatch(/^ {2}helper …$/m)
  })

  test('CH18 no prompt is drawn when stdout is piped', async () => {
    const cli = await createCliFixture()
    const terminal = await openTerminal(cli, {}, 80)
    await typeLine(terminal, `${await prepareChat(cli)} | cat; echo exit`)
    await terminal.waitFor(/type a message/)
    await typeLine(terminal, 'Go.')
    const shown = await terminal.waitFor(/^helper: Got it\.$/m)
    expect(shown.join('\n')).not.toContain('›')
    await typeLine(terminal, '/quit')
    await terminal.waitFor(/^exit$/m)
  })

  test('CH11 a line that exactly fills its row is erased completely', async () => {
    const cli = await createCliFixture()
    const terminal = await openTerminal(cli, {}, 60)
    await startChat(cli, terminal)
    const full = 'w'.repeat(58)
    await typeLine(terminal, full)
    const shown = await terminal.waitFor(/^helper: Got it\./m)
    expect(shown.filter((text) => text.startsWith('› w'))).toEqual([])
  })
})
