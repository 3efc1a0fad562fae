import type { Agent, Event, Store, Troupe, TroupeOptions } from '../../src/index.ts'
import { contributionJson } from '../support/collaboration.ts'
import { answerJson, routeTo } from '../support/consult-replies.ts'
import type { ModelReply } from '../support/test-troupe.ts'
import { createTroupeWithStore, functionModel } from '../support/test-troupe.ts'

/** Runs into an outage, for the golden journals of retries. Frozen: journals of old releases resume with exactly these. */

export interface RetryScenario {
  pattern: string
  input: object
  /** The agents without a response in the first execution, and the one that stays without it in the second. */
  down: readonly string[]
  stillDown: string
  reply(agent: string, messages: string): ModelReply
  /** The part of the output that does not depend on when which agent answered. */
  essence(output: never): unknown
}

const SPECIALISTS = ['backend', 'frontend', 'operations']

const views = (messages: string) => [...new Set(messages.match(/view of \w+/g) ?? [])].sort().join(', ')

const collaboration = { task: 'Ship it?', agents: ['ann', 'ben', 'eva'], synthesis: 'coordinator' }

const team = {
  name: 'Panel',
  entry: 'panel',
  agents: ['ann', 'ben', 'eva', 'writer'].map((name) => ({ name })),
  groups: [{ name: 'panel', kind: 'parallel', members: ['ann', 'ben', 'eva'] }],
  handoffs: [{ from_agent: 'panel', to_agent: 'writer' }],
  after_work_behavior: 'terminate',
}

export const retryScenarios: Record<string, RetryScenario> = {
  collaborate: {
    pattern: 'collaborate',
    input: collaboration,
    down: ['ben', 'eva'],
    stillDown: 'eva',
    reply: (agent, messages) => ({
      text:
        agent === 'coordinator'
          ? `The coordinator read: ${views(messages)}`
          : contributionJson('ship', 0.9, { response: `view of ${agent}` }),
    }),
    essence: ({ result, contributions }: { result: string; contributions: { agent: string; status: string }[] }) => [
      result,
      contributions.map(({ agent, status }) => `${agent} ${status}`),
    ],
  },
  'collaborate-synthesis': {
    pattern: 'collaborate',
    input: collaboration,
    down: ['ben', 'coordinator'],
    stillDown: 'coordinator',
    reply: (agent, messages) => retryScenarios.collaborate?.reply(agent, messages) ?? {},
    essence: (output) => retryScenarios.collaborate?.essence(output),
  },
  consult: {
    pattern: 'consult',
    input: { question: 'Who waters the plants?' },
    down: SPECIALISTS,
    stillDown: 'backend',
    reply: (agent, messages) =>
      agent === 'orchestrator'
        ? routeTo(SPECIALISTS.find((name) => messages.includes(`- ${name}:`)) ?? '')
        : answerJson(`from ${agent}`),
    essence: ({ status, response }: { status: string; response: { answer: string } }) => [status, response.answer],
  },
  team: {
    pattern: 'team',
    input: { team, message: 'Please do it.' },
    down: ['ben', 'eva'],
    stillDown: 'eva',
    reply: (agent, messages) => ({
      text: agent === 'writer' ? `The writer read: ${views(messages)}` : `view of ${agent}`,
    }),
    essence: ({ response }: { response: string }) => response,
  },
  'collaborate-tool': {
    pattern: 'task',
    input: { agent: 'lead', instruction: 'Find out.' },
    down: ['ben', 'eva', 'lead 2'],
    stillDown: 'eva',
    reply: (agent, messages) => {
      if (agent !== 'lead') return retryScenarios.collaborate?.reply(agent, messages) ?? {}
      const input = { ...collaboration, agents: collaboration.agents.map((name) => ({ name })) }
      return messages.includes('view of ann')
        ? { text: `The lead read: ${views(messages)}` }
        : { calls: [{ name: 'collaborate', input }] }
    },
    essence: ({ response }: { response: string }) => response,
  },
}

const agents: Agent[] = ['ann', 'ben', 'eva', 'writer', 'lead', ...SPECIALISTS].map((name) => ({
  name,
  description: `${name} of the golden journals`,
  instructions: `You are ${name}.`,
  extra_tools: ['collaborate'],
}))

/** A troupe whose provider is down for some agents, or for a turn of one (`lead 2`). `served` has the agents in the order of their responses. */
export async function createOutage({ reply }: RetryScenario, store: Store): Promise<Outage> {
  const down = new Set<string>()
  const served: string[] = []
  const model = functionModel(({ session, messages }) => {
    const { agent, turn } = session
    if (down.has(agent) || down.has(`${agent} ${turn}`)) throw Object.assign(new Error('down'), { status: 402 })
    served.push(agent)
    return reply(agent, JSON.stringify(messages))
  })
  const options: TroupeOptions = { store, agents, model, embedder: false }
  return { troupe: await createTroupeWithStore(options), down, served }
}

export interface Outage {
  troupe: Troupe
  down: Set<string>
  served: string[]
}

/** The journals of one run: it ends without some of its answers, a resume of it does so again, or completes it. */
export async function recordRetries(
  scenario: RetryScenario,
  createStore: () => Store,
): Promise<Record<string, Event[]>> {
  const journals: Record<string, Event[]> = {}
  for (const kind of ['failed', 'again', 'done']) {
    const { troupe, down } = await createOutage(scenario, createStore())
    for (const agent of scenario.down) down.add(agent)
    const { run_id } = await troupe.run(scenario.pattern, scenario.input as never)
    down.clear()
    if (kind === 'again') down.add(scenario.stillDown)
    if (kind === 'again' && scenario.pattern === 'consult') for (const agent of scenario.down) down.add(agent)
    if (kind === 'again' && scenario.pattern === 'task') down.add('lead 2')
    if (kind !== 'failed') await (await troupe.resume(run_id)).result
    journals[kind] = await troupe.events(run_id).all()
    await troupe.close()
  }
  return journals
}
