import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { routeFrom } from '../support/team-harness.ts'
import { runChild } from './child-process.ts'
import { finishRun } from './finish-run.ts'
import { expectedFromTeam, teamProblems } from './team-oracle.ts'
import { calledTeamScenario } from './team-scenario.ts'

/*
 * A team that an agent calls with the tool `team`, in real processes on SQLite, killed with SIGKILL at boundaries chosen by
 * CHAOS_KILL_SEED; this process finishes the run. With CHAOS_KILLS=all it is killed at every boundary.
 */

const CHILD = fileURLToPath(new URL('./sigkill-child.ts', import.meta.url))
const KILLS = 6
const SEED = Number(process.env.CHAOS_KILL_SEED ?? Date.now() % 1_000_000)
const TIMEOUT_MS = 600_000

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

async function runKilledAt(boundary: number) {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-team-tool-'))
  folders.push(folder)
  const exit = await runChild(CHILD, folder, String(boundary), 'called team')
  return { exit, outcome: await finishRun(folder, calledTeamScenario) }
}

function selectBoundaries(count: number): number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1)
  if (process.env.CHAOS_KILLS === 'all') return all
  const random = seededRandom(SEED)
  // One in each part of the run, so that the kills are before, inside and after the team.
  return Array.from({ length: KILLS }, (_, part) => 1 + Math.floor(((part + random()) * count) / KILLS))
}

test(
  'TM65 after SIGKILL anywhere, a called team resumes in another process with the same result; no finished turn or action is repeated',
  async () => {
    const undisturbed = await runKilledAt(0)
    expect(undisturbed.exit).toMatchObject({ code: 0 })
    const expected = expectedFromTeam(undisturbed.outcome)
    expect(routeFrom(undisturbed.outcome.journal)).toEqual(['scout', 'pair', 'inner', 'worker', 'closer'])
    expect(expected.run.response).toContain('[lead: ')
    const { passed } = JSON.parse(undisturbed.exit.output) as { passed: number }
    const found: string[] = []
    let killed = 0
    for (const boundary of selectBoundaries(passed)) {
      const { exit, outcome } = await runKilledAt(boundary)
      if (exit.signal === 'SIGKILL') killed += 1
      else if (exit.code !== 0) found.push(`${boundary}: the process failed: ${exit.output}`)
      for (const problem of teamProblems(outcome, expected)) found.push(`${boundary}: ${problem}`)
    }
    expect(found, `CHAOS_KILL_SEED=${SEED}, of ${passed} boundaries`).toEqual([])
    expect(killed).toBeGreaterThan(KILLS / 2)
  },
  TIMEOUT_MS,
)
