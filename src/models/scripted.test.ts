import { describe, expect, test } from 'vitest'
import { TroupeError } from '../errors.ts'
import type { Message, ModelChunk, ModelRequest, SessionInfo } from '../kernel/model.ts'
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

function session(changes: Partial<SessionInfo>): SessionInfo {
  return { run_id: 'run', session_id: 'session', agent: 'default', turn: 1, marks: [], ...changes }
}

function toolMessage(...results: [name: string, text: string][]): Message {
  const content = results.map(([name, text], index) => ({
    type: 'tool-result' as const,
    id: `call_1_${index}`,
    name,
    text,
    is_error: false,
  }))
  return { role: 'tool', content }
}

const neverAborted = () => new AbortController().signal

async function collectReply(script: Script, request: ModelRequest): Promise<ModelChunk[]> {
  const { chunks, thrown } = await collectChunks(scriptedModel(script).stream(request, neverAborted()))
  if (thrown) throw thrown
  return chunks
}

async function replyText(script: Script, request: ModelRequest): Promise<string> {
  return (await collectReply(script, request)).map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('')
}

async function failure(
  script: Script,
  request: ModelRequest,
): Promise<TroupeError & { mark?: string; usage?: unknown }> {
  const { thrown } = await collectChunks(scriptedModel(script).stream(request, neverAborted()))
  expect(thrown).toBeInstanceOf(TroupeError)
  return thrown as TroupeError
}

const finishChunk = (chunks: ModelChunk[]) => chunks.find((chunk) => chunk.type === 'finish')

describe('rule matching', () => {
  test('M10 the first rule whose conditions all hold is used', async () => {
    const script: Script = {
      rules: [
        { when: { agent: 'reviewer', turn: 2 }, reply: { text: 'second look' } },
        { when: { agent: 'reviewer' }, reply: { text: 'first look' } },
        { reply: { text: 'anyone' } },
        { reply: { text: 'never' } },
      ],
    }
    const textFor = (changes: Partial<SessionInfo>) =>
      replyText(script, modelRequest('hi', { session: session(changes) }))
    expect(await textFor({ agent: 'reviewer', turn: 1 })).toBe('first look')
    expect(await textFor({ agent: 'reviewer', turn: 2 })).toBe('second look')
    expect(await textFor({ agent: 'default', turn: 2 })).toBe('anyone')
  })

  test('M11 says and tool are matched against the last input: the last user message or tool results', async () => {
    const script: Script = {
      rules: [
        { when: { says: 'needle' }, reply: { text: 'found' } },
        { when: { tool: 'read' }, reply: { text: 'was read' } },
      ],
      otherwise: { text: 'nothing' },
    }
    const response: Message = { role: 'assistant', content: [{ type: 'text', text: 'no matter' }] }
    const textFor = (...messages: Message[]) => replyText(script, modelRequest('', { messages }))
    expect(await textFor(userMessage('a needle here'))).toBe('found')
    expect(await textFor(userMessage('a needle here'), response)).toBe('found')
    expect(await textFor(userMessage('a needle here'), response, userMessage('hay'))).toBe('nothing')
    expect(await textFor(userMessage('x'), response, toolMessage(['list', 'hay'], ['list', 'a needle']))).toBe('found')
    expect(await textFor(userMessage('x'), response, toolMessage(['list', 'hay'], ['read', 'hay']))).toBe('was read')
    expect(await textFor(userMessage('x'), response, toolMessage(['read', 'hay']), response, userMessage('y'))).toBe(
      'nothing',
    )
    expect(await textFor()).toBe('nothing')
  })

  test('M19 heard is matched against every message before the last input', async () => {
    const script: Script = {
      rules: [{ when: { heard: '"round":3' }, reply: { text: 'again' } }],
      otherwise: 'error',
    }
    const textFor = (...messages: Message[]) => replyText(script, modelRequest('', { messages }))
    const response: Message = { role: 'assistant', content: [{ type: 'text', text: '{"round":3}' }] }
    expect(await textFor(userMessage('{"round":3}'), userMessage('go'))).toBe('again')
    expect(await textFor(userMessage('go'), response, userMessage('on'))).toBe('again')
    await expect(textFor(userMessage('{"round":2}'), userMessage('{"round":3}'))).rejects.toMatchObject({
      code: 'script_miss',
      message: expect.stringContaining('matches no earlier message'),
    })
  })

  test('M12 a session uses a rule at most times times, counted from the marks in its journal', async () => {
    const script: Script = {
      rules: [
        { reply: { error: { status: 429, message: 'slow down' } }, times: 2 },
        { reply: { text: 'there' }, times: 1 },
      ],
      otherwise: { text: 'again' },
    }
    const marks: string[] = []
    const replies: string[] = []
    for (let turn = 1; turn <= 4; turn++) {
      // A new model each time: a restarted process has no memory of earlier requests.
      const request = modelRequest('hi', { session: session({ turn, marks: [...marks] }) })
      const { chunks, thrown } = await collectChunks(scriptedModel(script).stream(request, neverAborted()))
      const last = chunks.at(-1)
      marks.push((thrown as { mark: string } | undefined)?.mark ?? (last?.type === 'finish' ? (last.mark ?? '') : ''))
      replies.push(thrown ? 'error' : chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join(''))
    }
    expect(replies).toEqual(['error', 'error', 'there', 'again'])
    expect(marks).toEqual(['rule:0', 'rule:0', 'rule:1', 'otherwise'])
    const other = modelRequest('hi', { session: session({ session_id: 'other', marks: [] }) })
    expect((await failure(script, other)).code).toBe('model_failed')
  })
})

