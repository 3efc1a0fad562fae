import type { DemoTurn } from './scripted-turns.ts'
import { call, read, turns } from './scripted-turns.ts'

/* An agent that asks specialists while it works, one of them twice. */

export const CONSULT_REQUEST = 'Why did the latency of the checkout double on 12 November?'

const DATABASE = 'Which query of the checkout became slower after the index was dropped?'
const DEPLOYMENT = 'What was deployed on 12 November between 09:00 and 10:00?'
const SECURITY = 'May the order number be logged while we trace slow requests?'

const ANSWER = `## The cause

An index on \`orders(customer_id)\` was dropped with migration **0142** at 09:12.

| step | before | after |
|---|--:|--:|
| open orders | 4 ms | 310 ms |
| payment | 180 ms | 182 ms |

## What to do

1. Create the index again, *concurrently*.
2. Keep the trace of slow requests, without order numbers.
`

const ASKER: DemoTurn[] = [
  { text: 'First the code, and two people who know more.', toolCalls: [read('src/routes.ts')], delayMs: 1_300 },
  {
    toolCalls: [
      call('consult', { question: DATABASE, consultation_reason: 'model_data', urgency: 'high' }),
      call('consult', { question: DEPLOYMENT, consultation_reason: 'infrastructure' }),
    ],
    delayMs: 1_500,
  },
  { toolCalls: [call('consult', { question: SECURITY, consultation_reason: 'security_review' })], delayMs: 1_200 },
  { toolCalls: [call('consult', { question: DATABASE, consultation_reason: 'model_data' })], delayMs: 1_100 },
  { text: ANSWER, delayMs: 1_400 },
]

const route = (words: string, agent: string, reason: string) => ({
  when: { agent: 'orchestrator', says: words },
  reply: {
    object: { needed: reason, agents: [agent], reason, rationale: `${agent} knows it best.`, confidence: 0.9 },
    delayMs: 500,
  },
  usage: { input: 1_200, output: 60 },
})

const specialist = (agent: string, answer: string, more: { steps?: string[]; delayMs: number }) => ({
  when: { agent },
  reply: {
    object: { answer, confidence: 0.86, suggested_next_steps: more.steps ?? [] },
    delayMs: more.delayMs,
  },
  usage: { input: 5_400, output: 320 },
})

export const consultRules = [
  ...turns('default', 'latency of the checkout', ASKER),
  route('became slower', 'backend_developer', 'model_data'),
  route('was deployed', 'devops_engineer', 'infrastructure'),
  route('be logged', 'security_expert', 'security_review'),
  specialist(
    'backend_developer',
    'The list of **open orders**: it filters by `customer_id`, and reads the whole table since the index is gone.',
    { steps: ['Compare the plans of the query before and after', 'Create the index again'], delayMs: 2_600 },
  ),
  specialist('devops_engineer', 'Only migration `0142`, at 09:12. It drops two indexes as unused.', { delayMs: 1_900 }),
  specialist('security_expert', 'No: it identifies a person. Log a hash of it.', { delayMs: 1_600 }),
]
