import { describe, expect, onTestFinished, test } from 'vitest'
import type { Played } from '../../../../test/stage.ts'
import { playing } from '../../../../test/stage.ts'
import type { ModelRequest } from '../../../index.ts'
import { createTroupe, TroupeError } from '../../../index.ts'
import type { TeamInput } from '../../../judgement/team/definition.ts'
import { teamSchema } from '../../../judgement/team/definition.ts'
import { textOf } from '../../../kernel/model.ts'
import { Conversation } from './conversation.ts'
import type { Happening } from './happening.ts'

interface Scene {
  conversation: Conversation
  told: Happening[]
  /** What was told, in short. */
  lines(): string[]
  requests: ModelRequest[]
}

async function scene(team: TeamInput, play: (request: ModelRequest) => Played | Promise<Played>): Promise<Scene> {
  const model = playing(play)
  const troupe = await createTroupe({ store: 'memory', model, embedder: false })
  onTestFinished(() => troupe.close())
  const told: Happening[] = []
  const conversation = new Conversation(troupe, {
    ...{ team: teamSchema.parse(team), variables: {}, model: undefined, limits: {} },
    ...{ tell: (happening) => void told.push(happening), words: () => {}, stirs: () => {}, rests: () => {} },
  })
  return { conversation, told, lines: () => told.flatMap(brief), requests: model.seen }
}

function brief(happening: Happening): string[] {
  if (happening.type === 'said') return [`${happening.agent}: ${happening.text}`]
  if (happening.type === 'handoff') return [`${happening.from} → ${happening.to}`]
  if (happening.type === 'question') return [`? ${happening.kind}`]
  if (happening.type === 'end') return [`end ${happening.status}`]
  return happening.type === 'steered' ? [`steered ${happening.action.do}`] : []
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
    await conversation.rest()
    const first = ['writer: A draft.', 'writer → reviewer', 'reviewer: Fine.', 'reviewer → user', '? reply']
    expect(lines()).toEqual(first)
    const [question] = conversation.questions
    await conversation.answer(question?.gate_id ?? '', 'Again.')
    await conversation.rest()
    expect(lines()).toEqual([...first, 'user → reviewer', 'reviewer: Fine.', 'reviewer → user', '? reply'])
    const speakers = conversation.transcript.said.map(({ from }) => from)
    expect(speakers).toEqual(['user', 'writer', 'reviewer', 'user', 'reviewer'])
    expect(conversation.open).toBe(true)
  })

  test('CH3 knows the variables that agents and people set', async () => {
    const { conversation } = await scene(pair, reciting)
    await conversation.start('Write.')
    await conversation.rest()
    expect(conversation.transcript.variables).toEqual({ words: 5 })
    await conversation.steer({ do: 'set', name: 'words', value: 1 })
    const [question] = conversation.questions
    await conversation.answer(question?.gate_id ?? '', 'Go on.')
    await conversation.rest()
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
    expect(conversation.busy).toBe(true)
    await conversation.steer({ do: 'say', text: 'Mind the tone.' })
    resolve()
    await conversation.rest()
    expect(lines().slice(0, 4)).toEqual(['writer: A draft.', 'writer → reviewer', 'steered say', 'reviewer: Fine.'])
    const read = requests.at(-1)?.messages.map((message) => textOf(message)) ?? []
    expect(read.some((text) => text.includes('Mind the tone.'))).toBe(true)
  })

  test('CH2 a question is answered once, even before the run has taken the answer', async () => {
    const { conversation } = await scene(pair, reciting)
    await conversation.start('Write.')
    await conversation.rest()
    const [question] = conversation.questions
    const answering = conversation.answer(question?.gate_id ?? '', 'Again.')
    await answering
    expect(conversation.questions).toEqual([])
    await conversation.rest()
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
    await conversation.rest()
    expect(conversation.transcript.artifacts).toMatchObject([{ name: 'draft', version: 1, by: 'writer' }])
    expect(told).toContainEqual({ type: 'artifact', artifact: 'draft@1', by: 'writer' })
    expect(told).toContainEqual(expect.objectContaining({ type: 'said', text: 'Written.', artifacts: ['draft@1'] }))
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
    await conversation.rest()
    const answered = ['reviewer: Fine.', 'reviewer → user', 'steered say', 'steered pause', 'user → reviewer']
    expect(lines().slice(2)).toEqual([...answered, '? pause'])
    await conversation.steer({ do: 'continue' })
    await conversation.rest()
    expect(lines().slice(-3)).toEqual(['reviewer: Fine.', 'reviewer → user', '? reply'])
    expect(requests.filter(({ session }) => session.agent === 'reviewer')).toHaveLength(2)
    expect(
      requests
        .at(-1)
        ?.messages.map((message) => textOf(message))
        .join(),
    ).toContain('And a title.')
  })

  test('CH12 goes on after its run has ended: the next one knows what was said, unless it is forgotten', async () => {
    const { conversation, lines, requests } = await scene({ ...pair, after_work_behavior: 'terminate' }, reciting)
    await conversation.start('Write of cats.')
    await conversation.rest()
    expect(conversation.open).toBe(false)
    expect(lines().at(-1)).toBe('end completed')
    const first = conversation.run_id
    await conversation.start('Shorter.')
    await conversation.rest()
    expect(conversation.run_id).not.toBe(first)
    const heard = (request: ModelRequest | undefined) =>
      (request?.messages ?? []).map((message) => textOf(message)).join('\n')
    expect(heard(requests[2])).toContain('Write of cats.')
    expect(heard(requests[2])).toContain('A draft.')
    conversation.clear()
    await conversation.start('Of dogs.')
    await conversation.rest()
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
    await conversation.rest()
    expect(lines().at(-1)).toBe('end failed')
    await conversation.retry()
    await conversation.rest()
    expect(lines().filter((line) => line.startsWith('writer:'))).toHaveLength(1)
    expect(lines().slice(-3)).toEqual(['reviewer: Fine.', 'reviewer → user', '? reply'])
  })

  test('CH8 a run that is taken up brings its questions, its variables and what was said', async () => {
    const { conversation, told } = await scene(pair, reciting)
    await conversation.start('Write.')
    await conversation.rest()
    const again = new Conversation(conversation.troupe, conversation.site)
    const before = told.length
    const row = await conversation.troupe.store.run(conversation.run_id ?? '')
    if (!row) throw new Error('no such run')
    const past = await again.take(row)
    expect(told).toHaveLength(before)
    expect(past.flatMap(brief)).toEqual(told.slice(0, before).flatMap(brief))
    expect(again.transcript.variables).toEqual({ words: 5 })
    expect(again.questions).toMatchObject([{ kind: 'reply', question: 'Fine.' }])
    expect(again.transcript.said.map(({ from }) => from)).toEqual(['user', 'writer', 'reviewer'])
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
    await conversation.rest()
    expect(lines().slice(0, 3)).toEqual(['research/finder: Found.', 'finder → user', 'research → jury'])
    expect(lines()[3]).toMatch(/^jury: .*Yes/s)
  })
})
