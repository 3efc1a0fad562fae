import type { Pattern } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { offeredNames } from '../../requests/agent-summary.ts'
import { requestInputOf } from '../../schema/input-forms.ts'
import type { StandardSchema } from '../../schema/standard-schema.ts'
import type * as z from '../../schema/zod.ts'
import type { CollaborateOutput } from './collaborate-output.ts'
import { collaborateEvents } from './events.ts'
import type { CollaborateConfig, CollaborateSettings } from './input/collaborate-config.ts'
import { collaborateInput, collaborateInputFor } from './input/input.ts'
import { collaborateOutput } from './output.ts'

/** The pattern with its types for programs. */
type CollaboratePattern = Pattern<'collaborate', { input: z.input<typeof collaborateInput>; output: CollaborateOutput }>

const importSettings = () => import('./input/collaborate-config.ts')
const importExecution = () => import('./run-collaboration.ts')

/** Several specialists work on one task; the result is one answer with a consensus report. */
function createCollaboratePattern(config?: CollaborateConfig): CollaboratePattern {
  return definePattern({
    name: 'collaborate',
    version: 1,
    description:
      'Let two to five specialists, who know only `task`, work on it where one opinion may be wrong: reviews, decisions, plans. Costs a conversation each.',
    category: 'task_management',
    delegation: { self: 'count', cycles: 'refuse' },
    aliases: ['tool-collaborative'],
    on_request: true,
    settings: async () => (await importSettings()).collaborateSettings,
    configure: async (options) =>
      createCollaboratePattern((await importSettings()).parseCollaborateConfig(options as CollaborateSettings)),
    input: collaborateInput,
    requestInput: requestInputOf(collaborateInput),
    // The schema checks what every consumer reads, and lets the rest through.
    output: collaborateOutput as unknown as StandardSchema<CollaborateOutput>,
    events: collaborateEvents,
    view: async () => (await import('./view/view.ts')).collaborateView,
    inputFor: (context) => collaborateInputFor(context.caller?.opening.agent.agents ?? offeredNames(context.roster)),
    agents: ({ agents }) => agents.map((entry) => (typeof entry === 'string' ? entry : entry.name)),
    load: importExecution,
    check: async (roster, input) => (await importExecution()).checkConfiguredInput(config, roster, input),
    execute: async (context, input) => (await importExecution()).executeCollaboration(config, context, input),
  })
}

export const collaborate = createCollaboratePattern()
