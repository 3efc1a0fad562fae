import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { CliFixture, CliProcess } from './cli-fixture.ts'
import { createCliFixture, delegationScript, questionScript, singleAnswerScript } from './cli-fixture.ts'

const LONG = 60_000

async function startRun(cli: CliFixture, model: string): Promise<{ run: CliProcess; id: string }> {
  const run = cli.start('run', 'task', '--agent', 'default', 'do it', '--model', model)
  const [, id = ''] = await run.waitFor(/run (r_[0-9a-f]{12}) started/)
  return { run, id }
}

describe('several processes', () => {
  test('L10 L12 L14 a second process gets run_busy, can watch the run, and can cancel it', async () => {
    const cli = await createCliFixture()
    const { run, id } = await startRun(cli, await cli.script('s.json', delegationScript({ builder: LONG })))
    await run.waitFor(/researcher {2}✓ done/)
    const watch = cli.start('watch', id)
    await watch.waitFor(/watching r_/)
    const json = cli.start('watch', id, '--from-start', '--json')
    const busy = await cli.troupe('resume', id)
    expect(busy).toMatchObject({ code: 1, out: '' })
    expect(busy.err).toMatch(/r_\w+ is running in another process/)
    expect(busy.err).toMatch(/troupe watch r_/)
    const cancelled = await cli.troupe('cancel', id, '--reason', 'not needed', '--json')
    expect(cancelled.code).toBe(0)
    expect(JSON.parse(cancelled.out)).toMatchObject({ run_id: id, status: 'cancelled', stop_reason: 'cancelled' })
    const first = await run.done
    expect(first).toMatchObject({ code: 1 })
    expect(first.err).toMatch(/cancelled: not needed/)
    const watched = await watch.done
    expect(watched.code).toBe(1)
    expect(watched.err).toMatch(/■ cancelled/)
    expect(watched.err).not.toMatch(/researcher {2}starts/)
    const lines = (await json.done).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => index + 1))
    expect(lines.at(-1)).toMatchObject({ type: 'run:end', data: { status: 'cancelled' } })
    const repeated = await cli.troupe('cancel', id)
    expect(repeated.code).toBe(1)
    expect(repeated.err).toMatch(/has ended/)
  })

  test('L10 watch of an ended run exits at once with the exit code of the run', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', singleAnswerScript('Hello.'))
    await cli.troupe('run', 'task', '--agent', 'default', 'hi', '--model', model)
    const watched = await cli.troupe('watch')
    expect(watched).toMatchObject({ code: 0, out: 'Hello.\n' })
    expect(watched.err).toMatch(/default {2}starts {2}hi/)
  })
})

describe('interruption', () => {
  test('L15 the first Ctrl-C lets requests in flight finish and keeps the run resumable', async () => {
    const cli = await createCliFixture()
    const { run, id } = await startRun(cli, await cli.script('s.json', delegationScript({ finder: 700, builder: 700 })))
    await run.waitFor(/architect {2}starts/)
    run.kill('SIGINT')
    const stopped = await run.done
    expect(stopped).toMatchObject({ code: 130, out: '' })
    expect(stopped.err).toMatch(/waiting for requests in flight/)
    expect(stopped.err).toMatch(/researcher {2}✓ done/)
    expect(stopped.err).toMatch(new RegExp(`troupe resume ${id}`))
    expect((await cli.troupe('runs', '--status', 'pending')).out).toMatch(id)
    const resumed = await cli.troupe('resume', id)
    expect(resumed).toMatchObject({ code: 0, out: 'All is done.\n' })
    const shown = JSON.parse((await cli.troupe('show', id, '--json')).out)
    expect(shown.usage.calls).toBe(4)
    expect(shown.usage_notes.lost.calls).toBe(0)
  })

  test('L15 SIGTERM does the same', async () => {
    const cli = await createCliFixture()
    const { run, id } = await startRun(cli, await cli.script('s.json', delegationScript({ builder: 500 })))
    await run.waitFor(/architect {2}starts/)
    run.kill('SIGTERM')
    const stopped = await run.done
    expect(stopped.code).toBe(143)
    expect(stopped.err).toMatch(new RegExp(`troupe resume ${id}`))
  })

  test('L16 the second Ctrl-C ends the process at once, and the run is still resumable', async () => {
    const cli = await createCliFixture()
    const { run, id } = await startRun(cli, await cli.script('s.json', delegationScript({ builder: LONG })))
    await run.waitFor(/researcher {2}✓ done/)
    run.kill('SIGINT')
    await run.waitFor(/press Ctrl-C again to stop at once/)
    // Signals closer together count as one key press.
    await pause(150)
    run.kill('SIGINT')
    const stopped = await run.done
    expect(stopped).toMatchObject({ code: 130, out: '' })
    expect(stopped.err).toMatch(new RegExp(`stopped; resume with: npx --no troupe resume ${id}`))
    await cli.script('s.json', delegationScript())
    expect(await cli.troupe('resume', id, '-q')).toMatchObject({ code: 0, out: 'All is done.\n' })
  })
})

describe('questions', () => {
  test('L1 L13 a question makes the run wait with exit 3 and appear in the inbox; the answer completes the run', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', questionScript(['red', 'dark blue']))
    const parked = await cli.troupe('run', 'task', '--agent', 'default', 'paint it', '--model', model)
    expect(parked).toMatchObject({ code: 3, out: '' })
    expect(parked.err).toMatch(/troupe answer g_\w+ red/)
    const inbox = await cli.troupe('inbox')
    expect(inbox.out).toMatch(/Which colour\?[\s\S]*one of: red, dark blue/)
    const [gate] = JSON.parse((await cli.troupe('inbox', '--json')).out)
    const invalid = await cli.troupe('answer', gate.gate_id, 'green')
    expect(invalid.code).toBe(2)
    expect(invalid.err).toMatch(/answer one of: red, dark blue/)
    const empty = await cli.troupe('answer', gate.gate_id)
    expect(empty).toMatchObject({ code: 2 })
    const answered = await cli.troupe('answer', gate.gate_id.slice(0, 7), 'dark', 'blue')
    expect(answered).toMatchObject({ code: 0, out: 'Blue it is.\n' })
    expect(JSON.parse((await cli.troupe('inbox', '--json')).out)).toEqual([])
    const second = await cli.troupe('answer', gate.gate_id, 'red', '--json')
    expect(second.code).toBe(1)
  })

  test('L13 an answer can be JSON and recorded without resuming, and the first answer wins', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', questionScript())
    const parked = await cli.troupe('run', 'task', '--agent', 'default', 'paint it', '--model', model, '--json')
    expect(parked.code).toBe(3)
    const { run_id, status } = JSON.parse(parked.out)
    expect(status).toBe('waiting')
    const [gate] = JSON.parse((await cli.troupe('inbox', '--json')).out)
    const written = await cli.troupe('answer', gate.gate_id, '--json-value', '{"colour":"blue"}', '--no-wait')
    expect(written.code).toBe(0)
    expect(written.out).toMatch(`troupe resume ${run_id}`)
    const second = await cli.troupe('answer', gate.gate_id, 'red')
    expect(second.code).toBe(1)
    expect(second.err).toMatch(/already answered/)
    expect(await cli.troupe('resume', run_id)).toMatchObject({ code: 0, out: 'Blue it is.\n' })
  })
})
