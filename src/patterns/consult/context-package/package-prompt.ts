import { redactSensitive } from '../../../judgement/redaction/redact-sensitive.ts'
import { DATA_RULE, fenceData, section } from '../../../requests/prompt-text.ts'
import { USER_ASKER } from '../consultation.ts'
import type { ContextPackage } from './context-package.ts'

/**
 * The instruction of a specialist: who asks, the question, and the context that was chosen for it. The asker's words and the project's files are
 * untrusted: they stand inside of the fence.
 */
export function formatContextPackage(context: ContextPackage): string {
  const { requesting_agent, consultation_reason, question, specific_concern } = context
  const asked = [question, ...(specific_concern === undefined ? [] : [`Specific concern: ${specific_concern}`])]
  const prompt = [
    section(
      '<consultation>',
      [
        `${askerName(requesting_agent)} asks you as a specialist (${oneLine(consultation_reason)}). Answer the question from the context below and what you`,
        'know; say which part of the context your answer rests on, and what is missing if it is not enough. You see nothing else of the work on it.',
      ].join('\n'),
    ),
    section('<question>', fenceData(asked.join('\n'))),
    section('<context>', [DATA_RULE, fenceData(contextText(context))].join('\n')),
  ].join('\n')
  // Defence in depth: a secret whose name and value come from different fields is seen only in the whole text.
  return redactSensitive(prompt)
}

/** A later message of the asker in the specialist's session, such as the answer to a clarification. */
export function formatFollowUp(requesting_agent: string, text: string): string {
  return redactSensitive(
    section(
      '<message>',
      [`${askerName(requesting_agent)} goes on:`, fenceData(text), 'Answer in the same form as before.'].join('\n'),
    ),
  )
}

function askerName(requesting_agent: string): string {
  return requesting_agent === USER_ASKER ? 'The user' : `The agent ${oneLine(requesting_agent)}`
}

function contextText(context: ContextPackage): string {
  const { current_task, project_type, tech_stack, relevant_architecture_decisions, similar_past_collaborations } =
    context
  const parts: [title: string, texts: readonly string[]][] = [
    ['Current task of the asker', current_task === '' ? [] : [current_task]],
    ['Relevant files', context.relevant_files.length === 0 ? [] : [context.relevant_files.join('\n')]],
    ['Error messages', context.error_messages],
    ['Already tried', context.attempted_solutions],
    [
      'Code',
      context.code_snippets.map(({ path, text }) => (path === undefined ? text : `--- ${oneLine(path)}\n${text}`)),
    ],
    ['From the conversation', context.conversation_excerpts.map(({ from, text }) => `${from}: ${text}`)],
    [
      'Project',
      [
        [
          ...(project_type === 'unknown' ? [] : [`Type: ${oneLine(project_type)}`]),
          ...(tech_stack.length === 0 ? [] : [`Stack: ${tech_stack.map(oneLine).join(', ')}`]),
        ].join('\n'),
      ].filter(Boolean),
    ],
    [
      'Decisions of the project',
      relevant_architecture_decisions.map(({ title, path, summary }) =>
        [`${oneLine(title)}${path === '' || path === title ? '' : ` (${oneLine(path)})`}`, summary]
          .filter(Boolean)
          .join('\n'),
      ),
    ],
    ['Practices of the project', context.best_practices],
    [
      'Similar questions of the past',
      similar_past_collaborations.map(({ question, resolution, lessons, success_rating }) =>
        [
          `Question: ${question}`,
          `Answer: ${resolution}`,
          ...(lessons === undefined ? [] : [`Lessons: ${lessons}`]),
          success_rating === undefined ? 'Not rated: nobody said whether it helped.' : `Rated ${success_rating} of 5`,
        ].join('\n'),
      ),
    ],
  ]
  return parts
    .filter(([, texts]) => texts.length > 0)
    .map(([title, texts]) => `## ${title}\n${texts.join('\n\n')}`)
    .join('\n\n')
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
