import { describeAttachment } from '../../../judgement/attachment/attached-file.ts'
import type { Attachment } from '../../../kernel/attachment.ts'
import { DATA_RULE, fenceData, section } from '../../../requests/prompt-text.ts'
import type { Contribution } from '../output.ts'
import { toSingleLine } from './quote-untrusted.ts'

/*
 * Parts that the prompts of a collaboration share. A prompt says who the agent is, what is asked, what it may use and how to
 * answer, in named sections. Prompt caching: task and context come first and are the same bytes for all agents.
 */

/** The shared part of all prompts. */
export function taskSection({ task, context = {}, attachments = [] }: SharedTask): string {
  const facts = Object.entries(context).map(
    ([name, value]) => `- ${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  // Not all agents see the files: those that divide, judge or combine know of them from here.
  const files = attachments.map((file) => `- ${toSingleLine(describeAttachment(file))}`)
  return [
    section('<task>', task),
    ...(facts.length > 0 ? [section('<context>', facts.join('\n'))] : []),
    ...(files.length > 0 ? [section('<files>', `The specialists see these files:\n${files.join('\n')}`)] : []),
  ].join('\n')
}

interface SharedTask {
  task: string
  context?: Readonly<Record<string, unknown>> | undefined
  attachments?: readonly Attachment[] | undefined
}

/** One long contribution must not push the others out of the context window. */
const MAX_QUOTED_CHARS = 50_000

export function truncateData(text: string): string {
  const excess = text.length - MAX_QUOTED_CHARS
  return excess <= 0 ? text : `${text.slice(0, MAX_QUOTED_CHARS).toWellFormed()} [${excess} more characters]`
}

/** Prevents prompt injection: one JSON object a line with its author, so that no text can pose as another contribution. */
export function contributionsSection(contributions: readonly Contribution[]): string {
  const lines = contributions.map((contribution) => JSON.stringify(contributionFacts(contribution)))
  return section('<contributions>', [DATA_RULE, fenceData(lines.join('\n'))].join('\n'))
}

function contributionFacts(contribution: Contribution) {
  const { agent, role, status, subtask } = contribution
  return {
    agent,
    role,
    ...(status === 'completed' ? undefined : { incomplete: status }),
    ...(subtask === undefined ? undefined : { subtask }),
    ...answerFacts(contribution),
  }
}

/** The content of an answer, without its author. */
export function answerFacts({ response, recommendation, confidence, concerns }: Contribution) {
  return {
    ...(response.trim() === '' ? undefined : { response: truncateData(response) }),
    ...(recommendation === null ? undefined : { recommendation }),
    ...(recommendation === null || confidence === null ? undefined : { confidence }),
    ...(concerns.length > 0 ? { concerns } : undefined),
  }
}

export function formatMissing(missing: readonly Contribution[]): string {
  return missing
    .map(({ agent, role, error }) => `- ${toSingleLine(`${agent} (${role}): ${error?.message ?? 'no answer'}`)}`)
    .join('\n')
}
