import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import type { InboxItem } from '../../src/surfaces/http/contract.ts'
import { sendRequest } from '../support/http-harness.ts'
import type { CliFixture, CliProcess, CliResult } from './cli-fixture.ts'
import { createCliFixture, questionScript, singleAnswerScript } from './cli-fixture.ts'

/* A store from elsewhere at the default place of a folder, met by the command line. */

const LONG = 60_000

interface Elsewhere extends CliFixture {
  env: { HOME: string }
  model: string
  run_id: string
  gate_id: string
  command(...argv: string[]): Promise<CliResult>
  commandIn(env: NodeJS.ProcessEnv, ...argv: string[]): Promise<CliResult>
}

/** A folder with a run that waits for an answer; `place` is where another installation has put its store. */
async function createElsewhere(place = '.troupe'): Promise<Elsewhere> {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', questionScript(['red', 'blue']))
  const author = { HOME: join(cli.folder, 'author') }
  const run = ['run', 'task', 'Ask.', '--agent', 'default', '--no-tools', '--model', model, '--store', place, '--json']
  const asked = JSON.parse((await cli.troupeWith({ env: author }, ...run)).out)
  const env = { HOME: join(cli.folder, 'victim') }
  mkdirSync(env.HOME)
  const commandIn = (more: NodeJS.ProcessEnv, ...argv: string[]) =>
    cli.troupeWith({ env: { ...env, ...more } }, ...argv)
  return {
    ...cli,
    ...{ env, model, run_id: asked.run_id, gate_id: asked.gates[0].gate_id, commandIn },
    command: (...argv) => commandIn({}, ...argv),
  }
}

