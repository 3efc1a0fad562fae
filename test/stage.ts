import type { Agent, Model, RunResult, Troupe, TroupeOptions } from '../src/index.ts'
import { createTroupe } from '../src/index.ts'
import { scriptedModel } from '../src/models/scripted.ts'

type Rule = Record<string, unknown>

export interface Stage {
  troupe: Troupe
  /** Runs `task` with an agent and an instruction. */
  task(agent: string, instruction: string, more?: Record<string, unknown>): Promise<RunResult>
  /** Types of the events of a run, in order. */
  types(run_id: string): Promise<string[]>
}

/** An agent in one line. */
export function agent(name: string, more: Partial<Agent> = {}): Agent {
  return { name, description: `${name} of the test`, instructions: `You are ${name}.`, ...more }
}

/** A model that plays these rules; a miss is an error. */
export function script(...rules: Rule[]): Model {
  return scriptedModel({ rules, otherwise: 'error' } as never)
}

/** A troupe in memory (unless said otherwise) with a scripted model. */
export async function stage(options: TroupeOptions & { rules?: Rule[] }): Promise<Stage> {
  const { rules, ...rest } = options
  const troupe = await createTroupe({ store: 'memory', ...(rules ? { model: script(...rules) } : undefined), ...rest })
  return {
    troupe,
    task: (name, instruction, more) => troupe.run('task', { agent: name, instruction, ...more }),
    types: async (run_id) => (await troupe.events(run_id)).map((event) => event.type),
  }
}
