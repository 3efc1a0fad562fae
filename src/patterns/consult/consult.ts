import type { Pattern } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import type * as z from '../../schema/zod.ts'
import type { ConsultConfig } from './consult-config.ts'
import { consultSettings, DEFAULT_CONSULT_CONFIG, parseConsultConfig } from './consult-config.ts'
import { consultEvents } from './events.ts'
import { advertisedToolInput, checkConsultInput, consultInput, consultToolInput } from './input.ts'
import type { ConsultOutput } from './output.ts'
import { consultOutput } from './output.ts'
import { consultTables } from './tables.ts'

/** The pattern with its types for programs. */
type ConsultPattern = Pattern<'consult', { input: z.input<typeof consultInput>; output: ConsultOutput }>

const importExecution = () => import('./run-consultation.ts')

const description =
  'Ask a specialist one question in the middle of your work; the orchestrator chooses whom, and gives it only what it needs. If the ' +
  'result has clarification_needed, reply with its collaboration_id.'

const common = {
  name: 'consult' as const,
  version: 1,
  description,
  category: 'task_management' as const,
  delegation: { self: 'count', cycles: 'allow', bound: 'own' } as const,
  output: consultOutput,
  events: consultEvents,
  load: importExecution,
}

/** The tool: the asker is the agent that calls it. */
function createConsultTool(config: ConsultConfig): Pattern {
  return definePattern({
    ...common,
    only: 'tool',
    on_request: true,
    input: consultToolInput,
    inputFor: () => advertisedToolInput,
    execute: async (context, input) => {
      checkConsultInput(context.roster, input)
      return (await importExecution()).runConsultation(config, context, input)
    },
  })
}

/** An agent asks, the orchestrator routes the question to a specialist and delivers the answer. */
export function createConsultPattern(config: ConsultConfig): ConsultPattern {
  return definePattern({
    ...common,
    tool: createConsultTool(config),
    settings: consultSettings,
    projection: consultTables,
    configure: (options) => createConsultPattern(parseConsultConfig(options)),
    input: consultInput,
    check: checkConsultInput,
    execute: async (context, input) => (await importExecution()).runConsultation(config, context, input),
  })
}

export const consult = createConsultPattern(DEFAULT_CONSULT_CONFIG)
