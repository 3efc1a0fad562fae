import { readFileSync } from 'node:fs'

/** A question with the agents that a person would accept to answer it. */
export interface RoutingQuestion {
  scenario: string
  /** None for a question outside of all fields. */
  agents: string[]
  question: string
}

/** The labelled questions: the even ones are the first half, the odd ones are held out. */
export function readRoutingQuestions(): RoutingQuestion[] {
  const file = new URL('../test/fixtures/routing-questions.tsv', import.meta.url)
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const [scenario = '', agents = '', question = ''] = line.split('\t')
      return { scenario, agents: agents === '-' ? [] : agents.split('|'), question }
    })
}
