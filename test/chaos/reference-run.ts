import { z } from 'zod'
import type { Agent } from '../../src/kernel/agent.ts'
import type { Event } from '../../src/kernel/event.ts'
import type { Limits } from '../../src/kernel/limits.ts'
import { DEFAULT_LIMITS } from '../../src/kernel/limits.ts'
import type { Usage } from '../../src/kernel/model.ts'
import type { PriceBook } from '../../src/kernel/spend.ts'
import type { Tool, ToolCall } from '../../src/kernel/tool.ts'
import { defineTool } from '../../src/tools/define-tool.ts'

/*
 * The reference run: three levels, parallel, background and resumed children, `act` tools with and without `recover`, an
 * idempotent and a read tool, an invalid tool call, a failing tool and a gate. Its response contains all results below it,
 * so that two runs that differ anywhere differ in their output.
 */

/** External systems that outlive the process. */
export interface ExternalSystem {
  /** Records a model request that reached the provider. */
  recordCall(key: string, usage: Usage): void
  /** Records a side effect of a tool. */
  recordAction(tool: string, idempotency_key: string): void
  hasActed(idempotency_key: string): boolean
}

/** Fault injection points of a process, and the external systems it uses. */
export interface FaultHooks {
  external: ExternalSystem
  /** A point where the process may be killed or suspended; `undefined` means continue at once. */
  passBoundary(name: string): Promise<void> | undefined
  /** Simulates latency; `undefined` means none. */
  delay(operation: string): Promise<void> | undefined
  /** Keys of the model requests and tool calls in flight. */
  readonly active_calls: Set<string>
}

export const RUN_ID = 'r_reference'

export const limits: Limits = Object.freeze({ ...DEFAULT_LIMITS, depth: 2, calls: 100, tokens: 2_000_000, usd: 5 })

/** One dollar per million input or output tokens. */
export const prices: PriceBook = { cost: (_model, { input, output }) => (input + output) / 1_000_000 }

export const agents: Agent[] = ['lead', 'alpha', 'beta', 'gamma', 'leaf'].map((name) => ({
  name,
  description: `${name} of the reference run`,
  instructions: `You are ${name}.`,
}))

export function startEvent(at: number): Event {
  const input = { agent: 'lead', instruction: 'begin', context_depth: 'none', context_turns: 5 }
  const rest = { context_scope: 'conversation', background: false, cache: false }
  const run = { format: 2 as const, project: 'default', pattern: 'task', version: 1, limits }
  return { run_id: RUN_ID, seq: 1, at, type: 'run:start', data: { ...run, input: { ...input, ...rest } } }
}

export function referenceTools(hooks: FaultHooks): Tool[] {
  const executeAction = async (tool: string, call: ToolCall) => {
    const { idempotency_key } = call
    hooks.active_calls.add(idempotency_key)
    await (hooks.passBoundary(`${tool}:before`) ?? hooks.delay(tool))
    hooks.external.recordAction(tool, idempotency_key)
    await hooks.passBoundary(`${tool}:after`)
    hooks.active_calls.delete(idempotency_key)
    return { success: true, output: `${tool} ok` }
  }
  const metadata = (name: string) => ({
    name,
    description: `Tool ${name} of the reference run.`,
    category: 'action' as const,
  })
  return [
    defineTool({
      ...metadata('ship'),
      kind: 'act',
      input: z.object({ item: z.string() }),
      execute: (_input, call) => executeAction('ship', call),
      async recover(_input, call) {
        await hooks.passBoundary('ship:recover')
        return hooks.external.hasActed(call.idempotency_key) ? { success: true, output: 'ship ok' } : undefined
      },
    }),
    defineTool({
      ...metadata('charge'),
      kind: 'act',
      input: z.object({ amount: z.number() }),
      execute: (_input, call) => executeAction('charge', call),
    }),
    defineTool({
      ...metadata('put'),
      kind: 'idempotent',
      input: z.object({ name: z.string() }),
      execute: (_input, call) => executeAction('put', call),
    }),
    defineTool({
      ...metadata('look'),
      kind: 'read',
      input: z.object({ topic: z.string() }),
      async execute({ topic }) {
        await (hooks.passBoundary('look:before') ?? hooks.delay('look'))
        return { success: true, output: `saw ${topic}` }
      },
    }),
    defineTool({
      ...metadata('boom'),
      kind: 'read',
      input: z.object({}),
      async execute() {
        await (hooks.passBoundary('boom:before') ?? hooks.delay('boom'))
        throw new Error('tool failure')
      },
    }),
  ]
}
