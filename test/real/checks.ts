import type { Event, RunResult } from '../../src/index.ts'
import { isEvent } from '../../src/kernel/event.ts'
import { textFrom } from '../../src/kernel/model.ts'
import type { CollaborateRunOutput } from '../support/collaboration.ts'
import type { RealCase } from './cases.ts'
import type { WireCall } from './wire-log.ts'

const TEMPLATE_MARK = /<\|[^|<>\n]{1,40}\|>|<\/?s>|\[\/?INST\]|<<\/?SYS>>|<(?:start|end)_of_turn>/

/** Marks of a chat template in what Troupe wrote into a prompt. */
export function markProblems(calls: readonly WireCall[]): string[] {
  return calls.flatMap(({ messages }, index) =>
    messages.flatMap(({ role, content }) => {
      const mark = role === 'assistant' ? null : TEMPLATE_MARK.exec(content)
      return mark ? [`request ${index + 1} has the template mark ${mark[0]} in a ${role} message`] : []
    }),
  )
}

const MIN_EXAMPLE_CHARS = 12

/** Texts of the example in a prompt that an agent gave as its answer and that are in the result. */
export function copiedExampleProblems(calls: readonly WireCall[], result: string): string[] {
  const examples = calls.flatMap(({ messages }) => messages.flatMap(({ content }) => exampleTexts(content)))
  const words = ` ${normalize(result)} `
  const copied = [...new Set(examples)].filter((text) => words.includes(` ${normalize(text)} `))
  return copied.map((text) => `the result has the example of a prompt in it: "${text}"`)
}

/** The texts in the JSON on the line after "for example:". */
function exampleTexts(prompt: string): string[] {
  const json = /for example:\s*\n?(\{.*\})/i.exec(prompt)?.[1] ?? '{}'
  const texts = [...json.matchAll(/:"([^"\\]+)"|\["([^"\\]+)"/g)].map(([, value, item]) => value ?? item ?? '')
  return texts.filter((text) => text.length >= MIN_EXAMPLE_CHARS)
}

/** A result in JSON: no case asks for it. */
export function rawJsonProblems(result: string): string[] {
  return /^\s*(?:```\w*\s*)?\{\s*"/.test(result) ? ['the result is JSON that nobody asked for'] : []
}

/** Without any answer nothing is left to write. */
const NO_ANSWER = 'no agent gave an answer'

/**
 * The fewest requests that lead to this result: one for each agent that had to answer, and one for a synthesis that a model writes. A
 * failed run needed no more than one for each agent that was asked.
 */
export function minimumCalls({ pattern }: RealCase, { status, output }: RunResult, events: readonly Event[]): number {
  if (pattern === 'task') return 1
  if (pattern === 'team') return agentTurns(events)
  const specialists = new Set(specialistSessions(events)).size
  if (status !== 'completed') return specialists
  const { metadata, result } = output as CollaborateRunOutput
  const written = ['coordinator', 'best_of'].includes(metadata.synthesis) && !result.includes(NO_ANSWER)
  return specialists + (written ? 1 : 0)
}

/** The sessions of a collaboration that had to answer: not those of coordinator, evaluator and judge. */
function specialistSessions(events: readonly Event[]): string[] {
  const internal = new Set(['coordinator', 'evaluator', 'judge'])
  return events.flatMap((event) =>
    isEvent(event, 'session:open') && !internal.has(event.data.agent.name) ? [event.session_id ?? ''] : [],
  )
}

/** Turns of members, and the answer that a consensus group needs. */
function agentTurns(events: readonly Event[]): number {
  const sessions = events.flatMap((event) => (isEvent(event, 'session:open') ? [event.data.agent.name] : []))
  return sessions.filter((name) => name !== 'router').length
}

/** Whether votes and agreement come from the first answers: no repair, extraction or synthesis may add to them. */
export function consensusProblems({ output }: RunResult, events: readonly Event[]): string[] {
  const { contributions = [], consensus, vote } = (output ?? {}) as Partial<CollaborateRunOutput>
  const firstAnswers = new Map<string, string>()
  for (const event of events) {
    const session = event.session_id ?? ''
    if (isEvent(event, 'model:end') && !firstAnswers.has(session))
      firstAnswers.set(session, textFrom(event.data.message))
  }
  const votes = contributions.flatMap(({ agent, recommendation, session_id = '' }) =>
    recommendation === null ? [] : [{ agent, recommendation, answer: firstAnswers.get(session_id) ?? '' }],
  )
  const invented = votes.filter(({ recommendation, answer }) => !normalize(answer).includes(normalize(recommendation)))
  const shares = new Map<string, number>()
  for (const { recommendation } of votes) {
    const position = normalize(recommendation)
    shares.set(position, (shares.get(position) ?? 0) + 1)
  }
  const problems = invented.map(
    ({ agent, recommendation }) => `${agent} did not say "${recommendation}" in its first answer`,
  )
  const score = consensus?.agreement_score ?? null
  if (score !== null && votes.length < 2) problems.push(`agreement ${score} of ${votes.length} votes`)
  if (vote?.winner && !shares.has(normalize(vote.winner))) problems.push(`nobody said the winner "${vote.winner}"`)
  const isExact = [...shares.keys()].every((position) => /^(yes|no)$/.test(position))
  const largest = Math.max(0, ...shares.values()) / Math.max(1, votes.length)
  if (isExact && score !== null && score > largest + 1e-9) problems.push(`agreement ${score}, first answers ${largest}`)
  return problems
}

function normalize(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/\\[nt"]/g, ' ')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

export function formatOutcome({ status, stop_reason, output, error }: RunResult): string {
  const { vote, best_of, consensus, result, response } = (output ?? {}) as Partial<CollaborateRunOutput> & {
    response?: string
  }
  const agreement = consensus?.agreement_score ?? null
  const parts = [
    status === stop_reason ? status : `${status}/${stop_reason}`,
    ...(vote ? [vote.winner === null ? `no winner: ${vote.reason}` : `winner: ${vote.winner}`] : []),
    ...(best_of ? [`best: ${best_of.agent}`] : []),
    ...(agreement === null ? [] : [`agreement ${Math.round(agreement * 100)} %`]),
    ...(error ? [error.message] : [`"${(result ?? response ?? '').trim()}"`]),
  ]
  return parts.join('; ').replaceAll(/\s+/g, ' ').slice(0, 160)
}
