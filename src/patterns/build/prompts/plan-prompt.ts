import type { Agent } from '../../../kernel/agent.ts'
import { agentList } from '../../../requests/agent-summary.ts'
import { DATA_RULE, fenceData, section } from '../../../requests/prompt-text.ts'
import type { AnswerShape } from '../../../schema/answer-shape.ts'
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

/** A plan, with an example for this developer. */
export function planAnswer(developer: string) {
  return {
    fields: {
      summary: 'text',
      no_change_reason: 'text?',
      tests_must_pass: 'verdict',
      removes_tests: 'verdict',
      tasks: [
        {
          task_id: 'text',
          title: 'text',
          description: 'text',
          priority: { type: 'choice', of: priorities, unknown: 'medium', missing: 'medium' },
          dependencies: ['text'],
          scope: ['text'],
          acceptance_criteria: ['text'],
          specs: ['text'],
          reference_files: ['text'],
          testing_required: 'verdict',
          agent: 'text',
        },
      ],
    },
    aliases: { id: 'task_id', task_description: 'description', depends_on: 'dependencies' },
    rules: [
      '"scope" has globs, relative to the root of the repository, of all files that the task creates, changes or deletes, its tests included.',
      'Tasks whose scopes do not overlap are worked on in parallel, each in a copy of the repository of its own.',
      '"dependencies" has the task_id of tasks whose result this one needs.',
      '"priority" is high, medium or low. "agent" is one of the developers.',
      '"tests_must_pass" is false only if tests that fail now are not part of the request.',
      '"removes_tests" is true only if the request itself makes tests obsolete; otherwise no test may be deleted or weakened.',
      'If the request needs no change, give an empty list of tasks and the reason as "no_change_reason"; otherwise that is null.',
    ],
    example: {
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
          agent: developer,
        },
      ],
    },
  } as const satisfies AnswerShape
}

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