describe('a miss', () => {
  test('M13 a miss shows the request, the nearest rule and its unmet conditions', async () => {
    const script: Script = {
      rules: [
        { when: { agent: 'writer', turn: 1, says: 'poem' }, reply: { text: 'a' } },
        { when: { agent: 'reviewer', turn: 2, says: 'look' }, reply: { text: 'b' } },
        { when: { tool: 'read' }, reply: { text: 'c' } },
      ],
      otherwise: 'error',
    }
    const request = modelRequest(`look ${'x'.repeat(500)}`, { session: session({ agent: 'reviewer', turn: 3 }) })
    const miss = await failure(script, request)
    expect(miss.code).toBe('script_miss')
    expect(miss.message).toMatch(/agent 'reviewer', turn 3, last input: "look x+… \(505 characters\)"/)
    expect(miss.message).toContain('the nearest is rules[1]: turn must be 2')
    expect(miss.message.length).toBeLessThan(400)
    expect(miss.hint).toContain('otherwise')
    expect(miss.usage).toEqual({ input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 })
  })

  test.each<[string, ScriptRule, ModelRequest, RegExp]>([
    ['agent', { when: { agent: 'a' }, reply: { text: '' } }, modelRequest('x'), /rules\[0\]: agent must be 'a'$/],
    [
      'says',
      { when: { says: 'y+' }, reply: { text: '' } },
      modelRequest('x'),
      /says \/y\+\/ does not match the last input$/,
    ],
    [
      'tool',
      { when: { tool: 'read' }, reply: { text: '' } },
      modelRequest('x'),
      /the last input must be a result of tool 'read'$/,
    ],
    [
      'times',
      { reply: { text: '' }, times: 1 },
      modelRequest('x', { session: session({ turn: 2, marks: ['rule:0'] }) }),
      /times is used up in this session \(1 of 1\)$/,
    ],
  ])('M13 an unmet %s condition is named', async (_, rule, request, reason) => {
    expect((await failure({ rules: [rule] }, request)).message).toMatch(reason)
  })

  test('M13 the tools of the last results are named, and an empty script is reported', async () => {
    const request = modelRequest('', { messages: [toolMessage(['read', 'hay'], ['list', 'straw'])] })
    expect((await failure({ rules: [] }, request)).message).toBe(
      `scripted has no rule for agent 'default', turn 1, last input from read, list: "hay\\nstraw". the script has no rules`,
    )
  })
})

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
