import type { Agent } from '../../../kernel/agent.ts'
import { agentList } from '../../../requests/agent-summary.ts'
import { DATA_RULE, fenceData, jsonAnswer, section } from '../../../requests/prompt-text.ts'
import { withJsonSchema } from '../../../schema/schema.ts'
import { arrayOf, nullable, oneOf, strictObject, TEXT } from '../../../schema/strict-schema.ts'
import * as z from '../../../schema/zod.ts'
import { priorities } from '../contracts.ts'

export interface PlanPromptInput {
  request: string
  /** Facts about the repository, one a line. */
  repository: readonly string[]
  /** What the checks said before anything was changed, one a line. */
  baseline: readonly string[]
  /** What failing checks printed, one JSON object a line. */
  failures: readonly string[]
  developers: readonly Agent[]
  max_tasks: number
}

const EXAMPLE = {
  summary: 'how the request is carried out, in one or two sentences',
  no_change_reason: null,
  tests_must_pass: true,
  removes_tests: false,
  tasks: [
    {
      task_id: 'T1',
      title: 'what changes, in a few words',
      description: 'what the developer has to do, with everything it needs to know',
      priority: 'high',
      dependencies: [],
      scope: ['src/area/**', 'test/area.test.ts'],
      acceptance_criteria: ['what can be observed when the task is done'],
      specs: [],
      reference_files: ['src/area/example.ts'],
      testing_required: true,
      agent: 'developer',
    },
  ],
}

/** Texts of the example that must not count as a plan when a model copies them. */
export const EXAMPLE_TEXTS = [
  EXAMPLE.summary,
  ...EXAMPLE.tasks.flatMap(({ title, description, acceptance_criteria }) => [
    title,
    description,
    ...acceptance_criteria,
  ]),
]

const RULES = [
  '"scope" has globs, relative to the root of the repository, of all files that the task creates, changes or deletes, its tests included.',
  'Tasks whose scopes do not overlap are worked on in parallel, each in a copy of the repository of its own.',
  '"dependencies" has the task_id of tasks whose result this one needs.',
  '"priority" is high, medium or low. "agent" is one of the developers.',
  '"tests_must_pass" is false only if tests that fail now are not part of the request.',
  '"removes_tests" is true only if the request itself makes tests obsolete; otherwise no test may be deleted or weakened.',
  'If the request needs no change, give an empty list of tasks and the reason as "no_change_reason"; otherwise that is null.',
]

export function planPrompt(prompt: PlanPromptInput): string {
  const { request, repository, baseline, failures, developers, max_tasks } = prompt
  return [
    section('<request>', request),
    section('<repository>', repository.join('\n')),
    section('<baseline source="computed, reliable">', baseline.join('\n')),
    ...(failures.length > 0
      ? [section('<failing_checks>', [DATA_RULE, fenceData(failures.join('\n'))].join('\n'))]
      : []),
    section('<developers>', agentList(developers)),
    'Read the code that the request is about. Then divide the request into tasks for the developers. A developer sees only its own task.',
    `Prefer few tasks: at most ${max_tasks}, and one is enough for a small change. You change nothing yourself.`,
    jsonAnswer(RULES, {
      ...EXAMPLE,
      tasks: EXAMPLE.tasks.map((task) => ({ ...task, agent: developers[0]?.name ?? task.agent })),
    }),
  ].join('\n')
}

export function planCorrectionPrompt(problems: readonly string[]): string {
  return [
    `I cannot use this plan:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    'Send the complete corrected plan, as one JSON object with the same keys as before.',
  ].join('\n')
}

/** After a person asked for changes of the plan, or a reviewer rejected the work. */
export function replanPrompt({ reason, text }: { reason: 'edited' | 'rejected'; text: string }): string {
  const intro =
    reason === 'edited'
      ? 'The person who asked for the build wants another plan. This is what they wrote:'
      : 'The reviewer rejected the work that your plan led to. It is in the repository now; plan what has to change. The review:'
  return [
    intro,
    ...(reason === 'rejected' ? [DATA_RULE, fenceData(text)] : [section('<feedback>', text)]),
    'Send the complete new plan, as one JSON object with the same keys as before.',
  ].join('\n')
}

const task = strictObject({
  task_id: TEXT,
  title: TEXT,
  description: TEXT,
  priority: oneOf(priorities),
  dependencies: arrayOf(TEXT),
  scope: arrayOf(TEXT),
  acceptance_criteria: arrayOf(TEXT),
  specs: arrayOf(TEXT),
  reference_files: arrayOf(TEXT),
  testing_required: { type: 'boolean' },
  agent: TEXT,
})

/** Strict for the server; any object is read, field by field. */
export const planSchema = withJsonSchema(
  z.record(z.string(), z.unknown()),
  strictObject({
    summary: TEXT,
    no_change_reason: nullable('string'),
    tests_must_pass: { type: 'boolean' },
    removes_tests: { type: 'boolean' },
    tasks: arrayOf(task),
  }),
)
