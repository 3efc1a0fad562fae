import type { Agent } from '../../kernel/agent.ts'
import type { Pattern } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import type { Roster } from '../../kernel/roster.ts'
import { modelInputOf } from '../../schema/input-forms.ts'
import type * as z from '../../schema/zod.ts'
import type { ConsultConfig } from './consult-config.ts'
import { consultEvents } from './events.ts'
import {
  advertisedResultInput,
  checkConsultInput,
  consultInput,
  consultResultInput,
  consultToolInput,
  rateConsultationInput,
  rateConsultationOutput,
} from './input.ts'
import type { ConsultOutput } from './output.ts'
import { consultOutput } from './output.ts'
import { consultTables } from './tables.ts'

/** The patterns with their types for programs. */
type ConsultPattern = Pattern<'consult', { input: z.input<typeof consultInput>; output: ConsultOutput }>
type ResultPattern = Pattern<'consult_result', { input: z.input<typeof consultResultInput>; output: ConsultOutput }>
type RatePattern = Pattern<
  'rate_consultation',
  { input: z.input<typeof rateConsultationInput>; output: z.output<typeof rateConsultationOutput> }
>

const importSettings = () => import('./consult-config.ts')
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
  view: async () => (await import('./view/view.ts')).consultView,
  isUseful: (agent: Agent, { names }: Roster) => names.some((name) => name !== agent.name && name !== 'default'),
  load: importExecution,
}

/** The tool: the asker is the agent that calls it. */
function createConsultTool(config?: ConsultConfig): Pattern {
  return definePattern({
    ...common,
    only: 'tool',
    on_request: true,
    input: consultToolInput,
    inputFor: () => modelInputOf(consultToolInput),
    execute: async (context, input) => {
      await checkScenarios(config, context.roster)
      checkConsultInput(context.roster, input)
      return (await importExecution()).runConsultation(config, context, input)
    },
  })
}

/** An agent asks, the orchestrator routes the question to a specialist and delivers the answer. */
function createConsultPattern(config?: ConsultConfig): ConsultPattern {
  return definePattern({
    ...common,
    tool: createConsultTool(config),
    settings: async () => (await importSettings()).consultSettings,
    projection: consultTables,
    report: async () => (await import('./metrics.ts')).consultReport,
    configure: async (options) => createConsultPattern((await importSettings()).parseConsultConfig(options)),
    input: consultInput,
    check: async (roster, input) => {
      await checkScenarios(config, roster)
      checkConsultInput(roster, input)
    },
    execute: async (context, input) => (await importExecution()).runConsultation(config, context, input),
  })
}

/** The built-in scenarios name no agent that has to be there. */
async function checkScenarios(config: ConsultConfig | undefined, roster: Roster): Promise<void> {
  if (config) (await import('./routing/scenarios.ts')).checkScenarioAgents(config.scenarios, roster)
}

export const consult = createConsultPattern()

/** Gets the answer of a background consultation. */
function createConsultResult(config?: ConsultConfig): ResultPattern {
  return definePattern({
    ...common,
    name: 'consult_result',
    only: 'tool',
    on_request: true,
    description: 'Get the answer of a consultation in the background.',
    settings_of: 'consult',
    configure: async (options) => createConsultResult((await importSettings()).parseConsultConfig(options)),
    input: consultResultInput,
    inputFor: () => advertisedResultInput,
    load: () => import('./collect.ts'),
    execute: async (context, input) => (await import('./collect.ts')).collectConsultation(config, context, input),
  })
}

export const consultResult = createConsultResult()

/** Rates an answer, so that later consultations are routed and answered better. */
function createRateConsultation(config?: ConsultConfig): RatePattern {
  return definePattern({
    name: 'rate_consultation',
    version: 1,
    on_request: true,
    description: 'Rate the answer of a consultation once you know whether it helped.',
    category: 'task_management',
    settings_of: 'consult',
    configure: async (options) => createRateConsultation((await importSettings()).parseConsultConfig(options)),
    isUseful: common.isUseful,
    input: rateConsultationInput,
    output: rateConsultationOutput,
    events: consultEvents,
    load: () => import('./rate.ts'),
    execute: async (context, input) => (await import('./rate.ts')).recordRating(config, context, input),
  })
}

export const rateConsultation = createRateConsultation()
