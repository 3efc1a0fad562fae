import type { Agent } from '../../../kernel/agent.ts'
import { agentList } from '../../../requests/agent-summary.ts'
import { DATA_RULE, fenceData, section } from '../../../requests/prompt-text.ts'
import type { AnswerShape } from '../../../schema/answer-shape.ts'
import { failureDecisions } from '../contracts.ts'

/** What the architect decides from when a developer did not complete its task. */
export interface FailurePromptInput {
  request: string
  /** The report of the failure, as JSON. */
  report: string
  developers: readonly Agent[]
}

export function failurePrompt({ request, report, developers }: FailurePromptInput): string {
  return [
    section('<request>', request),
    section('<failure>', [DATA_RULE, fenceData(report)].join('\n')),
    section('<developers>', agentList(developers)),
    'A developer did not complete its task. Decide: retry (the same agent goes on from what there is), reassign (another agent does), or',
    'abort (the whole build ends, and its branches are removed).',
  ].join('\n')
}

export const failureAnswer = {
  fields: { decision: { type: 'choice', of: failureDecisions }, agent: 'text?', instruction: 'text?', reason: 'text' },
  rules: ['"agent" is the agent to reassign to, otherwise null. "instruction" is what to do differently, or null.'],
  example: {
    decision: 'retry',
    agent: null,
    instruction: 'what the next attempt should do differently',
    reason: 'why, in one sentence',
  },
} as const satisfies AnswerShape

export interface ReportPromptInput {
  request: string
  /** What Troupe knows for certain: status, branch, checks, verdict. */
  facts: readonly string[]
  /** Plan, reports and review, one JSON object a line. */
  work: readonly string[]
}

export function reportPrompt({ request, facts, work }: ReportPromptInput): string {
  return [
    section('<request>', request),
    section('<facts source="computed, reliable">', facts.join('\n')),
    section('<work>', [DATA_RULE, fenceData(work.join('\n'))].join('\n')),
    'Write the final report for the person who asked, at most 200 words, as plain text: what was done and where, what was verified, what is',
    'open. Begin with the result in one sentence. Claim nothing that the facts do not show.',
  ].join('\n')
}
