import { describe, expect, onTestFinished, test } from 'vitest'
import type { ModelReply } from '../../../../test/support/test-troupe.ts'
import { functionModel } from '../../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../../entries/models.ts'
import { createTroupe, TroupeError } from '../../../index.ts'
import type { TeamInput } from '../../../judgement/team/team-schema.ts'
import { teamSchema } from '../../../judgement/team/team-schema.ts'
import { textFrom } from '../../../kernel/model.ts'
import type { ChatEvent } from '../../../patterns/team/chat-event.ts'
import { Conversation } from './conversation.ts'

interface ConversationFixture {
  conversation: Conversation
  chatEvents: ChatEvent[]
  /** One short line per event. */
  lines(): string[]
  requests: ModelRequest[]
}

async function createConversation(
  team: TeamInput,
  respond: (request: ModelRequest) => ModelReply | Promise<ModelReply>,
): Promise<ConversationFixture> {
  const model = functionModel(respond)
  const troupe = await createTroupe({ store: 'memory', model, embedder: false })
  onTestFinished(() => troupe.close())
  const chatEvents: ChatEvent[] = []
  const conversation = new Conversation(troupe, {
    ...{ team: teamSchema.parse(team), variables: {}, model: undefined, limits: {} },
    ...{
      onEvent: (chatEvent) => void chatEvents.push(chatEvent),
      onDelta: () => {},
      onActivity: () => {},
      onIdle: () => {},
    },
  })
  return { conversation, chatEvents, lines: () => chatEvents.flatMap(summarise), requests: model.requests }
}

function summarise(chatEvent: ChatEvent): string[] {
  if (chatEvent.type === 'message') return [`${chatEvent.agent}: ${chatEvent.text}`]
  if (chatEvent.type === 'handoff') return [`${chatEvent.from} → ${chatEvent.to}`]
  if (chatEvent.type === 'question') return [`? ${chatEvent.kind}`]
  if (chatEvent.type === 'end') return [`end ${chatEvent.status}`]
  return chatEvent.type === 'steered' ? [`steered ${chatEvent.action.do}`] : []
}

const pair: TeamInput = {
  name: 'Pair',
  agents: [{ name: 'writer', outputs: { words: 'number' } }, { name: 'reviewer' }],
  handoffs: [{ from_agent: 'writer', to_agent: 'reviewer', condition: 'words > 3' }],
  context_variables: { words: 0 },
}

const scriptedResponses: Record<string, string> = {
  writer: JSON.stringify({ response: 'A draft.', verdicts: [], variables: [{ name: 'words', value: 5 }], next: null }),
  reviewer: 'Fine.',
}
const scriptedResponse = ({ session: { agent } }: ModelRequest) => ({ text: scriptedResponses[agent] ?? '' })

