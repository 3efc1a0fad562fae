import type { Context } from '../../src/kernel/context.ts'
import type { Event } from '../../src/kernel/event.ts'
import { DEFAULT_LIMITS } from '../../src/kernel/limits.ts'
import type { Pattern } from '../../src/kernel/pattern.ts'
import { definePattern } from '../../src/kernel/pattern.ts'
import * as z from '../../src/schema/zod.ts'
import type { EngineHarness } from './engine-harness.ts'

/** Defines a minimal pattern from its `execute` function. */
export function contractPattern(name: string, execute: (context: Context) => Promise<unknown>): Pattern {
  return definePattern({
    name,
    version: 1,
    description: `${name} of the engine contract`,
    category: 'action',
    input: z.unknown(),
    output: z.unknown(),
    execute: async (context) => ({ success: true, output: await execute(context) }),
  })
}

/** Creates a run of the named pattern without executing it. */
export async function createContractRun(harness: EngineHarness, name: string, run_id = `r_${name}`): Promise<string> {
  await harness.store.createRun(contractRunStart(name, run_id))
  return run_id
}

export function contractRunStart(name: string, run_id = `r_${name}`): Event {
  const data = { format: 2 as const, project: 'default', pattern: name, version: 1, input: {}, limits: DEFAULT_LIMITS }
  return { run_id, seq: 1, at: 0, type: 'run:start', data }
}

export async function readRunEvents(harness: EngineHarness, run_id: string, type?: string): Promise<Event[]> {
  const events = await harness.store.events(run_id)
  return type === undefined ? events : events.filter((event) => event.type === type)
}

export async function readStatus(harness: EngineHarness, run_id: string): Promise<string | undefined> {
  return (await harness.store.run(run_id))?.status
}

/** Returns the error that a promise rejects with, or `{}` if it resolves. */
export async function captureRejection(promise: Promise<unknown>): Promise<{ code?: string }> {
  try {
    await promise
  } catch (error) {
    return error as { code?: string }
  }
  return {}
}
