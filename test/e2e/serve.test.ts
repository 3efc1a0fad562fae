import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'

import { waitUntil } from '../support/http-harness.ts'
import { createCliFixture, delegationScript, questionScript, singleAnswerScript } from './cli-fixture.ts'
import { firstQuestion, serveEnvironment, startServe, untilStatus } from './serve-fixture.ts'

/* The command `serve` in real processes, beside other real processes of the same project. */

const LONG = 60_000

describe('serve executes', () => {
  test('HS24 a question of a run that the command line started is answered over HTTP, and the run ends', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', questionScript(['red', 'blue']))
    const asked = await cli.troupeWith(
      serveEnvironment(cli),
      'run',
      'task',
      '--no-tools',
      '--agent',
      'default',
      'paint',
      '--model',
      model,
      '--json',
    )
    expect(asked.code).toBe(3)
    const { run_id } = JSON.parse(asked.out) as { run_id: string }
    const serve = await startServe(cli)
    const { gate_id, hash, run } = await firstQuestion(serve)
    expect(run.run_id).toBe(run_id)
    expect((await serve.post(`/api/gates/${gate_id}/answer`, { answer: 'blue', hash })).status).toBe(200)
    await untilStatus(serve, run_id, 'completed')
    expect(await serve.get(`/api/runs/${run_id}/result`)).toMatchObject({ output: { response: 'Blue it is.' } })
    expect((await cli.troupe('show', run_id)).out).toContain('Blue it is.')
  })

  test('HS24 a run whose process was killed goes on in the server', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', delegationScript({ builder: LONG }))
    const argv = ['run', 'task', '--no-tools', '--agent', 'default', 'do it', '--model', model]
    const run = cli.startWith(serveEnvironment(cli), ...argv)
    const [, run_id = ''] = await run.waitFor(/run (r_[0-9a-f]{12}) started/)
    await run.waitFor(/researcher {2}✓ done/)
    run.kill('SIGKILL')
    await run.done
    await cli.script('s.json', delegationScript())
    const serve = await startServe(cli)
    await untilStatus(serve, run_id, 'completed')
    expect(await serve.get(`/api/runs/${run_id}/result`)).toMatchObject({ output: { response: 'All is done.' } })
  })
})

