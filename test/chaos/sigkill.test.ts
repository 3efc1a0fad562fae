import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { runChild } from './child-process.ts'
import { finishRun } from './finish-run.ts'
import type { ExpectedRun } from './oracle.ts'
import { expectedFrom, runProblems } from './oracle.ts'

/*
 * The reference run in real processes on SQLite, each killed with SIGKILL at one boundary. This process then takes the run
 * over at once, because the owner is dead. CHAOS_KILLS is `all` or a number of boundaries, chosen by CHAOS_KILL_SEED.
 */

const CHILD = fileURLToPath(new URL('./sigkill-child.ts', import.meta.url))
const KILLS = process.env.CHAOS_KILLS ?? '40'
const SEED = Number(process.env.CHAOS_KILL_SEED ?? Date.now() % 1_000_000)
const TIMEOUT_MS = 600_000

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-chaos-'))
  folders.push(folder)
  return folder
}

/** Kills a process at a boundary, finishes the run here, and returns the problems. */
async function problemsAfterKill(boundary: number, expected: ExpectedRun): Promise<string[]> {
  const folder = createFolder()
  const exit = await runChild(CHILD, folder, String(boundary))
  if (exit.signal !== 'SIGKILL' && exit.code !== 0) return [`${boundary}: the process failed: ${exit.output}`]
  const found = runProblems(await finishRun(folder), expected)
  rmSync(folder, { recursive: true, force: true })
  return found.map((problem) => `${boundary}: ${problem}`)
}

/** All boundaries, or a random selection. */
function selectBoundaries(count: number): number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1)
  if (KILLS === 'all') return all
  const random = seededRandom(SEED)
  return all
    .map((boundary) => ({ boundary, order: random() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, Number(KILLS))
    .map(({ boundary }) => boundary)
}

test(
  'X1 after SIGKILL at any boundary, a run on SQLite resumes in another process with the same result',
  async () => {
    const folder = createFolder()
    const undisturbed = await runChild(CHILD, folder, '0')
    expect(undisturbed).toMatchObject({ code: 0 })
    const { status, passed } = JSON.parse(undisturbed.output) as { status: string; passed: number }
    expect(status).toBe('completed')
    const expected = expectedFrom(await finishRun(folder))
    const boundaries = selectBoundaries(passed)
    const found: string[] = []
    const worker = async () => {
      for (let boundary = boundaries.pop(); boundary !== undefined; boundary = boundaries.pop()) {
        found.push(...(await problemsAfterKill(boundary, expected)))
      }
    }
    await Promise.all([worker(), worker()])
    expect(found, `CHAOS_KILL_SEED=${SEED} CHAOS_KILLS=${KILLS}, of ${passed} boundaries`).toEqual([])
  },
  TIMEOUT_MS,
)
