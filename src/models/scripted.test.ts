import { describe, expect, test } from 'vitest'
import {
  collectReply,
  failure,
  neverAborted,
  replyText,
  session,
  toolMessage,
} from '../../test/support/scripted-replies.ts'
import type { Message, ModelChunk } from '../kernel/model.ts'
import { userMessage } from '../kernel/model.ts'
import type { ModelBehavior } from '../testing/model-contract.ts'
import { collectChunks, modelContract, modelRequest } from '../testing/model-contract.ts'
import type { Script, ScriptReply, ScriptRule } from './scripted.ts'
import { scriptedModel } from './scripted.ts'

modelContract('the scripted model', () => ({ createModel, dispose: () => {} }), { describe, test })

function createModel(behaviors: Record<string, ModelBehavior>) {
  const rules = Object.entries(behaviors).map(([says, behavior]) => ruleFor(`^${says}$`, behavior))
  return scriptedModel({ rules, otherwise: 'error' })
}

function ruleFor(says: string, behavior: ModelBehavior): ScriptRule {
  const rule = (reply: ScriptReply): ScriptRule => ({ when: { says }, reply })
  switch (behavior.kind) {
    case 'text':
      return { ...rule({ text: behavior.text, stop: behavior.stop }), usage: behavior.usage }
    case 'tool-calls':
      return rule({ toolCalls: behavior.calls.map((call) => ({ name: call.name, input: call.arguments })) })
    case 'error':
      return rule({ error: { status: behavior.status, message: behavior.message } })
    case 'slow':
      return rule({ text: 'at last', delayMs: 60_000 })
    case 'cut':
      return rule({ text: behavior.text, cut: true })
  }
}

const finishChunk = (chunks: ModelChunk[]) => chunks.find((chunk) => chunk.type === 'finish')

describe('replies', () => {
  test('M1 short and long texts are streamed completely, never with half a surrogate pair', async () => {
    const texts = ['', 'short', 'a '.repeat(40), '🎭'.repeat(60), `x${'🎭'.repeat(60)}`, 'word\n'.repeat(2_000)]
    for (const text of texts) {
      const chunks = await collectReply({ rules: [{ reply: { text } }] }, modelRequest('x'))
      const texts = chunks.flatMap((chunk) => (chunk.type === 'text' ? [chunk.text] : []))
      expect(texts.join('')).toBe(text)
      expect(texts.every((chunk) => chunk !== '' && chunk.isWellFormed())).toBe(true)
      expect(texts.length).toBeLessThanOrEqual(130)
      if (text.length > 24) expect(texts.length).toBeGreaterThan(1)
    }
  })

  test('M2 tool call ids derive from turn and ordinal, and mutating an input does not change the script', async () => {
    const script: Script = {
      rules: [
        {
          reply: {
            text: 'Looking.',
            toolCalls: [
              { name: 'look', input: { at: [1] } },
              { name: 'go', input: null },
            ],
          },
        },
      ],
    }
    const model = scriptedModel(script)
    const request = modelRequest('x', { session: session({ turn: 7 }) })
    for (let round = 0; round < 2; round++) {
      const { chunks } = await collectChunks(model.stream(request, neverAborted()))
      expect(chunks.slice(1, 3)).toEqual([
        { type: 'tool-call', id: 'call_7_0', name: 'look', input: { at: [1] } },
        { type: 'tool-call', id: 'call_7_1', name: 'go', input: null },
      ])
      const [, call] = chunks
      if (call?.type === 'tool-call') (call.input as { at: number[] }).at.push(2)
    }
  })

  test('M8 a string input is parsed if it is JSON, and passed on with invalid if it is not', async () => {
    const toolCalls = [
      { name: 'look', input: '{"path":"a"}' },
      { name: 'look', input: 'look at a' },
    ]
    const chunks = await collectReply({ rules: [{ reply: { toolCalls } }] }, modelRequest('x'))
    expect(chunks[0]).toEqual({ type: 'tool-call', id: 'call_1_0', name: 'look', input: { path: 'a' } })
    expect(chunks[1]).toMatchObject({ input: 'look at a', invalid: expect.stringContaining('not JSON') })
  })

  test('M14 an object is sent as JSON text', async () => {
    const object = { plan: ['a', 'b'], done: false }
    expect(JSON.parse(await replyText({ rules: [{ reply: { object } }] }, modelRequest('x')))).toEqual(object)
    expect(await replyText({ rules: [{ reply: { object: null } }] }, modelRequest('x'))).toBe('null')
  })

  test('M5 an error carries status, mark, usage and its path in the script', async () => {
    const reply = { error: { status: 500, message: 'boom' } }
    const error = await failure({ rules: [{ reply, usage: { input: 9, output: 1 } }] }, modelRequest('x'))
    expect(error).toMatchObject({ code: 'model_failed', status: 500, mark: 'rule:0', retry: true })
    expect(error.usage).toMatchObject({ input: 9, output: 1 })
    expect(error.hint).toContain('rules[0].reply.error')
    const unbilled = await failure({ rules: [{ reply }] }, modelRequest('x'))
    expect(unbilled.usage).toMatchObject({ input: 0, output: 0 })
    const unknown = await failure({ rules: [{ reply, usage: null }] }, modelRequest('x'))
    expect(unknown).not.toHaveProperty('usage')
  })

  test('M5 text before an error is streamed and counted', async () => {
    const script: Script = { rules: [{ reply: { text: 'Half a thought', error: { status: 500, message: 'boom' } } }] }
    const { chunks, thrown } = await collectChunks(scriptedModel(script).stream(modelRequest('x'), neverAborted()))
    expect(chunks).toEqual([{ type: 'text', text: 'Half a thought' }])
    expect(thrown).toMatchObject({ code: 'model_failed', usage: { output: 4 } })
  })
})