describe('serve starts and stops', () => {
  test('HS27 SIGTERM ends streams, leaves runs resumable and exits with 0; a page survives the restart', async () => {
    const cli = await createCliFixture()
    const model = await cli.script('s.json', questionScript())
    const serve = await startServe(cli, '--model', model)
    const started = await serve.post('/api/patterns/task/runs', { input: { agent: 'default', instruction: 'paint' } })
    const { run_id } = started.json as { run_id: string }
    await firstQuestion(serve)
    const opened = await serve.post('/api/session', {})
    expect(opened.status).toBe(200)
    const streams = [
      '/api/changes',
      `/api/runs/${run_id}/events`,
      `/api/runs/${run_id}/timeline`,
      `/api/watch?run=${run_id}`,
    ]
    const read = await Promise.all(
      ['identity', 'gzip'].flatMap((encoding) =>
        streams.map(async (path) => {
          const headers = {
            authorization: `Bearer ${serve.token}`,
            accept: 'text/event-stream',
            'accept-encoding': encoding,
          }
          const response = await fetch(serve.address + path, { headers })
          expect([path, response.status]).toEqual([path, 200])
          // Rejects if the connection breaks instead of ending.
          return { path, text: response.text() }
        }),
      ),
    )
    serve.child.kill('SIGTERM')
    for (const { path, text } of read) expect([path, (await text).includes('data: ')]).toEqual([path, true])
    expect(await serve.child.done).toMatchObject({ code: 0, signal: null })
    const again = await startServe(cli, '--model', model)
    const { gate_id, hash } = await firstQuestion(again)
    // The token of the first server is still valid.
    const headers = { authorization: `Bearer ${serve.token}`, 'x-troupe-request': '1' }
    const answered = await again.send(`/api/gates/${gate_id}/answer`, {
      method: 'POST',
      headers,
      body: { answer: 'blue', hash },
    })
    expect(answered.status).toBe(200)
    await untilStatus(again, run_id, 'completed')
  })

  test('HS3 the token is in no file, journal or process argument', async () => {
    const cli = await createCliFixture()
    const serve = await startServe(cli, '--model', await cli.script('s.json', singleAnswerScript('Done.')))
    const started = await serve.post('/api/patterns/task/runs', { input: { agent: 'default', instruction: 'go' } })
    await untilStatus(serve, (started.json as { run_id: string }).run_id, 'completed')
    const files = (await readdir(cli.folder, { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    )
    expect(files.length).toBeGreaterThan(2)
    for (const { parentPath, name } of files)
      expect([name, (await readFile(join(parentPath, name), 'latin1')).includes(serve.token)]).toEqual([name, false])
    if (process.platform === 'linux')
      expect(await readFile(`/proc/${serve.pid}/cmdline`, 'utf8')).not.toContain(serve.token)
  })

  test('HS26 a port in use is reported, and another is taken or offered', async () => {
    const cli = await createCliFixture()
    const occupied = createServer()
    await new Promise<void>((resolve) => void occupied.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void occupied.close())
    const { port } = occupied.address() as AddressInfo
    const failed = await cli.troupeWith(serveEnvironment(cli), 'serve', '--no-tools', '--port', String(port))
    expect(failed).toMatchObject({ code: 2, out: '' })
    const text = failed.err.replaceAll(/\s+/g, ' ')
    expect(text).toContain(`port ${port} is in use`)
    expect(text).toMatch(/--port \d+ is free/)
    const usual = createServer().on('error', () => {})
    await new Promise<void>((resolve) => void usual.once('error', () => resolve()).listen(4747, '127.0.0.1', resolve))
    onTestFinished(() => void usual.close())
    const other = cli.startWith(serveEnvironment(cli), 'serve', '--no-tools')
    const [, address = ''] = await other.waitFor(/(http:\/\/127\.0\.0\.1:\d+)\/#token=[\w-]{43}\n/)
    expect(address).not.toContain(':4747')
    await other.waitFor(/port 4747 is in\s+use/)
    other.kill('SIGINT')
    expect((await other.done).code).toBe(0)
  })

  test('HS28 a store of a newer version is reported, and nothing listens', async () => {
    const cli = await createCliFixture()
    await cli.troupe(
      'run',
      'task',
      '--no-tools',
      'x',
      '--model',
      await cli.script('s.json', singleAnswerScript('Done.')),
    )
    const [file = ''] = (await readdir(join(cli.folder, '.troupe'))).filter((name) => name.endsWith('.db'))
    const database = new DatabaseSync(join(cli.folder, '.troupe', file))
    const { user_version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
    database.exec(`PRAGMA user_version = ${user_version + 1}`)
    database.close()
    const failed = await cli.troupeWith(serveEnvironment(cli), 'serve', '--no-tools', '--port', '0')
    expect(failed).toMatchObject({ code: 1, out: '' })
    expect(failed.err.replaceAll(/\s+/g, ' ')).toMatch(/has schema \d+; this version .* hint: update troupe/)
    expect(failed.err).not.toMatch(/\n\s+at /)
  })

  test('HS28 HS1 wrong options are reported with exit code 2', async () => {
    const cli = await createCliFixture()
    const open = await cli.troupeWith(serveEnvironment(cli), 'serve', '--host', '0.0.0.0')
    expect(open).toMatchObject({ code: 2, out: '' })
    expect(open.err).toMatch(/--tls-cert/)
    expect((await cli.troupeWith(serveEnvironment(cli), 'serve', '--token-scopes', 'all')).code).toBe(2)
    expect((await cli.troupeWith(serveEnvironment(cli), 'serve', 'extra')).code).toBe(2)
  })

  test('HS30 --open opens the page without the token among the arguments, and says when it cannot', async () => {
    const cli = await createCliFixture()
    // Programs of the working folder are not executed.
    const bin = await mkdtemp(join(tmpdir(), 'troupe-bin-'))
    onTestFinished(() => rm(bin, { recursive: true, force: true }))
    const program = join(bin, process.platform === 'darwin' ? 'open' : 'xdg-open')
    await writeFile(program, '#!/bin/sh\necho "$1" > opened.txt\ncp "$(echo "$1" | sed s,^file://,,)" opened.html\n')
    await chmod(program, 0o755)
    const env = { HOME: cli.folder, PATH: `${bin}${delimiter}${process.env.PATH}` }
    const serve = cli.startWith({ env }, 'serve', '--port', '0', '--no-tools', '--open')
    const [, address = '', token = ''] = await serve.waitFor(/(http:\S+#token=(\S+))\n/)
    const page = await waitUntil(() => cli.read('opened.html').catch(() => undefined), 'the browser')
    expect(page).toContain(JSON.stringify(address))
    const opened = await cli.read('opened.txt')
    expect(opened).toMatch(/^file:\/\//)
    expect(opened).not.toContain(token)
    serve.kill('SIGINT')
    expect((await serve.done).code).toBe(0)
    await writeFile(program, '#!/bin/sh\nexit 3\n')
    const blind = cli.startWith({ env }, 'serve', '--port', '0', '--no-tools', '--open')
    await blind.waitFor(/no browser could be opened/)
    blind.kill('SIGINT')
    expect((await blind.done).out).toMatch(/#token=/)
  })
})
