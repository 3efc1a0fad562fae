import { definePattern } from '../../../kernel/pattern.ts'
import { outcomeInput, outcomeOutput } from './outcome-schemas.ts'

const importExecution = () => import('./record-outcome.ts')

/** Records whether a collaboration was right. Later collaborations weight votes and calibrate agreement by it. */
export const outcome = definePattern({
  name: 'outcome',
  only: 'run',
  version: 1,
  description: 'Record whether the answer of a collaboration was right. Later collaborations weight their votes by it.',
  category: 'task_management',
  input: outcomeInput,
  output: outcomeOutput,
  view: async () => (await import('../view/outcome-view.ts')).outcomeView,
  load: importExecution,
  execute: async (context, request) => (await importExecution()).recordOutcome(context, request),
})
