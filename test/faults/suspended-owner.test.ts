import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTroupe } from '../../src/index.ts'

const CHILD = fileURLToPath(new URL('suspended-child.ts', import.meta.url))
let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-suspended-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function lines(name: string): string[] {
  const path = join(folder, name)
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
}

/** The lease of 30 seconds is over, without the wait: the clock of the stopped process jumps when it goes on. */
function expireLease(): string {
  const db = new DatabaseSync(join(folder, 'store.db'), { timeout: 5000 })
  db.exec('UPDATE runs SET lease_until = 1')
  const run_id = String(db.prepare('SELECT run_id FROM runs').get()?.run_id)
  db.close()
  return run_id
}

test.each(['hook', 'execute'])(
  'X5 U45 a process that is stopped (SIGSTOP, in its %s) beyond its lease does not act after another has taken over',
  async (place) => {
    const first = spawn(process.execPath, [CHILD, folder, place], { stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    first.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
    })
    try {
      await expect.poll(() => out).toContain(`paused ${place}`)
      first.kill('SIGSTOP')
      const run_id = expireLease()
      const second = spawnSync(process.execPath, [CHILD, folder, 'nowhere', run_id], { encoding: 'utf8' })
      expect([second.stdout, second.stderr]).toEqual(['ended completed \n', ''])
      // Its lookup found nothing: the stopped process had not acted.
      expect([lines('ledger').length, lines('recovered').length]).toEqual([1, place === 'execute' ? 1 : 0])
      writeFileSync(join(folder, 'go'), '')
      first.kill('SIGCONT')
      await once(first, 'exit')
    } finally {
      first.kill('SIGKILL')
    }
    expect(out).toContain('ended')
    expect(lines('ledger')).toHaveLength(1)
    const troupe = await createTroupe({ store: join(folder, 'store.db') })
    const { items: runs } = await troupe.runs()
    expect(runs).toMatchObject([{ status: 'completed' }])
    expect((await troupe.verify()).findings).toEqual([])
    await troupe.close()
  },
  60_000,
)
