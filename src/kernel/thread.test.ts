import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTestTroupe, functionModel } from '../../test/support/test-troupe.ts'
import { isEvent } from './event.ts'
import { textFrom, userMessage } from './model.ts'
import { definePattern } from './pattern.ts'
import { Thread } from './thread.ts'

describe('thread', () => {
  test('equal messages give an equal hash and size, and another order another hash', () => {
    const [one, two, three] = [new Thread(), new Thread(), new Thread()]
    for (const text of ['a', 'b', 'ü']) one.add(userMessage(text))
    two.add(userMessage('x'))
    two.replace([userMessage('a'), userMessage('b')])
    two.add(userMessage('ü'))
    for (const text of ['b', 'a', 'ü']) three.add(userMessage(text))
    expect([two.hash, two.bytes, two.messages]).toEqual([one.hash, one.bytes, one.messages])
    expect(three.hash).not.toBe(one.hash)
    expect(one.bytes).toBe(3 * (Buffer.byteLength(JSON.stringify(userMessage('a'))) + 8) + 1)
  })

  test('a token count covers the messages of its time and is dropped by replace', () => {
    const thread = new Thread()
    thread.add(userMessage('a'))
    const { bytes } = thread
    thread.setTokenCount(7)
    thread.add(userMessage('b'))
    expect(thread.tokenCount).toEqual({ tokens: 7, bytes })
    thread.setTokenCount(0)
    expect(thread.tokenCount.tokens).toBe(7)
    thread.replace([userMessage('c')])
    expect(thread.tokenCount).toEqual({ tokens: 0, bytes: 0 })
  })
})

/** Three agents in turn that share a thread. */
const talk = definePattern({
  name: 'talk',
  description: 'Agents that share a thread',
  version: 1,
  category: 'planning',
  delegation: { self: 'count', cycles: 'refuse' },
  input: z.unknown(),
  output: z.unknown(),
  async execute(context) {
    const thread = new Thread()
    thread.add(userMessage('shared prefix'))
    for (const name of ['a', 'b', 'c']) {
      const request = { thread, instruction: `only for ${name}` }
      const { text } = await context.perform(agent(name, { instructions: 'the same for all' }), request, { key: name })
      thread.add(userMessage(`${name}: ${text}`))
      if (name === 'b') await context.ask('gate', { question: 'Continue?' })
    }
    return { success: true, output: thread.messages.map((message) => textFrom(message)) }
  },
})

describe('sessions that share a thread', () => {
  test('TH3 a session sees the thread as it was when it opened, then its own instruction', async () => {
    const model = functionModel(({ session }) => ({ text: `text of ${session.agent}` }))
    const { troupe } = await createTestTroupe({ model, patterns: [talk] })
    const waiting = await troupe.run('talk', {})
    const [gate] = waiting.gates
    const result = await (await troupe.answer(gate?.gate_id ?? '', 'yes')).result
    const shared = ['shared prefix', 'a: text of a', 'b: text of b', 'c: text of c']
    expect(result.output).toEqual(shared)
    expect(model.requests.map(({ messages }) => messages.map((message) => textFrom(message)))).toEqual([
      [...shared.slice(0, 1), 'only for a'],
      [...shared.slice(0, 2), 'only for b'],
      [...shared.slice(0, 3), 'only for c'],
    ])
    const events = await troupe.events(result.run_id).all()
    const openings = events.flatMap((event) => (isEvent(event, 'session:open') ? event.data.thread?.length : []))
    expect(openings).toEqual([1, 2, 3])
    expect(events.some(({ type }) => type === 'step:drift')).toBe(false)
    // The thread is not stored again with every session that reads it.
    expect(JSON.stringify(events).split('shared prefix').length - 1).toBe(1)
  })

  test('TH4 a session with a thread cannot be resumed by id', async () => {
    const model = functionModel(() => ({ text: 'ok' }))
    const { troupe, task } = await createTestTroupe({ model, patterns: [talk] })
    const { run_id } = await troupe.run('talk', {})
    const [first] = await troupe.sessions({ run_id }).all()
    const resumed = await task('a', 'again', { agent: undefined, session_id: first?.session_id })
    expect(resumed.error).toMatchObject({
      code: 'session_not_resumable',
      hint: expect.stringContaining('delegate to a new session'),
    })
  })

  test('TH5 with allowText a response that does not match the schema ends the session as text', async () => {
    const lenient = definePattern({
      ...{
        name: 'lenient',
        description: '',
        version: 1,
        category: 'planning',
        delegation: { self: 'count', cycles: 'refuse' },
      },
      ...{ input: z.unknown(), output: z.unknown() },
      async execute(context) {
        const output = z.object({ n: z.number() })
        const text = await context.perform(agent('a'), { instruction: 'x', output, allowText: true }, { key: 'text' })
        const object = await context.perform(
          agent('b'),
          { instruction: 'x', output, allowText: true },
          { key: 'object' },
        )
        const strict = await context.perform(agent('a'), { instruction: 'x', output }, { key: 'strict' })
        const shown = [text, object, strict].map((result) => ({
          status: result.status,
          text: result.text,
          object: result.object,
        }))
        return { success: true, output: shown }
      },
    })
    const model = functionModel(({ session }) => ({ text: session.agent === 'b' ? '{"n":1}' : 'plain text' }))
    const { troupe } = await createTestTroupe({ model, patterns: [lenient] })
    const { output } = await troupe.run('lenient', {})
    expect(output).toEqual([
      { status: 'completed', text: 'plain text' },
      { status: 'completed', text: '{"n":1}', object: { n: 1 } },
      { status: 'failed', text: 'plain text' },
    ])
    expect(model.requests).toHaveLength(4)
  })
})
