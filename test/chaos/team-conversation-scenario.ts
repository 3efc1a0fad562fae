import type { Event } from '../../src/kernel/event.ts'
import type { ModelRequest } from '../../src/kernel/model.ts'
import { textFrom } from '../../src/kernel/model.ts'
import { teamInput } from '../../src/patterns/team/input.ts'
import { wordEmbedder } from '../../src/testing/word-embedder.ts'
import type { RunScenario } from './chaos-run.ts'
import type { PlannedCall } from './reference-model.ts'
import { limits, RUN_ID } from './reference-run.ts'

/*
 * A team with human-in-the-loop for the crash tests: a router chooses the first agent, two agents loop until a person lets
 * them continue, a long conversation is compressed, a panel reaches consensus, a person is asked, an agent from the roster
 * works, and the user is asked. The response contains everything that the last agent read.
 */

const PADDING = 'long '.repeat(30)

const team = {
  name: 'Talk',
  agents: [
    ...['w', 'v', 'p', 'q', 'closer'].map((name) => ({ name, tools: [] })),
    { name: 'chief', kind: 'human' },
    { name: 'asker', tools: [], outputs: { asked: 'number' } },
  ],
  form: { roles: [{ name: 'guide', role: 'alpha' }] },
  groups: [{ name: 'panel', kind: 'consensus', members: ['p', 'q'], synthesis: 'coordinator' }],
  handoffs: [
    { from_agent: 'user', to_agent: 'w', condition: 'the request is new and round == 0' },
    { from_agent: 'w', to_agent: 'panel', condition: 'round >= 7', priority: 2 },
    { from_agent: 'w', to_agent: 'v' },
    { from_agent: 'v', to_agent: 'w' },
    { from_agent: 'panel', to_agent: 'chief', condition: 'they agree' },
    { from_agent: 'chief', to_agent: 'guide' },
    { from_agent: 'guide', to_agent: 'asker' },
    { from_agent: 'asker', to_agent: 'closer', condition: 'asked == 1', priority: 3 },
    { from_agent: 'asker', to_agent: 'user' },
  ],
  context_variables: { asked: 0 },
  limits: { max_repeats_per_edge: 2, context_tokens: 250 },
  after_work_behavior: 'terminate',
}

function respond(request: ModelRequest): { calls: PlannedCall[]; text?: string } {
  const { agent } = request.session
  const lines = readConversation(request)
  const reply = (content: unknown) => ({
    calls: [],
    text: typeof content === 'string' ? content : JSON.stringify(content),
  })
  switch (agent) {
    case 'router':
      return reply({ verdicts: [{ condition: 1, holds: true }] })
    case 'summarizer':
      return reply(`summary of ${lines.length}`)
    case 'p':
    case 'q':
      return reply({ response: agent, recommendation: 'do it', confidence: 0.9, concerns: [] })
    case 'coordinator':
      return reply('All say: do it.')
    case 'asker': {
      const value = lines.filter(({ from }) => from === 'user').length > 1 ? 1 : 0
      return reply({ response: `asked ${value}`, variables: [{ name: 'asked', value }] })
    }
    case 'closer':
      return reply(`[closer: ${lines.map(formatEntry).join(' | ')}]`)
    default:
      return reply(`${agent} after ${lines.length} ${agent === 'guide' ? '' : PADDING}`)
  }
}

type ConversationEntry = { from?: string; text?: string; summary?: string; decisions?: readonly string[] }

function readConversation({ messages }: ModelRequest): ConversationEntry[] {
  return messages.slice(0, -1).flatMap((message) => {
    const text = textFrom(message)
    return text.startsWith('{') ? (JSON.parse(text) as ConversationEntry) : []
  })
}

function formatEntry({ from, text, summary, decisions = [] }: ConversationEntry): string {
  return `${from} ${(text ?? `${summary}, ${decisions.length} decisions`).replace(PADDING, '').trim()}`
}

export const conversationScenario: RunScenario = {
  respond,
  commands: [],
  start(at): Event {
    const input = teamInput.parse({ team, message: 'begin' })
    const run = { format: 2 as const, project: 'default', pattern: 'team', version: 1, limits }
    return { run_id: RUN_ID, seq: 1, at, type: 'run:start', data: { ...run, input } }
  },
  // All processes share this embedder: none may close it. The one that ships takes real time, which a simulated clock does not have.
  options: { embedder: { ...wordEmbedder(), close: async () => {} } },
}
