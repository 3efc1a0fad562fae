import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import type { BuildOutput, Event, RunResult, TroupeOptions } from '../../src/index.ts'
import type { BuildScript, SampleRepository } from './build-sample.ts'
import { modelFromScript, TEST_COMMAND, writeSampleRepository } from './build-sample.ts'
import { createTroupeWithStore, runToEnd } from './test-troupe.ts'

export type { BuildScript, SampleRepository, ScriptedCall } from './build-sample.ts'
export { json, planTask, SOLUTIONS, solve, TEST_COMMAND, write } from './build-sample.ts'

export function createSampleRepository(more: Record<string, string> = {}): SampleRepository {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'troupe build ü-')))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return writeSampleRepository(path, more)
}

export interface TestBuild {
  run(input: Record<string, unknown>): Promise<RunResult>
  output(result: RunResult): BuildOutput
  events(run_id: string): Promise<Event[]>
  troupe: Awaited<ReturnType<typeof createTroupeWithStore>>
}

/** A troupe in a repository with a scripted model. Worktrees are in a folder of the test. */
export async function createTestBuild(
  { path }: SampleRepository,
  script: BuildScript,
  more: Partial<TroupeOptions> = {},
): Promise<TestBuild> {
  const state = realpathSync(mkdtempSync(join(tmpdir(), 'troupe state ü-')))
  onTestFinished(() => rmSync(state, { recursive: true, force: true }))
  vi.stubEnv('XDG_STATE_HOME', state)
  onTestFinished(() => void vi.unstubAllEnvs())
  const model = modelFromScript(script)
  const options = { model, workspace: { workspace: path }, config: false as const, ...more }
  const troupe = await createTroupeWithStore({ ...options, build: { checks: { test: TEST_COMMAND }, ...more.build } })
  onTestFinished(() => troupe.close())
  return {
    troupe,
    run: (input) => runToEnd(troupe, 'build' as string, { request: 'Write the three missing functions', ...input }),
    output: (result) => result.output as BuildOutput,
    events: async (run_id) => (await troupe.events(run_id).all()) as Event[],
  }
}

export function dataOf({ data }: Event): Record<string, unknown> {
  return data as unknown as Record<string, unknown>
}
