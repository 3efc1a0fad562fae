import { normalizeStatement } from '../../judgement/similarity/similarity.ts'
import type { Context } from '../../kernel/context.ts'
import type { ConsensusState } from './consensus-state.ts'
import type { Contribution } from './output.ts'
import { toSingleLine } from './quote-untrusted.ts'

/** What a person said when the voices could not agree. */
export interface Ruling {
  by: 'person'
  decision: string
}

type Cluster = ConsensusState['consensus']['clusters'][number]

/** `2`, `2.`, `(2)`, `option 2`. */
const OPTION_NUMBER = /^\W*(?:(?:option|position|number|no)\W*)?(\d+)\W*$/i

/** Asks a person, with every position and who stands behind it, until the answer says something. */
export async function escalateToHuman(
  context: Context,
  { task, contributions }: { task: string; contributions: readonly Contribution[] },
  { consensus: { clusters } }: ConsensusState,
): Promise<Ruling> {
  const positions = clusters.map(({ recommendation, agents, share }, index) =>
    toSingleLine(`${index + 1}. ${recommendation} (${agents.join(', ')}; ${Math.round(share * 100)} %)`),
  )
  // What blocks a vote on which all agree would otherwise stand nowhere.
  const critical = contributions.flatMap(({ agent, concerns }) =>
    concerns.flatMap(({ concern, severity }) => (severity === 'critical' ? truncateLine(`${agent}: ${concern}`) : [])),
  )
  const question = [
    `The specialists do not agree on: ${truncateLine(task)}`,
    ...positions,
    ...critical.map((line) => `Critical for ${line}`),
    'Answer with a number, or say what should be done instead.',
  ].join('\n')
  const detail = { positions: clusters }
  let answer = await context.ask('conflict', { question, detail })
  for (let time = 2; ; time++) {
    const decision = parseDecision(answer, clusters)
    if (decision !== undefined) return { by: 'person', decision }
    const why = `"${truncateLine(toAnswerText(answer))}" is no answer: there are ${clusters.length} positions.`
    answer = await context.ask(`asked-again/${time}`, { question: `${why}\n${question}`, detail })
  }
}

/** What the answer comes to; `undefined` when it is empty, no words at all, or a number that stands for nothing. */
function parseDecision(answer: unknown, clusters: readonly Cluster[]): string | undefined {
  const words = toAnswerText(answer)
  const [, number] = OPTION_NUMBER.exec(words) ?? []
  if (number !== undefined) return clusters[Number(number) - 1]?.recommendation
  if (!/[\p{L}\p{N}]/u.test(words)) return undefined
  // Whoever writes a position in their own hand chooses it, and those who hold it were right.
  const same = clusters.find(({ recommendation }) => normalizeStatement(recommendation) === normalizeStatement(words))
  return same?.recommendation ?? words
}

function toAnswerText(answer: unknown): string {
  return typeof answer === 'string' || typeof answer === 'number' ? String(answer).trim() : ''
}

function truncateLine(text: string): string {
  const line = toSingleLine(text)
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}
