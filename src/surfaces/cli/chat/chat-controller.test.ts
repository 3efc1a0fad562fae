import { describe, expect, onTestFinished, test } from 'vitest'
import type { ModelReply } from '../../../../test/support/test-troupe.ts'
import { functionModel } from '../../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../../index.ts'
import { createTroupe, TroupeError } from '../../../index.ts'
import { teamSchema } from '../../../judgement/team/team-schema.ts'
import type { CommonOptions } from '../cli.ts'
import { plainStyle } from '../render/styled-line.ts'
import type { Terminal } from '../terminal.ts'
import { ChatController } from './chat-controller.ts'
import { Conversation } from './conversation.ts'

const style = plainStyle(80)
const silent: Terminal = {
  ...{ print: () => {}, note: () => {}, noteSync: () => {}, draw: () => {} },
  ...{ out: style, err: style, outputIsTTY: false, live: false, interactive: false },
}

async function chat(play: (request: ModelRequest) => ModelReply, options: CommonOptions = {}) {
  const model = functionModel(play)
  const troupe = await createTroupe({ store: 'memory', model, embedder: false })
  onTestFinished(() => troupe.close())
  const team = teamSchema.parse({ name: 'One', agents: [{ name: 'helper' }] })
  const conversation = new Conversation(troupe, {
    ...{ team, variables: {}, model: undefined, limits: {} },
    ...{
      onEvent: (chatEvent) => talk.showEvent(chatEvent),
      onDelta: () => {},
      onActivity: () => {},
      onIdle: () => talk.clearLive(),
    },
  })
  let refreshed = 0
  const reloadAgents = async () => {
    refreshed += 1
  }
  const talk: ChatController = new ChatController(
    { terminal: silent, options },
    { conversation, reloadAgents, startOver: async () => {} },
  )
  const shown: string[] = []
  const add = (lines: readonly string[]) => void shown.push(...lines)
  talk.console = { print: add, note: add, live: () => {}, close: () => {} }
  const say = async (text: string) => {
    await talk.submit(text)
    await conversation.whenIdle()
  }
  return { talk, conversation, troupe, shown, say, seen: model.requests, refreshed: () => refreshed }
}

const heard = (request: ModelRequest | undefined) => JSON.stringify(request?.messages ?? [])

describe('a person and a team', () => {
  test('CH19 a line typed for a question that was answered elsewhere is not sent as the answer to the next one', async () => {
    const { conversation, troupe, shown, say, seen } = await chat(() => ({ text: 'Yes?' }))
    await say('Hello.')
    const [question] = conversation.questions
    await (await troupe.answer(question?.gate_id ?? '', 'From elsewhere.')).result
    await say('From here.')
    expect(shown.join('\n')).toContain('your line was not sent')
    expect(seen).toHaveLength(2)
    await say('From here.')
    expect(heard(seen[2])).toContain('From here.')
  })

  test('CH19 a run that nobody works on is not left for a new one', async () => {
    const { conversation, shown, say } = await chat(() => ({ text: 'Yes?' }))
    await say('Hello.')
    const before = conversation.run_id
    conversation.transcript.questions.clear()
    await say('Are you there?')
    expect(conversation.run_id).toBe(before)
    expect(shown.join('\n')).toContain('nobody works on it; /retry goes on')
  })

  test('CH20 quiet leaves out progress alone: questions and what goes wrong are shown', async () => {
    const asking = { calls: [{ name: 'ask_user', input: { question: 'Which colour?' } }] }
    const first = await chat(({ session: { turn } }) => (turn === 1 ? asking : { text: 'Blue.' }), { quiet: true })
    first.conversation.context.team.agents[0] = {
      ...first.conversation.context.team.agents[0],
      tools: ['ask_user'],
    } as never
    await first.say('Paint.')
    expect(first.shown.join('\n')).toMatch(/\? Which colour\?/)
    expect(first.shown.join('\n')).not.toMatch(/→|One · r_/)
    const outOfOrder = new TroupeError('model_failed', 'out of order', { retry: false })
    const second = await chat(
      () => {
        throw outOfOrder
      },
      { quiet: true },
    )
    await second.say('Paint.')
    expect(second.shown.join('\n')).toMatch(/error: .*out of order/)
  })

  test('CH21 /end ends a team that waits, and one that is paused; what follows is another run', async () => {
    const { conversation, shown, say, troupe } = await chat(() => ({ text: 'Yes?' }))
    await say('Hello.')
    await say('/end')
    expect((await troupe.result(conversation.run_id ?? '')).status).toBe('completed')
    expect(conversation.transcript.messages.map(({ text }) => text)).toEqual(['Hello.', 'Yes?'])
    await say('/end')
    expect(shown.at(-2)).toMatch(/no team is at work or waits/)
    await say('Again.')
    await say('/pause')
    await say('Go.')
    expect(conversation.questions).toMatchObject([{ kind: 'pause' }])
    await say('/end')
    expect(conversation.result).toMatchObject({ status: 'cancelled' })
    expect(await troupe.inbox()).toEqual([])
  })

  test('CH22 agents that changed are taken up before a retry, and before a team that is steered goes on', async () => {
    let times = 0
    const outOfOrder = new TroupeError('model_failed', 'out of order', { retry: false })
    const { say, refreshed } = await chat(() => {
      if (times++ === 0) throw outOfOrder
      return { text: 'Yes?' }
    })
    await say('Hello.')
    expect(refreshed()).toBe(1)
    await say('/retry')
    expect(refreshed()).toBe(2)
    await say('/pause')
    await say('Go.')
    const before = refreshed()
    await say('/continue')
    expect(refreshed()).toBe(before + 1)
  })

  test('CH16 several lines are words, whatever they begin with', async () => {
    const { talk, say, seen } = await chat(() => ({ text: 'Yes?' }))
    await say('/quit\nis what people type')
    expect(talk.hasLeft).toBe(false)
    expect(heard(seen[0])).toContain('/quit\\\\nis what people type')
  })

  test('CH7 the second Ctrl-C leaves only if the first is still meant: a team that has come to rest begins anew', async () => {
    const { talk, say } = await chat(() => ({ text: 'Yes?' }))
    await say('Hello.')
    talk.interrupt()
    await say('/who')
    talk.interrupt()
    expect(talk.hasLeft).toBe(false)
    talk.clearLive()
    talk.interrupt()
    expect(talk.hasLeft).toBe(false)
    talk.interrupt()
    expect(talk.hasLeft).toBe(true)
  })
})
