import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { RunScenario } from './chaos-run.ts'
import type { CollaborationOutcome } from './collaborate-oracle.ts'
import { collaborationOutcome } from './collaborate-oracle.ts'
import { finishRun } from './finish-run.ts'
import { openRealTroupe, realFaultHooks, runToEnd } from './real-process.ts'

/** The outcome that a run has without faults, and the boundaries that it passes. */
export interface UndisturbedRun {
  passed: number
  expected: CollaborationOutcome
}

/** Executes a run without faults in this process. */
export function runUndisturbed(scenario: RunScenario): Promise<UndisturbedRun> {
  return withFolder(async (folder) => {
    const hooks = realFaultHooks(folder, () => {})
    const troupe = await openRealTroupe(await openSqlite(join(folder, 'troupe.db')), hooks, scenario)
    await runToEnd(troupe, scenario.start)
    await troupe.close()
    return { passed: hooks.passed, expected: collaborationOutcome(await finishRun(folder, scenario)) }
  })
}

/** Removes the folder afterwards. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-sigkill-'))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
