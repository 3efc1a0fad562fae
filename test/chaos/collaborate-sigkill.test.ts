import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { runChild } from './child-process.ts'
import { collaborationProblems } from './collaborate-oracle.ts'
import { COLLABORATION_NAMES, collaborationScenario } from './collaborate-scenarios.ts'
import { finishRun } from './finish-run.ts'
import type { UndisturbedRun } from './undisturbed-run.ts'
import { runUndisturbed, withFolder } from './undisturbed-run.ts'

/*
 * Collaborations in real processes on SQLite, killed with SIGKILL at boundaries chosen by CHAOS_KILL_SEED; this process
 * finishes them. With CHAOS_KILLS=all every collaboration is killed several times.
 */

const CHILD = fileURLToPath(new URL('./sigkill-child.ts', import.meta.url))
const KILLS = process.env.CHAOS_KILLS === 'all' ? 45 : 8
const SEED = Number(process.env.CHAOS_KILL_SEED ?? Date.now() % 1_000_000)
const TIMEOUT_MS = 600_000

test(
  'X1 X3 J16 after SIGKILL at random boundaries, collaborations on SQLite resume in another process with the same result',
  async () => {
    const random = seededRandom(SEED)
    const start = Math.floor(random() * COLLABORATION_NAMES.length)
    const names = Array.from(
      { length: KILLS },
      (_, index) => COLLABORATION_NAMES[(start + index * 5) % COLLABORATION_NAMES.length] ?? '',
    )
    const undisturbed = new Map<string, UndisturbedRun>()
    const found: string[] = []
    let killed = 0
    for (const name of names) {
      const { passed, expected } = undisturbed.get(name) ?? (await runUndisturbed(collaborationScenario(name)))
      undisturbed.set(name, { passed, expected })
      const boundary = 1 + Math.floor(random() * passed)
      await withFolder(async (folder) => {
        const exit = await runChild(CHILD, folder, String(boundary), name)
        if (exit.signal === 'SIGKILL') killed += 1
        else if (exit.code !== 0) found.push(`${name} at ${boundary}: the process failed: ${exit.output}`)
        const outcome = await finishRun(folder, collaborationScenario(name))
        for (const problem of collaborationProblems(outcome, expected)) found.push(`${name} at ${boundary}: ${problem}`)
      })
    }
    expect(found, `CHAOS_KILL_SEED=${SEED}`).toEqual([])
    expect(killed).toBeGreaterThan(KILLS / 2)
  },
  TIMEOUT_MS,
)
