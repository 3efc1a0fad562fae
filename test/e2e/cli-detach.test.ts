import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture, questionScript } from './cli-fixture.ts'

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))

const slowScript = (cli: CliFixture, delayMs: number) =>
  cli.script('slow.json', [{ reply: { text: 'Done in the background.', delayMs } }])

/** The processes of a group that execute something; zombies that init has not reaped do not. */
function liveProcesses(group: number): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const [state = '', , processGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return Number(processGroup) === group && !'ZX'.includes(state) ? [stat] : []
    } catch {
      return []
    }
  })
}

describe('run --detach', () => {
  test('L57 a detached run is in a session of its own, survives its terminal, and can be watched; its output is in a log', async () => {
    const cli = await createCliFixture()
    const model = await slowScript(cli, 3000)
    // The leader of a process group, as a shell starts it: its group gets Ctrl-C and the hang-up of the terminal.
    const argv = [MAIN, 'run', 'task', 'hi', '--model', model, '--detach']
    const parent = spawn(process.execPath, argv, { cwd: cli.folder, detached: true })
    const written = { out: '', err: '' }
    parent.stdout.setEncoding('utf8').on('data', (text: string) => {
      written.out += text
    })
    parent.stderr.setEncoding('utf8').on('data', (text: string) => {
      written.err += text
    })
    const [code] = await once(parent, 'close')
    expect(code).toBe(0)
    const run_id = written.out.trim()
    expect(run_id).toMatch(/^r_\w+$/)
    expect(written.err).toMatch(new RegExp(`follow it with: npx --no troupe watch\\s+${run_id}`))
    expect(written.err).toMatch(new RegExp(`cancel it with: npx --no troupe cancel\\s+${run_id}`))
    // The run is not in the group that the terminal signals.
    expect(parent.pid).toBeGreaterThan(1)
    await expect.poll(() => liveProcesses(parent.pid ?? 0)).toEqual([])
    const watched = await cli.troupe('watch', run_id)
    expect(watched).toMatchObject({ code: 0, out: 'Done in the background.\n' })
    const log = join('.troupe', 'logs', `${run_id}.log`)
    expect(written.err.replace(/\n {2}/g, ' ')).toContain(`its output goes to ${log}`)
    expect(statSync(join(cli.folder, log)).mode & 0o777).toBe(0o600)
    expect(await cli.read(log)).toMatch(/default {2}starts[\s\S]*Done in the background\./)
  })

  test('L57 cancel ends a detached run; with --json the run id and the log are one object', async () => {
    const cli = await createCliFixture()
    const model = await slowScript(cli, 60_000)
    const done = await cli.troupe('run', 'task', 'hi', '--model', model, '--no-tools', '--detach', '--json')
    const { run_id, status, log } = JSON.parse(done.out)
    expect({ code: done.code, err: done.err, status }).toEqual({ code: 0, err: '', status: 'running' })
    expect(existsSync(join(cli.folder, log))).toBe(true)
    expect((await cli.troupe('cancel', run_id)).out).toContain('cancelled')
    const shown = JSON.parse((await cli.troupe('show', run_id, '--json')).out)
    expect(shown.status).toBe('cancelled')
  })

  test('L57 a run that cannot start reports its error and exit code here, and leaves no log', async () => {
    const cli = await createCliFixture()
    const model = await slowScript(cli, 0)
    const start = (...argv: string[]) => cli.troupe('run', 'task', 'hi', '--model', model, '--detach', ...argv)
    const [unknown, json, memory] = await Promise.all([
      start('--agent', 'architct'),
      start('--agent', 'architct', '--json'),
      start('--store', 'memory'),
    ])
    expect(unknown).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/no agent 'architct'; known: architect/),
    })
    expect(JSON.parse(json.out)).toMatchObject({ run_id: null, error: { code: 'unknown_agent' } })
    expect(memory).toMatchObject({ code: 2, err: expect.stringMatching(/--detach needs a store on disk/) })
    expect(readdirSync(join(cli.folder, '.troupe', 'logs'))).toEqual([])
  })

  test('L57 a detached run that asks a question waits in the inbox', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('q.json', questionScript())
    const run_id = (await cli.troupe('run', 'task', 'hi', '--model', model, '--detach', '-q')).out.trim()
    expect(await cli.troupe('watch', run_id, '--from-start')).toMatchObject({ code: 3 })
    const [gate] = JSON.parse((await cli.troupe('inbox', '--json')).out)
    expect(gate.run_id).toBe(run_id)
    expect(await cli.troupe('answer', gate.gate_id, 'blue')).toMatchObject({ code: 0, out: 'Blue it is.\n' })
  })
})