describe('usage', () => {
  test('M15 without usage in the rule, four characters count as one token, deterministically', async () => {
    const script: Script = { rules: [{ reply: { text: '12345678' } }] }
    const messages: Message[] = [
      userMessage('abcd'),
      { role: 'assistant', content: [{ type: 'tool-call', id: 'c', name: 'read', input: { a: 1 } }] },
      toolMessage(['read', 'efgh']),
    ]
    const request = modelRequest('', { system: '123', messages })
    const usage = { input: 6, output: 2, cache_read: 0, cache_write: 0, reasoning: 0 }
    expect(finishChunk(await collectReply(script, request))).toEqual({
      type: 'finish',
      stop: 'end',
      usage,
      mark: 'rule:0',
    })
    const copy = structuredClone(request)
    expect(finishChunk(await collectReply(script, copy))).toMatchObject({ usage })
  })

  test('M15 with "usage": null, no usage is reported', async () => {
    const finish = finishChunk(
      await collectReply({ rules: [{ reply: { text: 'x' }, usage: null }] }, modelRequest('x')),
    )
    expect(finish).toEqual({ type: 'finish', stop: 'end', mark: 'rule:0' })
  })
})

describe('delays', () => {
  test('M16 delayMs is slept in the given world, before the first chunk', async () => {
    const slept: number[] = []
    const world = { sleep: async (ms: number) => void slept.push(ms) }
    const model = scriptedModel({ rules: [{ reply: { text: 'x', delayMs: 250 } }] }, { world })
    await collectChunks(model.stream(modelRequest('x'), neverAborted()))
    expect(slept).toEqual([250])
  })

  test('M4 an abort during a delay rejects with the abort reason', async () => {
    const model = scriptedModel({ rules: [{ reply: { text: 'x', delayMs: 60_000 } }] })
    const controller = new AbortController()
    const next = model.stream(modelRequest('x'), controller.signal)[Symbol.asyncIterator]().next()
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(next).rejects.toBe(reason)
  })
})
