import { normalizeStatement } from '../../../judgement/similarity/similarity.ts'
import type { Context } from '../../../kernel/context.ts'
import type { Contribution } from '../output.ts'
import { toSingleLine } from '../prompts/quote-untrusted.ts'
import type { ConsensusState } from './consensus-state.ts'

/** A human decision about a disagreement. */
export interface Ruling {
  by: 'person'
  decision: string
}

type Cluster = ConsensusState['consensus']['clusters'][number]

/** Matches `2`, `2.`, `(2)` and `option 2`. */
const OPTION_NUMBER = /^\W*(?:(?:option|position|number|no)\W*)?(\d+)\W*$/i

/** Asks a person to choose between the positions, until the answer is valid. */
export async function escalateToHuman(
  context: Context,
  { task, contributions }: { task: string; contributions: readonly Contribution[] },
  { consensus: { clusters } }: ConsensusState,
): Promise<Ruling> {
  const positions = clusters.map(({ recommendation, agents, share }, index) =>
    toSingleLine(`${index + 1}. ${recommendation} (${agents.join(', ')}; ${Math.round(share * 100)} %)`),
  )
  // Without these, a vote that a veto blocks would show one position and no conflict.
  const critical = contributions.flatMap(({ agent, concerns }) =>
    concerns.flatMap(({ concern, severity }) => (severity === 'critical' ? truncateLine(`${agent}: ${concern}`) : [])),
  )
  const question = [
    `The specialists do not agree on: ${truncateLine(task)}`,
    ...positions,
    ...critical.map((line) => `Critical concern of ${line}`),
    'Answer with a number, or describe what to do instead.',
  ].join('\n')
  const detail = { positions: clusters }
  let answer = await context.ask('conflict', { question, detail })
  for (let attempt = 2; ; attempt++) {
    const decision = parseDecision(answer, clusters)
    if (decision !== undefined) return { by: 'person', decision }
    const problem = `"${truncateLine(toAnswerText(answer))}" is not a valid answer: there are ${clusters.length} positions.`
    answer = await context.ask(`asked-again/${attempt}`, { question: `${problem}\n${question}`, detail })
  }
}

/** The decision in an answer; `undefined` if it is empty, has no words, or is an unknown number. */
function parseDecision(answer: unknown, clusters: readonly Cluster[]): string | undefined {
  const text = toAnswerText(answer)
  const [, number] = OPTION_NUMBER.exec(text) ?? []
  if (number !== undefined) return clusters[Number(number) - 1]?.recommendation
  if (!/[\p{L}\p{N}]/u.test(text)) return undefined
  // A position that is typed out counts as chosen, so that `outcome` finds its supporters.
  const chosen = clusters.find(({ recommendation }) => normalizeStatement(recommendation) === normalizeStatement(text))
  return chosen?.recommendation ?? text
}

function toAnswerText(answer: unknown): string {
  return typeof answer === 'string' || typeof answer === 'number' ? String(answer).trim() : ''
}

function truncateLine(text: string): string {
  const line = toSingleLine(text)
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}
