import { describe, expect, onTestFinished, test } from 'vitest'
import type { ModelReply } from '../../../../test/support/test-troupe.ts'
import { functionModel } from '../../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../../index.ts'
import { createTroupe, TroupeError } from '../../../index.ts'
import type { TeamInput } from '../../../judgement/team/team-schema.ts'
import { teamSchema } from '../../../judgement/team/team-schema.ts'
import { textFrom } from '../../../kernel/model.ts'
import type { ChatEvent } from '../../../views/chat-event.ts'
import { Conversation } from './conversation.ts'

interface Scene {
  conversation: Conversation
  told: ChatEvent[]
  /** What was told, in short. */
  lines(): string[]
  requests: ModelRequest[]
}

async function scene(
  team: TeamInput,
  play: (request: ModelRequest) => ModelReply | Promise<ModelReply>,
): Promise<Scene> {
  const model = functionModel(play)
  const troupe = await createTroupe({ store: 'memory', model, embedder: false })
  onTestFinished(() => troupe.close())
  const told: ChatEvent[] = []
  const conversation = new Conversation(troupe, {
    ...{ team: teamSchema.parse(team), variables: {}, model: undefined, limits: {} },
    ...{ onEvent: (chatEvent) => void told.push(chatEvent), onDelta: () => {}, onActivity: () => {}, onIdle: () => {} },
  })
  return { conversation, told, lines: () => told.flatMap(brief), requests: model.requests }
}

