import { z } from 'zod'
import type { Context } from '../../kernel/context.ts'
import type { Event } from '../../kernel/event.ts'
import { DEFAULT_LIMITS } from '../../kernel/limits.ts'
import type { Pattern } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import type { EngineHarness } from './engine-harness.ts'

/** A pattern in one line. */
export function contractPattern(name: string, execute: (context: Context) => Promise<unknown>): Pattern {
  return definePattern<unknown>({
    name,
    version: 1,
    description: `${name} of the engine contract`,
    category: 'action',
    delegates: false,
    input: z.unknown(),
    output: z.unknown(),
    execute: async (context) => ({ success: true, output: await execute(context) }),
  })
}

/** Writes a run of this pattern down, not yet executed. */
export async function createContractRun(stage: EngineHarness, name: string, run_id = `r_${name}`): Promise<string> {
  const data = { format: 1 as const, project: 'default', pattern: name, version: 1, input: {}, limits: DEFAULT_LIMITS }
  await stage.store.createRun({ run_id, seq: 1, at: 0, type: 'run:start', data })
  return run_id
}

export async function readEvents(stage: EngineHarness, run_id: string, type?: string): Promise<Event[]> {
  const events = await stage.store.events(run_id)
  return type === undefined ? events : events.filter((event) => event.type === type)
}

export async function readStatus(stage: EngineHarness, run_id: string): Promise<string | undefined> {
  return (await stage.store.run(run_id))?.status
}

/** The error a promise is rejected with. */
export async function captureRejection(promise: Promise<unknown>): Promise<{ code?: string }> {
  try {
    await promise
  } catch (error) {
    return error as { code?: string }
  }
  return {}
}