describe('conversation', () => {
  test('CH1 messages and handoffs are reported once each', async () => {
    const { conversation, lines } = await createConversation(pair, scriptedResponse)
    await conversation.start('Write.')
    await conversation.whenIdle()
    const first = ['writer: A draft.', 'writer → reviewer', 'reviewer: Fine.', 'reviewer → user', '? reply']
    expect(lines()).toEqual(first)
    const [question] = conversation.questions
    await conversation.answer(question?.gate_id ?? '', 'Again.')
    await conversation.whenIdle()
    expect(lines()).toEqual([...first, 'user → reviewer', 'reviewer: Fine.', 'reviewer → user', '? reply'])
    const speakers = conversation.transcript.messages.map(({ from }) => from)
    expect(speakers).toEqual(['user', 'writer', 'reviewer', 'user', 'reviewer'])
    expect(conversation.isOpen).toBe(true)
  })

  test('CH2 a message sent while agents run is delivered before the next turn', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const { conversation, lines, requests } = await createConversation(pair, async (request) => {
      if (request.session.agent === 'writer') {
        started.resolve()
        await promise
      }
      return scriptedResponse(request)
    })
    await conversation.start('Write.')
    await started.promise
    expect(conversation.isBusy).toBe(true)
    await conversation.steer({ do: 'say', text: 'Mind the tone.' })
    resolve()
    await conversation.whenIdle()
    expect(lines().slice(0, 4)).toEqual(['writer: A draft.', 'writer → reviewer', 'steered say', 'reviewer: Fine.'])
    const read = requests.at(-1)?.messages.map((message) => textFrom(message)) ?? []
    expect(read.some((text) => text.includes('Mind the tone.'))).toBe(true)
  })

  test('CH2 an answered question is closed before the run has processed the answer', async () => {
    const { conversation } = await createConversation(pair, scriptedResponse)
    await conversation.start('Write.')
    await conversation.whenIdle()
    const [question] = conversation.questions
    await conversation.answer(question?.gate_id ?? '', 'Again.')
    expect(conversation.questions).toEqual([])
    await conversation.whenIdle()
    expect(conversation.questions).toMatchObject([{ kind: 'reply' }])
  })

  test('CH3 a message has the artifacts that were written, with their version and author', async () => {
    const team: TeamInput = { name: 'T', agents: [{ name: 'writer', tools: ['ArtifactWrite'] }] }
    const { conversation, chatEvents } = await createConversation(team, ({ session: { turn } }) =>
      turn === 1
        ? { calls: [{ name: 'ArtifactWrite', input: { name: 'draft', content: 'Hello.' } }] }
        : { text: 'Written.' },
    )
    await conversation.start('Write.')
    await conversation.whenIdle()
    expect(chatEvents).toContainEqual({ type: 'artifact', artifact: 'draft@1', by: 'writer' })
    expect(chatEvents).toContainEqual(
      expect.objectContaining({ type: 'message', text: 'Written.', artifacts: ['draft@1'] }),
    )
  })

  test('CH15 a message sent during the last turn scriptedResponses the team when it returns to the user', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    let turns = 0
    const { conversation, lines, requests } = await createConversation(pair, async (request) => {
      if (request.session.agent === 'reviewer' && turns++ === 0) {
        started.resolve()
        await promise
      }
      return scriptedResponse(request)
    })
    await conversation.start('Write.')
    await started.promise
    await conversation.steer({ do: 'say', text: 'And a title.' })
    await conversation.steer({ do: 'pause' })
    resolve()
    await conversation.whenIdle()
    const answered = ['reviewer: Fine.', 'reviewer → user', 'steered say', 'steered pause', 'user → reviewer']
    expect(lines().slice(2)).toEqual([...answered, '? pause'])
    await conversation.steer({ do: 'continue' })
    await conversation.whenIdle()
    expect(lines().slice(-3)).toEqual(['reviewer: Fine.', 'reviewer → user', '? reply'])
    expect(requests.filter(({ session }) => session.agent === 'reviewer')).toHaveLength(2)
    expect(
      requests
        .at(-1)
        ?.messages.map((message) => textFrom(message))
        .join(),
    ).toContain('And a title.')
  })

  test('CH12 the next run after an ended one receives the previous messages, unless the conversation was cleared', async () => {
    const { conversation, lines, requests } = await createConversation(
      { ...pair, after_work_behavior: 'terminate' },
      scriptedResponse,
    )
    await conversation.start('Write of cats.')
    await conversation.whenIdle()
    expect(conversation.isOpen).toBe(false)
    expect(lines().at(-1)).toBe('end completed')
    const first = conversation.run_id
    await conversation.start('Shorter.')
    await conversation.whenIdle()
    expect(conversation.run_id).not.toBe(first)
    const messageText = (request: ModelRequest | undefined) =>
      (request?.messages ?? []).map((message) => textFrom(message)).join('\n')
    expect(messageText(requests[2])).toContain('Write of cats.')
    expect(messageText(requests[2])).toContain('A draft.')
    conversation.clear()
    await conversation.start('Of dogs.')
    await conversation.whenIdle()
    expect(messageText(requests[4])).not.toContain('cats')
  })

  test('CH14 a retry repeats the failed turn and nothing before it', async () => {
    let times = 0
    const modelError = new TroupeError('model_failed', 'out of order', { retry: false })
    const { conversation, lines } = await createConversation(pair, (request) => {
      if (request.session.agent === 'reviewer' && times++ === 0) throw modelError
      return scriptedResponse(request)
    })
    await conversation.start('Write.')
    await conversation.whenIdle()
    expect(lines().at(-1)).toBe('end failed')
    await conversation.retry()
    await conversation.whenIdle()
    expect(lines().filter((line) => line.startsWith('writer:'))).toHaveLength(1)
    expect(lines().slice(-3)).toEqual(['reviewer: Fine.', 'reviewer → user', '? reply'])
  })

  test('CH8 a resumed run has its questions and messages', async () => {
    const { conversation, chatEvents } = await createConversation(pair, scriptedResponse)
    await conversation.start('Write.')
    await conversation.whenIdle()
    const resumed = new Conversation(conversation.troupe, conversation.context)
    const before = chatEvents.length
    const row = await conversation.troupe.getRun(conversation.run_id ?? '')
    if (!row) throw new Error('no such run')
    const past = await resumed.attach(row)
    expect(chatEvents).toHaveLength(before)
    expect(past.flatMap(summarise)).toEqual(chatEvents.slice(0, before).flatMap(summarise))
    expect(resumed.questions).toMatchObject([{ kind: 'reply', question: 'Fine.' }])
    expect(resumed.transcript.messages.map(({ from }) => from)).toEqual(['user', 'writer', 'reviewer'])
  })

  test('CH1 a nested team reports its own members, and a consensus group one message', async () => {
    const inner: TeamInput = { name: 'Inner', agents: [{ name: 'finder' }] }
    const nested: TeamInput = {
      name: 'Outer',
      agents: [{ name: 'research', team: inner }, { name: 'a' }, { name: 'b' }],
      groups: [{ name: 'jury', kind: 'consensus', members: ['a', 'b'], synthesis: 'vote' }],
      handoffs: [{ from_agent: 'research', to_agent: 'jury' }],
      after_work_behavior: 'terminate',
    }
    const vote = JSON.stringify({ response: 'Yes', recommendation: 'Yes', confidence: 1, concerns: [] })
    const { conversation, lines } = await createConversation(nested, ({ session: { agent } }) => ({
      text: agent === 'finder' ? 'Found.' : vote,
    }))
    await conversation.start('Find out.')
    await conversation.whenIdle()
    expect(lines().slice(0, 3)).toEqual(['research/finder: Found.', 'finder → user', 'research → jury'])
    expect(lines()[3]).toMatch(/^jury: .*Yes/s)
  })
})