function brief(chatEvent: ChatEvent): string[] {
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

const answers: Record<string, string> = {
  writer: JSON.stringify({ response: 'A draft.', verdicts: [], variables: [{ name: 'words', value: 5 }], next: null }),
  reviewer: 'Fine.',
}
const reciting = ({ session: { agent } }: ModelRequest) => ({ text: answers[agent] ?? '' })

describe('a conversation', () => {
  test('CH1 tells who speaks and where the work goes, each thing once', async () => {
    const { conversation, lines } = await scene(pair, reciting)
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

  test('CH3 knows the variables that agents and people set', async () => {
    const { conversation } = await scene(pair, reciting)
    await conversation.start('Write.')
    await conversation.whenIdle()
    expect(conversation.transcript.variables).toEqual({ words: 5 })
    await conversation.steer({ do: 'set', name: 'words', value: 1 })
    const [question] = conversation.questions
    await conversation.answer(question?.gate_id ?? '', 'Go on.')
    await conversation.whenIdle()
    expect(conversation.transcript.variables).toEqual({ words: 1 })
  })

  test('CH2 what is said while agents work is read before the next turn', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const { conversation, lines, requests } = await scene(pair, async (request) => {
      if (request.session.agent === 'writer') {
        begun.resolve()
        await promise
      }
      return reciting(request)
    })
    await conversation.start('Write.')
    await begun.promise
    expect(conversation.isBusy).toBe(true)
    await conversation.steer({ do: 'say', text: 'Mind the tone.' })
    resolve()
    await conversation.whenIdle()
    expect(lines().slice(0, 4)).toEqual(['writer: A draft.', 'writer → reviewer', 'steered say', 'reviewer: Fine.'])
    const read = requests.at(-1)?.messages.map((message) => textFrom(message)) ?? []
    expect(read.some((text) => text.includes('Mind the tone.'))).toBe(true)
  })

  test('CH2 a question is answered once, even before the run has taken the answer', async () => {
    const { conversation } = await scene(pair, reciting)
    await conversation.start('Write.')
    await conversation.whenIdle()
    const [question] = conversation.questions
    const answering = conversation.answer(question?.gate_id ?? '', 'Again.')
    await answering
    expect(conversation.questions).toEqual([])
    await conversation.whenIdle()
    expect(conversation.questions).toMatchObject([{ kind: 'reply' }])
  })

  test('CH3 what agents write is known with its version, and who wrote it', async () => {
    const team: TeamInput = { name: 'T', agents: [{ name: 'writer', tools: ['ArtifactWrite'] }] }
    const { conversation, told } = await scene(team, ({ session: { turn } }) =>
      turn === 1
        ? { calls: [{ name: 'ArtifactWrite', input: { name: 'draft', content: 'Hello.' } }] }
        : { text: 'Written.' },
    )
    await conversation.start('Write.')
    await conversation.whenIdle()
    expect(conversation.transcript.artifacts).toMatchObject([{ name: 'draft', version: 1, by: 'writer' }])
    expect(told).toContainEqual({ type: 'artifact', artifact: 'draft@1', by: 'writer' })
    expect(told).toContainEqual(expect.objectContaining({ type: 'message', text: 'Written.', artifacts: ['draft@1'] }))
  })

  test('CH15 what was said during the last turn is the answer when the team returns', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    let turns = 0
    const { conversation, lines, requests } = await scene(pair, async (request) => {
      if (request.session.agent === 'reviewer' && turns++ === 0) {
        begun.resolve()
        await promise
      }
      return reciting(request)
    })
    await conversation.start('Write.')
    await begun.promise
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

  test('CH12 goes on after its run has ended: the next one knows what was said, unless it is forgotten', async () => {
    const { conversation, lines, requests } = await scene({ ...pair, after_work_behavior: 'terminate' }, reciting)
    await conversation.start('Write of cats.')
    await conversation.whenIdle()
    expect(conversation.isOpen).toBe(false)
    expect(lines().at(-1)).toBe('end completed')
    const first = conversation.run_id
    await conversation.start('Shorter.')
    await conversation.whenIdle()
    expect(conversation.run_id).not.toBe(first)
    const heard = (request: ModelRequest | undefined) =>
      (request?.messages ?? []).map((message) => textFrom(message)).join('\n')
    expect(heard(requests[2])).toContain('Write of cats.')
    expect(heard(requests[2])).toContain('A draft.')
    conversation.clear()
    await conversation.start('Of dogs.')
    await conversation.whenIdle()
    expect(heard(requests[4])).not.toContain('cats')
  })

  test('CH14 a turn that failed is tried again, and nothing before it', async () => {
    let times = 0
    const outOfOrder = new TroupeError('model_failed', 'out of order', { retry: false })
    const { conversation, lines } = await scene(pair, (request) => {
      if (request.session.agent === 'reviewer' && times++ === 0) throw outOfOrder
      return reciting(request)
    })
    await conversation.start('Write.')
    await conversation.whenIdle()
    expect(lines().at(-1)).toBe('end failed')
    await conversation.retry()
    await conversation.whenIdle()
    expect(lines().filter((line) => line.startsWith('writer:'))).toHaveLength(1)
    expect(lines().slice(-3)).toEqual(['reviewer: Fine.', 'reviewer → user', '? reply'])
  })

  test('CH8 a run that is taken up brings its questions, its variables and what was said', async () => {
    const { conversation, told } = await scene(pair, reciting)
    await conversation.start('Write.')
    await conversation.whenIdle()
    const again = new Conversation(conversation.troupe, conversation.context)
    const before = told.length
    const row = await conversation.troupe.store.run(conversation.run_id ?? '')
    if (!row) throw new Error('no such run')
    const past = await again.attach(row)
    expect(told).toHaveLength(before)
    expect(past.flatMap(brief)).toEqual(told.slice(0, before).flatMap(brief))
    expect(again.transcript.variables).toEqual({ words: 5 })
    expect(again.questions).toMatchObject([{ kind: 'reply', question: 'Fine.' }])
    expect(again.transcript.messages.map(({ from }) => from)).toEqual(['user', 'writer', 'reviewer'])
  })

  test('CH1 a member that is a team speaks through its own, and a group with one voice', async () => {
    const inner: TeamInput = { name: 'Inner', agents: [{ name: 'finder' }] }
    const nested: TeamInput = {
      name: 'Outer',
      agents: [{ name: 'research', team: inner }, { name: 'a' }, { name: 'b' }],
      groups: [{ name: 'jury', kind: 'consensus', members: ['a', 'b'], synthesis: 'vote' }],
      handoffs: [{ from_agent: 'research', to_agent: 'jury' }],
      after_work_behavior: 'terminate',
    }
    const vote = JSON.stringify({ response: 'Yes', recommendation: 'Yes', confidence: 1, concerns: [] })
    const { conversation, lines } = await scene(nested, ({ session: { agent } }) => ({
      text: agent === 'finder' ? 'Found.' : vote,
    }))
    await conversation.start('Find out.')
    await conversation.whenIdle()
    expect(lines().slice(0, 3)).toEqual(['research/finder: Found.', 'finder → user', 'research → jury'])
    expect(lines()[3]).toMatch(/^jury: .*Yes/s)
  })
})