/** Starts a run of the author that stays at work. */
async function startAtWork(cli: Elsewhere, store: string): Promise<CliProcess> {
  const model = await cli.script('slow.json', [{ reply: { text: 'Done.', delayMs: LONG } }])
  const argv = ['run', 'task', 'Go.', '--agent', 'default', '--no-tools', '--model', model, '--store', store, '--json']
  const atWork = cli.startWith({ env: { HOME: join(cli.folder, 'author') } }, ...argv)
  await vi.waitFor(() => expect(existsSync(join(cli.folder, store, 'troupe.db-wal'))).toBe(true), LONG)
  const list = async () => JSON.parse((await cli.command('runs', '--json', '--store', store)).out)
  await vi.waitFor(async () => expect((await list())[0]).toMatchObject({ status: 'running' }), LONG)
  return atWork
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ')

describe('a store from elsewhere', () => {
  test(
    'E28 L98 commands that only read say that it is only read; others exit with 2 and name the ways',
    async () => {
      const cli = await createElsewhere()
      const listed = await cli.command('runs')
      expect(listed).toMatchObject({ code: 0, out: expect.stringContaining(cli.run_id) })
      expect(oneLine(listed.err)).toContain('was not created by this installation, and is only read')
      for (const read of [['show'], ['watch'], ['inbox'], ['verify'], ['export'], ['cost'], ['backup', 'copy.db']]) {
        const { code, err } = await cli.command(...read)
        expect(code, read.join(' ')).toBe(read[0] === 'watch' ? 3 : 0)
        expect(oneLine(err), read.join(' ')).toContain('is only read; if you made it: troupe trust store')
      }
      const checked = await cli.command('doctor', '--json')
      const { checks } = JSON.parse(checked.out)
      expect(checks).toContainEqual(expect.objectContaining({ name: 'store', status: 'warning' }))
      const before = readdirSync(join(cli.folder, '.troupe')).sort()
      const team = await cli.write('team.yaml', 'name: Pair\nagents:\n  - name: writer\n')
      const refused = [
        ['run', 'task', 'Go.', '--agent', 'default', '--no-tools', '--model', cli.model],
        ['run', 'task', 'Go.', '--agent', 'default', '--no-tools', '--model', cli.model, '--detach'],
        ['resume', cli.run_id, '--no-tools'],
        ['fork', cli.run_id, '--at', '2', '--no-tools'],
        ['replay', cli.run_id],
        ['answer', cli.gate_id, 'red', '--no-tools'],
        ['answer', cli.gate_id, 'red', '--no-wait'],
        ['cancel', cli.run_id],
        ['delete', cli.run_id, '--yes'],
        ['knowledge', 'add', 's.json'],
        ['chat', team, '--no-tools', '--model', cli.model],
        ['chat', '--resume', cli.run_id, '--no-tools'],
        ['serve', '--port', '0', '--no-tools'],
      ]
      for (const argv of refused) {
        const { code, err } = await cli.command(...argv)
        expect(code, argv.join(' ')).toBe(2)
        for (const way of ['troupe trust store;', 'troupe trust store --new', '--store PATH', 'TROUPE_STORE=/'])
          expect(oneLine(err), argv.join(' ')).toContain(way)
      }
      expect(readdirSync(join(cli.folder, '.troupe')).sort()).toEqual(before)
    },
    LONG,
  )

  test(
    'L98 after `trust store` its runs go on, and with `--new` it is put aside for a new one',
    async () => {
      const cli = await createElsewhere()
      const trusted = await cli.command('trust', 'store')
      expect(trusted.code, trusted.err).toBe(0)
      expect(oneLine(trusted.err)).toContain('with their approvals, agents and limits, count as yours')
      expect((await cli.command('answer', cli.gate_id, 'red', '--no-tools')).code).toBe(0)
      const renewed = JSON.parse((await cli.command('trust', 'store', '--new', '--json')).out)
      expect(renewed.put_aside).toBe(join(cli.folder, '.troupe', 'troupe-put-aside-1.db'))
      expect(JSON.parse((await cli.command('runs', '--json')).out)).toEqual([])
      const old = await cli.command('runs', '--json', '--store', renewed.put_aside)
      expect(JSON.parse(old.out)).toMatchObject([{ run_id: cli.run_id, status: 'completed' }])
      const again = JSON.parse((await cli.command('trust', 'store', '--new', '--json')).out)
      expect(again.put_aside).toMatch(/troupe-put-aside-2\.db$/)
      const wrong = await cli.command('trust', 'everything')
      expect([wrong.code, oneLine(wrong.err)]).toEqual([2, expect.stringContaining('store')])
    },
    LONG,
  )

  test(
    'L98 the store of a killed process is trusted with its log',
    async () => {
      const cli = await createElsewhere()
      const atWork = await startAtWork(cli, 'theirs')
      const [{ run_id }] = JSON.parse((await cli.command('runs', '--json', '--store', 'theirs')).out)
      atWork.kill('SIGKILL')
      await atWork.done
      const files = readdirSync(join(cli.folder, 'theirs')).filter((name) => /\.db(-wal|-mark)?$/.test(name))
      expect(files).toHaveLength(3)
      rmSync(join(cli.folder, '.troupe'), { recursive: true })
      mkdirSync(join(cli.folder, '.troupe'))
      for (const name of files) copyFileSync(join(cli.folder, 'theirs', name), join(cli.folder, '.troupe', name))
      expect((await cli.command('trust', 'store')).code).toBe(0)
      const cancelled = await cli.command('cancel', run_id)
      expect(cancelled.code, cancelled.err).toBe(0)
    },
    LONG,
  )

  test(
    'L98 while another process uses the store, `trust store` works, and `--new` is refused and changes nothing',
    async () => {
      const cli = await createElsewhere()
      const atWork = await startAtWork(cli, '.troupe')
      const before = readdirSync(join(cli.folder, '.troupe')).sort()
      const refused = await cli.command('trust', 'store', '--new')
      expect([refused.code, oneLine(refused.err)]).toEqual([
        1,
        expect.stringContaining('end the processes that use it'),
      ])
      expect(readdirSync(join(cli.folder, '.troupe')).sort()).toEqual(before)
      expect((await cli.command('trust', 'store')).code).toBe(0)
      expect((await cli.command('runs')).err).not.toContain('only read')
      atWork.kill('SIGKILL')
      await atWork.done
      mkdirSync(join(cli.folder, '.troupe/troupe.db-requests'), { recursive: true })
      const { put_aside } = JSON.parse((await cli.command('trust', 'store', '--new', '--json')).out)
      const beside = readdirSync(join(cli.folder, '.troupe')).filter((name) => name.startsWith('troupe.db-'))
      expect([beside, existsSync(`${put_aside}-requests`)]).toEqual([[], true])
    },
    LONG,
  )

  test(
    'L98 two processes that put the store aside at once lose none',
    async () => {
      const cli = await createElsewhere()
      await Promise.all([1, 2].map(() => cli.command('trust', 'store', '--new')))
      const names = readdirSync(join(cli.folder, '.troupe')).filter((name) => /put-aside-\d+\.db$/.test(name))
      const lists = await Promise.all(
        names.map((name) => cli.command('runs', '--json', '--store', join('.troupe', name))),
      )
      expect(lists.flatMap(({ out }) => JSON.parse(out))).toMatchObject([{ run_id: cli.run_id }])
    },
    LONG,
  )

  test(
    'L98 a file that is no store is not trusted, but put aside; a record that cannot be written is an error that says what to do',
    async () => {
      const cli = await createElsewhere()
      const store = join(cli.folder, '.troupe/troupe.db')
      for (const argv of [['store'], ['store', '--new']]) {
        const { code, err } = await cli.commandIn({ HOME: '/dev/null' }, 'trust', ...argv)
        expect([code, oneLine(err)], argv.join(' ')).toEqual([1, expect.stringContaining(`TROUPE_STORE=${store}`)])
      }
      expect((await cli.command('runs')).out).toContain(cli.run_id)
      writeFileSync(store, 'no store'.repeat(1000))
      const trusted = await cli.command('trust', 'store')
      expect([trusted.code, oneLine(trusted.err)]).toEqual([1, expect.stringContaining('is not a troupe store')])
      const { put_aside } = JSON.parse((await cli.command('trust', 'store', '--new', '--json')).out)
      expect(readFileSync(put_aside, 'utf8')).toContain('no store')
      const alone = await cli.command('trust')
      expect([alone.code, oneLine(alone.err)]).toEqual([2, expect.stringContaining("'store'")])
      const help = oneLine((await cli.command('trust', '--help')).out)
      for (const way of ['troupe-put-aside-1.db', '--store PATH']) expect(help).toContain(way)
    },
    LONG,
  )

  test(
    'E30 a detached run has the store that its command has created, also where that cannot be recorded',
    async () => {
      const cli = await createElsewhere('theirs')
      const model = await cli.script('one.json', singleAnswerScript('Done.'))
      const run = ['run', 'task', 'Go.', '--agent', 'default', '--no-tools', '--model', model, '--detach']
      const { code, err } = await cli.commandIn({ HOME: '/dev/null' }, ...run)
      expect(code, err).toBe(0)
      expect((await cli.command('watch')).out).toContain('Done.')
    },
    LONG,
  )

  test(
    'E28 E29 a program only reads the store at the default place, and goes on with the one that it names',
    async () => {
      const cli = await createElsewhere()
      const index = new URL('../../src/index.ts', import.meta.url).href
      await cli.write(
        'program.mjs',
        `import { createTroupe } from ${JSON.stringify(index)}
         const ends = []
         for (const place of [{}, { store: '.troupe' }]) {
           const troupe = await createTroupe({ config: false, ...place })
           const { items } = await troupe.gates()
           const cancel = troupe.cancel(${JSON.stringify(cli.run_id)})
           ends.push([items.length, await cancel.then(({ status }) => status, ({ code }) => code)])
           await troupe.close()
         }
         console.log(JSON.stringify(ends))`,
      )
      const { stdout } = await promisify(execFile)(process.execPath, ['program.mjs'], {
        cwd: cli.folder,
        env: { ...process.env, ...cli.env },
      })
      expect(JSON.parse(stdout)).toEqual([
        [1, 'store_not_yours'],
        [1, 'cancelled'],
      ])
    },
    LONG,
  )

  test('L98 without a store there is nothing to trust, and through a link nothing is put aside', async () => {
    const cli = await createElsewhere('elsewhere/.troupe')
    const missing = await cli.command('trust', 'store')
    expect([missing.code, oneLine(missing.err)]).toEqual([2, expect.stringContaining('there is no store')])
    symlinkSync(join(cli.folder, 'elsewhere/.troupe'), join(cli.folder, '.troupe'))
    const linked = await cli.command('trust', 'store', '--new')
    expect([linked.code, oneLine(linked.err)]).toEqual([1, expect.stringContaining('is a link')])
    expect(existsSync(join(cli.folder, 'elsewhere/.troupe/troupe.db'))).toBe(true)
  })

  test(
    'E29 `--store` and absolute paths of TROUPE_STORE and the user name it; relative ones and those of a project do not',
    async () => {
      const cli = await createElsewhere('data/runs')
      const resume = ['resume', cli.run_id, '--no-tools', '--trust-project']
      const absolute = join(cli.folder, 'data/runs')
      const codeOf = async (env: NodeJS.ProcessEnv, ...argv: string[]) =>
        (await cli.commandIn(env, ...resume, ...argv)).code
      expect(await codeOf({}, '--store', 'data/runs')).toBe(3)
      expect(await codeOf({ TROUPE_STORE: 'data/runs' })).toBe(2)
      expect(await codeOf({ TROUPE_STORE: absolute })).toBe(3)
      const ofUser = join(cli.env.HOME, '.config/troupe')
      mkdirSync(ofUser, { recursive: true })
      writeFileSync(join(ofUser, 'config.json'), JSON.stringify({ store: absolute }))
      expect(await codeOf({})).toBe(3)
      renameSync(join(cli.folder, 'data'), join(ofUser, 'data'))
      const configure = (store: string) => writeFileSync(join(ofUser, 'config.json'), JSON.stringify({ store }))
      configure('data/runs')
      expect(await codeOf({})).toBe(2)
      configure(join(ofUser, 'data/runs'))
      expect(await codeOf({})).toBe(3)
      renameSync(join(ofUser, 'data'), join(cli.folder, 'data'))
      configure(relative(ofUser, absolute))
      expect(await codeOf({})).toBe(2)
      writeFileSync(join(ofUser, 'config.json'), '{}')
      await cli.write('troupe.config.json', { store: absolute })
      expect(await codeOf({})).toBe(2)
    },
    LONG,
  )

  test(
    'E31 E41 `serve --no-execute` shows it and refuses answers, until another process trusts it',
    async () => {
      const cli = await createElsewhere()
      const child = cli.startWith({ env: cli.env }, 'serve', '--port', '0', '--json', '--no-tools', '--no-execute')
      const [text] = await child.waitFor(/\{"address".*\}/)
      const { address, token } = JSON.parse(text) as { address: string; token: string }
      const headers = { authorization: `Bearer ${token}`, 'x-troupe-request': '1' }
      const port = Number(new URL(address).port)
      const send = (path: string, body?: unknown) =>
        sendRequest({ port, path }, { headers, ...(body === undefined ? undefined : { method: 'POST', body }) })
      expect((await send(`/api/runs/${cli.run_id}`)).json).toMatchObject({ status: 'waiting' })
      const [{ hash }] = (await send('/api/inbox')).json as [InboxItem]
      const answer = () => send(`/api/gates/${cli.gate_id}/answer`, { answer: 'red', hash })
      const refused = await answer()
      expect([refused.status, JSON.stringify(refused.json)]).toEqual([409, expect.stringContaining('store_not_yours')])
      expect(JSON.stringify(refused.json)).not.toContain(cli.folder)
      expect((await cli.command('trust', 'store')).code).toBe(0)
      expect((await answer()).status).toBeLessThan(300)
    },
    LONG,
  )
})
