import { describe, expect, onTestFinished, test } from 'vitest'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import type { ModelReply } from '../../../../test/support/test-troupe.ts'
import { functionModel } from '../../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../../entries/models.ts'
import { createTroupe, TroupeError } from '../../../index.ts'
import type { TeamInput } from '../../../judgement/team/team-schema.ts'
import { teamSchema } from '../../../judgement/team/team-schema.ts'
import type { CommonOptions } from '../cli.ts'
import type { Terminal } from '../terminal.ts'
import { ChatController } from './chat-controller.ts'
import { Conversation } from './conversation.ts'

const style = plainStyle(80)
const nullTerminal: Terminal = {
  ...{ print: () => {}, note: () => {}, noteSync: () => {}, draw: () => {} },
  ...{ out: style, err: style, outputIsTTY: false, live: false, interactive: false },
}

async function openChat(
  respond: (request: ModelRequest) => ModelReply,
  options: CommonOptions = {},
  teamInput: TeamInput = { name: 'One', agents: [{ name: 'helper' }] },
) {
  const model = functionModel(respond)
  const troupe = await createTroupe({ store: 'memory', model, embedder: false })
  onTestFinished(() => troupe.close())
  const team = teamSchema.parse(teamInput)
  const conversation = new Conversation(troupe, {
    ...{ team, variables: {}, model: undefined, limits: {} },
    ...{
      onEvent: (chatEvent) => chat.showEvent(chatEvent),
      onDelta: () => {},
      onActivity: () => {},
      onIdle: () => chat.clearLive(),
    },
  })
  let reloads = 0
  const reloadAgents = async () => {
    reloads += 1
  }
  const chat: ChatController = new ChatController(
    { terminal: nullTerminal, options },
    { conversation, reloadAgents, startOver: async () => {} },
  )
  const shown: string[] = []
  const add = (lines: readonly string[]) => void shown.push(...lines)
  chat.console = { print: add, note: add, live: () => {}, close: () => {} }
  const say = async (text: string) => {
    await chat.submit(text)
    await conversation.whenIdle()
  }
  return { chat, conversation, troupe, shown, say, requests: model.requests, reloads: () => reloads }
}

const messagesJson = (request: ModelRequest | undefined) => JSON.stringify(request?.messages ?? [])

