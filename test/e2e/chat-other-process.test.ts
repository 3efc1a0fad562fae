import { describe, expect, test } from 'vitest'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'
import { startManualModel } from './manual-model.ts'

/* A conversation whose run is also used by other processes. */

const ONE = 'name: One\nagents: [{ name: helper }]\n'

interface Row {
  run_id: string
  status: string
}

async function listRuns(cli: CliFixture): Promise<Row[]> {
  return JSON.parse((await cli.troupe('runs', '--json')).out)
}

async function findGate(cli: CliFixture): Promise<string> {
  const [first] = JSON.parse((await cli.troupe('inbox', '--json')).out) as { gate_id: string }[]
  return first?.gate_id ?? ''
}

async function openWaitingChat(...more: string[]) {
  const cli = await createCliFixture()
  const model = await startManualModel()
  await cli.write('one.yaml', ONE)
  const options = { keep_stdin_open: true as const, env: model.env }
  const chat = cli.startWith(options, 'chat', 'one.yaml', '--model', model.name, '--no-tools', ...more)
  chat.type('Paint it.')
  const turn = await model.nextTurn('helper')
  turn.answer('Red?')
  await chat.waitFor(more.length > 0 ? /Red\?[\s\S]*"type":"question"/ : /helper: Red\?/)
  if (more.length === 0) await chat.waitFor(/→ you/)
  return { cli, model, chat, options }
}

describe('chat and other processes', () => {
  test('CH19 messages of another process appear, and a line sent meanwhile goes to the running team', async () => {
    const { cli, model, chat } = await openWaitingChat()
    const other = cli.startWith({ env: model.env }, 'answer', await findGate(cli), 'no', '--no-tools')
    const turn = await model.nextTurn('helper')
    await chat.waitFor(/helper …[\s\S]*helper …/)
    chat.type('Mind the frame.')
    await chat.waitFor(/recorded: the run is in another process; delivered before the next turn/)
    await other.waitFor(/user requests: message Mind the frame/)
    turn.answer('Blue?')
    const nextTurn = await model.nextTurn('helper')
    nextTurn.answer('With a frame.')
    expect((await other.done).out).toContain('With a frame.')
    await chat.waitFor(/helper: Blue\?\nhelper: With a frame\./)
    expect(await listRuns(cli)).toHaveLength(1)
    chat.type('Thanks.')
    const last = await model.nextTurn('helper')
    last.answer('Welcome.')
    await chat.waitFor(/helper: Welcome\./)
    chat.close()
    const { out } = await chat.done
    expect(out.match(/With a frame/g)).toHaveLength(1)
    expect(await listRuns(cli)).toHaveLength(1)
  })

  test("CH19 two chats with the same run see each other's messages and can both continue", async () => {
    const { cli, model, chat, options } = await openWaitingChat('--json')
    const [run] = await listRuns(cli)
    const second = cli.startWith(options, 'chat', '--resume', run?.run_id ?? '', '--no-tools')
    await second.waitFor(/helper: Red\?/)
    second.type('no')
    const blue = await model.nextTurn('helper')
    blue.answer('Blue?')
    // Wait for the question: an earlier line would be a message to the running agent.
    await chat.waitFor(/"type":"message"[^\n]*Blue\?[\s\S]*"type":"question"/)
    chat.type('yes')
    const done = await model.nextTurn('helper')
    done.answer('Painted.')
    await second.waitFor(/helper: Painted\./)
    for (const each of [chat, second]) each.close()
    const ended = await Promise.all([chat.done, second.done])
    for (const { code, err, out } of ended)
      expect({ code, refused: /already answered/.test(err + out) }).toEqual({ code: 0, refused: false })
  })

  test('CH19 after another process has cancelled the run, the next message starts another run', async () => {
    const { cli, model, chat } = await openWaitingChat()
    const [run] = await listRuns(cli)
    await cli.troupe('cancel', run?.run_id ?? '')
    await chat.waitFor(/^ {2}cancelled$|error: .*cancelled/m)
    chat.type('Once more.')
    const newTurn = await model.nextTurn('helper')
    newTurn.answer('From the start.')
    await chat.waitFor(/helper: From the start\./)
    chat.close()
    await chat.done
    expect((await listRuns(cli)).map(({ status }) => status)).toEqual(['waiting', 'cancelled'])
  })
})
