import { z } from 'zod'
import type { Agent } from '../../src/kernel/agent.ts'
import type { Event } from '../../src/kernel/event.ts'
import type { Limits } from '../../src/kernel/limits.ts'
import { DEFAULT_LIMITS } from '../../src/kernel/limits.ts'
import type { Usage } from '../../src/kernel/model.ts'
import type { PriceBook } from '../../src/kernel/price.ts'
import type { Tool, ToolCall } from '../../src/kernel/tool.ts'
import { defineTool } from '../../src/kernel/tool.ts'

/*
 * The reference run: three levels, parallel children, a background child, a resumed child, acting tools with and without
 * `recover`, an idempotent and a reading one, a call that has to be corrected, a failing tool and a gate. Its answer
 * names everything that happened below, so that two runs that differ anywhere differ in their result.
 */

/** What lies outside of the process and outlives it. */
export interface ExternalSystem {
  /** A provider received this call. */
  recordCall(key: string, usage: Usage): void
  /** An effect takes place. */
  recordAction(tool: string, idempotency_key: string): void
  hasActed(idempotency_key: string): boolean
}

/** Where a process may be struck, and what it sees of the world. */
export interface FaultHooks {
  external: ExternalSystem
  /** A boundary: the process may end here, or stand still. `undefined` means go on at once. */
  passBoundary(place: string): Promise<void> | undefined
  /** Passes time, if this scene has any to pass. */
  delay(what: string): Promise<void> | undefined
  /** Keys of the calls that this process has handed to a provider or a tool, and that have not returned. */
  readonly active_calls: Set<string>
}

export const RUN_ID = 'r_reference'

export const limits: Limits = Object.freeze({ ...DEFAULT_LIMITS, depth: 2, calls: 100, tokens: 2_000_000, usd: 5 })

/** One dollar for a million tokens, in and out alike. */
export const prices: PriceBook = { cost: (_model, { input, output }) => (input + output) / 1_000_000 }

export const agents: Agent[] = ['lead', 'alpha', 'beta', 'gamma', 'leaf'].map((name) => ({
  name,
  description: `${name} of the reference run`,
  instructions: `You are ${name}.`,
}))

export function startEvent(at: number): Event {
  const input = { agent: 'lead', instruction: 'begin', context_depth: 'none', context_turns: 5 }
  const rest = { context_scope: 'conversation', background: false, cache: false }
  const run = { format: 1 as const, project: 'default', pattern: 'task', version: 1, limits }
  return { run_id: RUN_ID, seq: 1, at, type: 'run:start', data: { ...run, input: { ...input, ...rest } } }
}

export function referenceTools(scene: FaultHooks): Tool[] {
  const acting = async (tool: string, call: ToolCall) => {
    const { idempotency_key } = call
    scene.active_calls.add(idempotency_key)
    await (scene.passBoundary(`${tool}:before`) ?? scene.delay(tool))
    scene.external.recordAction(tool, idempotency_key)
    await scene.passBoundary(`${tool}:after`)
    scene.active_calls.delete(idempotency_key)
    return { success: true, output: `${tool} ok` }
  }
  const facts = (name: string) => ({ name, description: `${name} something`, category: 'action' as const })
  return [
    defineTool({
      ...facts('ship'),
      kind: 'act',
      input: z.object({ item: z.string() }),
      execute: (_input, call) => acting('ship', call),
      async recover(_input, call) {
        await scene.passBoundary('ship:recover')
        return scene.external.hasActed(call.idempotency_key) ? { success: true, output: 'ship ok' } : undefined
      },
    }),
    defineTool({
      ...facts('charge'),
      kind: 'act',
      input: z.object({ amount: z.number() }),
      execute: (_input, call) => acting('charge', call),
    }),
    defineTool({
      ...facts('put'),
      kind: 'idempotent',
      input: z.object({ name: z.string() }),
      execute: (_input, call) => acting('put', call),
    }),
    defineTool({
      ...facts('look'),
      kind: 'read',
      input: z.object({ topic: z.string() }),
      async execute({ topic }) {
        await (scene.passBoundary('look:before') ?? scene.delay('look'))
        return { success: true, output: `saw ${topic}` }
      },
    }),
    defineTool({
      ...facts('boom'),
      kind: 'read',
      input: z.object({}),
      async execute() {
        await (scene.passBoundary('boom:before') ?? scene.delay('boom'))
        throw new Error('it broke')
      },
    }),
  ]
}