describe('chat controller', () => {
  test('L63 /pause, /say and /next steer the sub-team that is named', async () => {
    const legal = {
      ...{
        name: 'Legal',
        agents: [{ name: 'drafter' }, { name: 'boss', kind: 'human' as const }, { name: 'checker' }],
      },
      handoffs: [
        { from_agent: 'drafter', to_agent: 'boss' },
        { from_agent: 'boss', to_agent: 'checker' },
      ],
    }
    const top = { name: 'Top', agents: [{ name: 'legal', team: legal }] }
    const { shown, requests, say } = await openChat(({ session }) => ({ text: session.agent }), {}, top)
    await say('Go.')
    await say('/pause nobody')
    expect(shown.join('\n')).toContain("no sub-team 'nobody'; known: legal")
    await say('/say legal')
    expect(shown.join('\n')).toContain('/say needs SUB-TEAM TEXT')
    await say('/pause legal')
    await say('/say legal Mind the dates.')
    expect(shown.join('\n')).toContain('Paused before legal/checker')
    await say('/next legal/drafter')
    expect(requests.map(({ session }) => session.agent)).toEqual(['drafter', 'drafter'])
    expect(messagesJson(requests[1])).toContain('Mind the dates.')
  })

  test('CH19 a line typed for a question that another process has answered is not sent as the answer to the next one', async () => {
    const { conversation, troupe, shown, say, requests } = await openChat(() => ({ text: 'Yes?' }))
    await say('Hello.')
    const [question] = conversation.questions
    await (await troupe.answer(question?.gate_id ?? '', 'From another process.')).result
    await say('From here.')
    expect(shown.join('\n')).toContain('your line was not sent')
    expect(requests).toHaveLength(2)
    await say('From here.')
    expect(messagesJson(requests[2])).toContain('From here.')
  })

  test('CH26 a command typed for a question that is gone does not answer a newer one', async () => {
    const { chat, conversation, troupe, shown, say } = await openChat(() => ({ text: 'Yes?' }))
    await say('/pause')
    await say('Hello.')
    await say('/pause')
    await say('Go.')
    const [paused] = conversation.questions
    expect(paused?.kind).toBe('pause')
    chat.startTyping()
    // Another process steps: the team pauses again, before another turn.
    await (await troupe.answer(paused?.gate_id ?? '', 'step')).result
    const [reply] = await troupe.gates().all()
    await (await troupe.answer(reply?.gate_id ?? '', 'Again.')).result
    await say('/continue')
    expect(shown.join('\n')).toContain('your line was not sent')
    await conversation.catchUp()
    expect(conversation.questions).toMatchObject([{ kind: 'pause' }])
    await say('/continue')
    expect(conversation.questions).toMatchObject([{ kind: 'reply' }])
  })

  const panel: TeamInput = {
    name: 'Panel',
    entry: 'both',
    agents: [
      { name: 'a', tools: ['ask_user'] },
      { name: 'b', tools: ['ask_user'] },
    ],
    groups: [{ name: 'both', kind: 'parallel', members: ['a', 'b'] }],
  }
  const askThenRepeat = ({ session, messages }: ModelRequest) =>
    session.turn === 1
      ? { calls: [{ name: 'ask_user', input: { question: `Is ${session.agent} right?` } }] }
      : { text: `${session.agent}: ${JSON.stringify(messages.at(-1)?.content)}` }

  test('CH27 with two open questions "yes" answers neither; a number names the question', async () => {
    const { conversation, shown, say } = await openChat(askThenRepeat, {}, panel)
    await say('Go.')
    const open = conversation.questions
    expect(open).toHaveLength(2)
    expect(shown.join('\n')).toContain('2 questions are open')
    const before = shown.length
    await say('yes')
    expect(conversation.questions).toEqual(open)
    expect(shown.slice(before).join('\n')).toMatch(/1: a:\s+Is a right.*2: b:\s+Is b right/s)
    await say('2 no, it is wrong')
    expect(conversation.questions).toEqual([open[0]])
    await say('yes')
    const texts = conversation.transcript.messages.map(({ text }) => text)
    expect(texts.find((text) => text.startsWith('a:'))).toContain('yes')
    expect(texts.find((text) => text.startsWith('b:'))).toContain('no, it is wrong')
    expect(conversation.questions).toMatchObject([{ kind: 'reply' }])
  })

  test('CH26 a line begun before a question came up is not its answer', async () => {
    const { chat, conversation, shown, say } = await openChat(askThenRepeat, {}, { ...panel, entry: 'a', groups: [] })
    chat.startTyping()
    const started = conversation.start('Go.')
    await started
    await conversation.whenIdle()
    const [question] = conversation.questions
    await say('yes')
    expect(conversation.questions).toEqual([question])
    expect(shown.join('\n')).toContain('your line was not sent')
    await say('yes')
    expect(conversation.questions).toMatchObject([{ kind: 'reply' }])
  })

  test('CH19 a message for an open run that no process is running does not start a new run', async () => {
    const { conversation, shown, say } = await openChat(() => ({ text: 'Yes?' }))
    await say('Hello.')
    const before = conversation.run_id
    conversation.transcript.questions.clear()
    await say('Are you there?')
    expect(conversation.run_id).toBe(before)
    expect(shown.join('\n')).toContain('no process is running it; use /retry')
  })

  test('CH20 --quiet hides progress, not questions and errors', async () => {
    const questionCall = { calls: [{ name: 'ask_user', input: { question: 'Which colour?' } }] }
    const first = await openChat(({ session: { turn } }) => (turn === 1 ? questionCall : { text: 'Blue.' }), {
      quiet: true,
    })
    first.conversation.context.team.agents[0] = {
      ...first.conversation.context.team.agents[0],
      tools: ['ask_user'],
    } as never
    await first.say('Paint.')
    expect(first.shown.join('\n')).toMatch(/\? Which colour\?/)
    expect(first.shown.join('\n')).not.toMatch(/→|One · r_/)
    const modelError = new TroupeError('model_failed', 'out of order', { retry: false })
    const second = await openChat(
      () => {
        throw modelError
      },
      { quiet: true },
    )
    await second.say('Paint.')
    expect(second.shown.join('\n')).toMatch(/error: .*out of order/)
  })

  test('CH21 /end ends a waiting or paused team; the next message starts another run', async () => {
    const { conversation, shown, say, troupe } = await openChat(() => ({ text: 'Yes?' }))
    await say('Hello.')
    await say('/end')
    expect((await troupe.result(conversation.run_id ?? '')).status).toBe('completed')
    expect(conversation.transcript.messages.map(({ text }) => text)).toEqual(['Hello.', 'Yes?'])
    await say('/end')
    expect(shown.at(-2)).toMatch(/no team is running or waiting/)
    await say('Again.')
    await say('/pause')
    await say('Go.')
    expect(conversation.questions).toMatchObject([{ kind: 'pause' }])
    await say('/end')
    expect(conversation.result).toMatchObject({ status: 'cancelled' })
    expect(await troupe.gates().all()).toEqual([])
  })

  test('CH22 changed agents are reloaded before a retry and before a steered team continues', async () => {
    let times = 0
    const modelError = new TroupeError('model_failed', 'out of order', { retry: false })
    const { say, reloads } = await openChat(() => {
      if (times++ === 0) throw modelError
      return { text: 'Yes?' }
    })
    await say('Hello.')
    expect(reloads()).toBe(1)
    await say('/retry')
    expect(reloads()).toBe(2)
    await say('/pause')
    await say('Go.')
    const before = reloads()
    await say('/continue')
    expect(reloads()).toBe(before + 1)
  })

  test('CH16 text of several lines is a message even if it starts with a slash', async () => {
    const { chat, say, requests } = await openChat(() => ({ text: 'Yes?' }))
    await say('/quit\nis what people type')
    expect(chat.hasQuit).toBe(false)
    expect(messagesJson(requests[0])).toContain('/quit\\\\nis what people type')
  })

  test('CH7 two presses of Ctrl-C quit; a line or an idle team in between resets the count', async () => {
    const { chat, say } = await openChat(() => ({ text: 'Yes?' }))
    await say('Hello.')
    chat.interrupt()
    await say('/help')
    chat.interrupt()
    expect(chat.hasQuit).toBe(false)
    chat.clearLive()
    chat.interrupt()
    expect(chat.hasQuit).toBe(false)
    chat.interrupt()
    expect(chat.hasQuit).toBe(true)
  })
})
