import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openSqlite } from '../../src/store/sqlite.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { runChild } from './child-process.ts'
import { collaborationProblems } from './collaborate-oracle.ts'
import { tableProblems } from './consult-oracle.ts'
import { CONSULT_NAMES, consultScenario } from './consult-scenarios.ts'
import { finishRun } from './finish-run.ts'
import type { UndisturbedRun } from './undisturbed-run.ts'
import { runUndisturbed, withFolder } from './undisturbed-run.ts'

/*
 * Consultations in real processes on SQLite, killed with SIGKILL at boundaries chosen by CHAOS_KILL_SEED: the asker's process is gone while
 * the specialist works, and this process finishes them. With TROUPE_STRESS=1 every consultation is killed several times.
 */

const CHILD = fileURLToPath(new URL('./sigkill-child.ts', import.meta.url))
const KILLS = process.env.TROUPE_STRESS === '1' ? 40 : 4
const SEED = Number(process.env.CHAOS_KILL_SEED ?? Date.now() % 1_000_000)
const TIMEOUT_MS = 600_000

/** Differences between the tables and the journal: as the processes left them, and computed again. */
async function storedProblems(folder: string, outcome: Awaited<ReturnType<typeof finishRun>>): Promise<string[]> {
  const path = join(folder, 'troupe.db')
  const problems = async () => {
    const store = await openSqlite(path)
    const found = await tableProblems(store, outcome.journal)
    await store.close()
    return found
  }
  const kept = await problems()
  const database = new DatabaseSync(path)
  database.exec('UPDATE projections SET stale = 1')
  database.close()
  return [...kept, ...(await problems()).map((problem) => `computed again, ${problem}`)]
}

test(
  'X1 X3 after SIGKILL at random boundaries, consultations on SQLite resume in another process with the same result and tables',
  async () => {
    const random = seededRandom(SEED)
    const start = Math.floor(random() * CONSULT_NAMES.length)
    const undisturbed = new Map<string, UndisturbedRun>()
    const found: string[] = []
    let killed = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const name = CONSULT_NAMES[(start + kill * 3) % CONSULT_NAMES.length] ?? ''
      const { passed, expected } = undisturbed.get(name) ?? (await runUndisturbed(consultScenario(name)))
      undisturbed.set(name, { passed, expected })
      const boundary = 1 + Math.floor(random() * passed)
      await withFolder(async (folder) => {
        const exit = await runChild(CHILD, folder, String(boundary), `consult ${name}`)
        if (exit.signal === 'SIGKILL') killed += 1
        else if (exit.code !== 0) found.push(`${name} at ${boundary}: the process failed: ${exit.output}`)
        const outcome = await finishRun(folder, consultScenario(name))
        const problems = [...collaborationProblems(outcome, expected), ...(await storedProblems(folder, outcome))]
        for (const problem of problems) found.push(`${name} at ${boundary}: ${problem}`)
      })
    }
    expect(found, `CHAOS_KILL_SEED=${SEED}`).toEqual([])
    expect(killed).toBeGreaterThanOrEqual(KILLS / 2)
  },
  TIMEOUT_MS,
)
