import type { Agent, TroupeOptions } from '../../src/index.ts'
import { functionModel } from '../support/test-troupe.ts'

/** Agents and model of the golden journal of a consultation. Frozen: journals of old releases resume with exactly these. */

const agents: Agent[] = ['lead', 'backend', 'writer'].map((name) => ({
  name,
  description: `${name} of the golden journals`,
  instructions: `You are ${name}.`,
  tools: name === 'lead' ? ['consult'] : [],
}))

const QUESTION = 'Which status does a conflict have?'

/** The lead asks the same question until it is told that it has asked before. */
export const consultInput = { agent: 'lead', instruction: 'Find out.' }

/** `asked` gets the agent of each request. */
export function consultOptions(asked: string[] = []): TroupeOptions {
  const model = functionModel(({ session: { agent, turn } }) => {
    asked.push(agent)
    const route = { needed: 'the API', agents: ['backend'], reason: 'api_clarification', rationale: '', confidence: 1 }
    if (agent === 'orchestrator') return { text: JSON.stringify(route) }
    if (agent === 'backend') return { text: JSON.stringify({ answer: '409', confidence: 1 }) }
    const input = { question: QUESTION, context: { current_task: 'the page' } }
    return turn <= 3 ? { calls: [{ name: 'consult', input }] } : { text: 'It is 409.' }
  })

  return {
    model,
    agents,
    embedder: false,
    consult: { scenarios: { api_clarification: { primary: 'backend', fallback: 'writer' } } },
  }
}
