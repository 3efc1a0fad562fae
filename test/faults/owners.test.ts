import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { CliFixture } from '../e2e/cli-fixture.ts'
import { createCliFixture } from '../e2e/cli-fixture.ts'

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
/** A container on the same volume, with the same hostname. */
const PID_NAMESPACE = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc']
/** As above, with the /proc of the host. */
const HOST_PROC = PID_NAMESPACE.slice(0, -1)
const OTHER_HOSTNAME = [
  'unshare',
  '--user',
  '--map-root-user',
  '--uts',
  'sh',
  '-c',
  'hostname other-host && exec "$0" "$@"',
]
const hasNamespaces = spawnSync(PID_NAMESPACE[0] ?? '', [...PID_NAMESPACE.slice(1), 'true']).status === 0

/** Starts a run whose model takes a minute, inside `wrapper`. */
async function startRun(fixture: CliFixture, wrapper: readonly string[]) {
  const model = await fixture.script('script.json', [{ reply: { text: 'done', delayMs: 60_000 } }])
  const [program = '', ...args] = [...wrapper, process.execPath, MAIN, 'run', 'task', 'go', '--model', model]
  const child = spawn(program, args, { cwd: fixture.folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let err = ''
  const run_id = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString()
      const started = /run (r_\w+) started[\s\S]*starts/.exec(err)?.[1]
      if (started) resolve(started)
    })
    child.on('exit', () => reject(new Error(err)))
  })
  const kill = async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  return { run_id, kill }
}

async function attempts(fixture: CliFixture, run_id: string): Promise<number> {
  const { out } = await fixture.troupe('show', run_id, '--events', '--json')
  return out.split('\n').filter((line) => line.includes('"run:attempt"')).length
}

/** Runs a command of troupe inside `wrapper`. */
function troupeIn(fixture: CliFixture, wrapper: readonly string[], ...argv: string[]) {
  const [program = '', ...args] = [...wrapper, process.execPath, MAIN, ...argv]
  const { status, stderr } = spawnSync(program, args, { cwd: fixture.folder, encoding: 'utf8' })
  return { code: status, err: stderr }
}

describe.skipIf(!hasNamespaces)('owners in other namespaces', () => {
  test.each([
    ['of a container is not taken over from the host', PID_NAMESPACE, []],
    ['of the host is not taken over from a container', [], PID_NAMESPACE],
    ['of a container is not taken over from another container', PID_NAMESPACE, PID_NAMESPACE],
    ['of the host is not taken over from a container with its /proc', [], HOST_PROC],
  ])('O2 a live owner %s', async (_where, ownerIn, resumerIn) => {
    const fixture = await createCliFixture()
    const owner = await startRun(fixture, ownerIn)
    const resumed = troupeIn(fixture, resumerIn, 'resume', owner.run_id)
    expect([resumed.code, resumed.err.replace(/\s+/g, ' ')]).toEqual([
      1,
      expect.stringContaining('is running in another process'),
    ])
    expect(await attempts(fixture, owner.run_id)).toBe(1)
    await owner.kill()
  })

  test('O2 a dead owner of a container may be alive for the host: its run is free when the lease ends', async () => {
    const fixture = await createCliFixture()
    const owner = await startRun(fixture, PID_NAMESPACE)
    await owner.kill()
    expect(troupeIn(fixture, [], 'resume', owner.run_id).err.replace(/\s+/g, ' ')).toContain(
      'is running in another process',
    )
    expect(await attempts(fixture, owner.run_id)).toBe(1)
  })

  test('O1 a dead owner is taken over at once under another hostname of the same machine', async () => {
    const fixture = await createCliFixture()
    const owner = await startRun(fixture, [])
    await owner.kill()
    await fixture.script('script.json', [{ reply: { text: 'done' } }])
    expect(troupeIn(fixture, OTHER_HOSTNAME, 'resume', owner.run_id)).toMatchObject({ code: 0 })
    expect(await attempts(fixture, owner.run_id)).toBe(2)
  })
})

test('E9 of three processes that resume a killed run at once, one executes it', async () => {
  const fixture = await createCliFixture()
  const owner = await startRun(fixture, [])
  await owner.kill()
  await fixture.script('script.json', [{ reply: { text: 'done', delayMs: 4000 } }])
  const resumed = await Promise.all([1, 2, 3].map(() => fixture.troupe('resume', owner.run_id)))
  expect(resumed.map(({ code }) => code).sort()).toEqual([0, 1, 1])
  expect(await attempts(fixture, owner.run_id)).toBe(2)
})
