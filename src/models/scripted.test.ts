import { describe, expect, test } from 'vitest'
import { TroupeError } from '../errors.ts'
import type { Message, ModelChunk, ModelRequest, SessionInfo } from '../kernel/model.ts'
import { userMessage } from '../kernel/model.ts'
import type { ModelBehavior } from '../testing/model-contract.ts'
import { collectChunks, modelContract, modelRequest } from '../testing/model-contract.ts'
import type { Script, ScriptReply, ScriptRule } from './scripted.ts'
import { scriptedModel } from './scripted.ts'

modelContract('the scripted model', () => ({ createModel: play, dispose: () => {} }), { describe, test })

function play(situations: Record<string, ModelBehavior>) {
  const rules = Object.entries(situations).map(([says, situation]) => ruleFor(`^${says}$`, situation))
  return scriptedModel({ rules, otherwise: 'error' })
}

function ruleFor(says: string, situation: ModelBehavior): ScriptRule {
  const rule = (reply: ScriptReply): ScriptRule => ({ when: { says }, reply })
  switch (situation.kind) {
    case 'text':
      return { ...rule({ text: situation.text, stop: situation.stop }), usage: situation.usage }
    case 'tool-calls':
      return rule({ toolCalls: situation.calls.map((call) => ({ name: call.name, input: call.arguments })) })
    case 'error':
      return rule({ error: { status: situation.status, message: situation.message } })
    case 'slow':
      return rule({ text: 'at last', delayMs: 60_000 })
    case 'cut':
      return rule({ text: situation.text, cut: true })
  }
}

function session(facts: Partial<SessionInfo>): SessionInfo {
  return { run_id: 'run', session_id: 'session', agent: 'default', turn: 1, marks: [], ...facts }
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

const open = () => new AbortController().signal

async function chunksOf(script: Script, request: ModelRequest): Promise<ModelChunk[]> {
  const { chunks, thrown } = await collectChunks(scriptedModel(script).stream(request, open()))
  if (thrown) throw thrown
  return chunks
}

async function answer(script: Script, request: ModelRequest): Promise<string> {
  return (await chunksOf(script, request)).map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('')
}

async function failure(
  script: Script,
  request: ModelRequest,
): Promise<TroupeError & { mark?: string; usage?: unknown }> {
  const { thrown } = await collectChunks(scriptedModel(script).stream(request, open()))
  expect(thrown).toBeInstanceOf(TroupeError)
  return thrown as TroupeError
}

const finishOf = (chunks: ModelChunk[]) => chunks.find((chunk) => chunk.type === 'finish')

describe('which rule answers', () => {
  test('M10 the first rule whose conditions all hold answers', async () => {
    const script: Script = {
      rules: [
        { when: { agent: 'reviewer', turn: 2 }, reply: { text: 'second look' } },
        { when: { agent: 'reviewer' }, reply: { text: 'first look' } },
        { reply: { text: 'anyone' } },
        { reply: { text: 'never' } },
      ],
    }
    const asked = (facts: Partial<SessionInfo>) => answer(script, modelRequest('hi', { session: session(facts) }))
    expect(await asked({ agent: 'reviewer', turn: 1 })).toBe('first look')
    expect(await asked({ agent: 'reviewer', turn: 2 })).toBe('second look')
    expect(await asked({ agent: 'default', turn: 2 })).toBe('anyone')
  })

  test('M11 says reads the last input: a user message, or the results of the last tools', async () => {
    const script: Script = {
      rules: [
        { when: { says: 'needle' }, reply: { text: 'found' } },
        { when: { tool: 'read' }, reply: { text: 'was read' } },
      ],
      otherwise: { text: 'nothing' },
    }
    const said: Message = { role: 'assistant', content: [{ type: 'text', text: 'no matter' }] }
    const asked = (...messages: Message[]) => answer(script, modelRequest('', { messages }))
    expect(await asked(userMessage('a needle here'))).toBe('found')
    expect(await asked(userMessage('a needle here'), said)).toBe('found')
    expect(await asked(userMessage('a needle here'), said, userMessage('hay'))).toBe('nothing')
    expect(await asked(userMessage('x'), said, toolMessage(['list', 'hay'], ['list', 'a needle']))).toBe('found')
    expect(await asked(userMessage('x'), said, toolMessage(['list', 'hay'], ['read', 'hay']))).toBe('was read')
    expect(await asked(userMessage('x'), said, toolMessage(['read', 'hay']), said, userMessage('y'))).toBe('nothing')
    expect(await asked()).toBe('nothing')
  })

  test('M19 heard reads what was said before the last input, by anyone', async () => {
    const script: Script = {
      rules: [{ when: { heard: '"round":3' }, reply: { text: 'again' } }],
      otherwise: 'error',
    }
    const asked = (...messages: Message[]) => answer(script, modelRequest('', { messages }))
    const said: Message = { role: 'assistant', content: [{ type: 'text', text: '{"round":3}' }] }
    expect(await asked(userMessage('{"round":3}'), userMessage('go'))).toBe('again')
    expect(await asked(userMessage('go'), said, userMessage('on'))).toBe('again')
    await expect(asked(userMessage('{"round":2}'), userMessage('{"round":3}'))).rejects.toMatchObject({
      code: 'script_miss',
      message: expect.stringContaining('matches nothing that was said before'),
    })
  })

  test('M12 a rule is used up after its times, counted from the marks of the session', async () => {
    const script: Script = {
      rules: [
        { reply: { error: { status: 429, message: 'slow down' } }, times: 2 },
        { reply: { text: 'there' }, times: 1 },
      ],
      otherwise: { text: 'again' },
    }
    const marks: string[] = []
    const heard: string[] = []
    for (let turn = 1; turn <= 4; turn++) {
      // A new model each time: a restarted process has no memory of the earlier calls.
      const request = modelRequest('hi', { session: session({ turn, marks: [...marks] }) })
      const { chunks, thrown } = await collectChunks(scriptedModel(script).stream(request, open()))
      const last = chunks.at(-1)
      marks.push((thrown as { mark: string } | undefined)?.mark ?? (last?.type === 'finish' ? (last.mark ?? '') : ''))
      heard.push(thrown ? 'error' : chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join(''))
    }
    expect(heard).toEqual(['error', 'error', 'there', 'again'])
    expect(marks).toEqual(['rule:0', 'rule:0', 'rule:1', 'otherwise'])
    const other = modelRequest('hi', { session: session({ session_id: 'other', marks: [] }) })
    expect((await failure(script, other)).code).toBe('model_failed')
  })
})

describe('a miss', () => {
  test('M13 shows the request, the nearest rule and the condition that did not hold', async () => {
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
    expect(miss.message).toContain('nearest is rules[1]: it wants turn 2')
    expect(miss.message.length).toBeLessThan(400)
    expect(miss.hint).toContain('otherwise')
    expect(miss.usage).toEqual({ input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 })
  })

  test.each<[string, ScriptRule, ModelRequest, RegExp]>([
    ['agent', { when: { agent: 'a' }, reply: { text: '' } }, modelRequest('x'), /rules\[0\]: it wants agent 'a'$/],
    [
      'says',
      { when: { says: 'y+' }, reply: { text: '' } },
      modelRequest('x'),
      /\/y\+\/ does not match the last input$/,
    ],
    ['tool', { when: { tool: 'read' }, reply: { text: '' } }, modelRequest('x'), /wants a result of tool 'read'$/],
    [
      'times',
      { reply: { text: '' }, times: 1 },
      modelRequest('x', { session: session({ turn: 2, marks: ['rule:0'] }) }),
      /its times are used up in this session \(1 of 1\)$/,
    ],
  ])('M13 names a missed %s', async (_, rule, request, reason) => {
    expect((await failure({ rules: [rule] }, request)).message).toMatch(reason)
  })

  test('M13 names the tools whose results nobody answers, and an empty script', async () => {
    const request = modelRequest('', { messages: [toolMessage(['read', 'hay'], ['list', 'straw'])] })
    expect((await failure({ rules: [] }, request)).message).toBe(
      `scripted has no rule for agent 'default', turn 1, last input from read, list: "hay\\nstraw". the script has no rules`,
    )
  })
})

describe('what a reply plays', () => {
  test('M1 short and long, spaced and unspaced texts arrive whole, never with half a character', async () => {
    const texts = ['', 'short', 'a '.repeat(40), '🎭'.repeat(60), `x${'🎭'.repeat(60)}`, 'word\n'.repeat(2_000)]
    for (const text of texts) {
      const chunks = await chunksOf({ rules: [{ reply: { text } }] }, modelRequest('x'))
      const pieces = chunks.flatMap((chunk) => (chunk.type === 'text' ? [chunk.text] : []))
      expect(pieces.join('')).toBe(text)
      expect(pieces.every((piece) => piece !== '' && piece.isWellFormed())).toBe(true)
      expect(pieces.length).toBeLessThanOrEqual(130)
      if (text.length > 24) expect(pieces.length).toBeGreaterThan(1)
    }
  })

  test('M2 ids of tool calls follow from turn and ordinal, and inputs belong to the receiver', async () => {
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
      const { chunks } = await collectChunks(model.stream(request, open()))
      expect(chunks.slice(1, 3)).toEqual([
        { type: 'tool-call', id: 'call_7_0', name: 'look', input: { at: [1] } },
        { type: 'tool-call', id: 'call_7_1', name: 'go', input: null },
      ])
      const [, call] = chunks
      if (call?.type === 'tool-call') (call.input as { at: number[] }).at.push(2)
    }
  })

  test('M8 a string as input is what the model wrote: parsed when it is JSON, handed on when it is not', async () => {
    const toolCalls = [
      { name: 'look', input: '{"path":"a"}' },
      { name: 'look', input: 'look at a' },
    ]
    const chunks = await chunksOf({ rules: [{ reply: { toolCalls } }] }, modelRequest('x'))
    expect(chunks[0]).toEqual({ type: 'tool-call', id: 'call_1_0', name: 'look', input: { path: 'a' } })
    expect(chunks[1]).toMatchObject({ input: 'look at a', invalid: expect.stringContaining('not JSON') })
  })

  test('M14 an object answers as its JSON text', async () => {
    const object = { plan: ['a', 'b'], done: false }
    expect(JSON.parse(await answer({ rules: [{ reply: { object } }] }, modelRequest('x')))).toEqual(object)
    expect(await answer({ rules: [{ reply: { object: null } }] }, modelRequest('x'))).toBe('null')
  })

  test('M5 an error carries status, mark, usage and where the script asked for it', async () => {
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
    const { chunks, thrown } = await collectChunks(scriptedModel(script).stream(modelRequest('x'), open()))
    expect(chunks).toEqual([{ type: 'text', text: 'Half a thought' }])
    expect(thrown).toMatchObject({ code: 'model_failed', usage: { output: 4 } })
  })
})

describe('usage', () => {
  test('M15 usage that a rule does not give is counted at four characters to a token, the same every time', async () => {
    const script: Script = { rules: [{ reply: { text: '12345678' } }] }
    const messages: Message[] = [
      userMessage('abcd'),
      { role: 'assistant', content: [{ type: 'tool-call', id: 'c', name: 'read', input: { a: 1 } }] },
      toolMessage(['read', 'efgh']),
    ]
    const request = modelRequest('', { system: '123', messages })
    const usage = { input: 6, output: 2, cache_read: 0, cache_write: 0, reasoning: 0 }
    expect(finishOf(await chunksOf(script, request))).toEqual({ type: 'finish', stop: 'end', usage, mark: 'rule:0' })
    const copy = structuredClone(request)
    expect(finishOf(await chunksOf(script, copy))).toMatchObject({ usage })
  })

  test('M15 usage null never arrives', async () => {
    const finish = finishOf(await chunksOf({ rules: [{ reply: { text: 'x' }, usage: null }] }, modelRequest('x')))
    expect(finish).toEqual({ type: 'finish', stop: 'end', mark: 'rule:0' })
  })
})

describe('time', () => {
  test('M16 a delay passes in the world that was given, before the first text', async () => {
    const slept: number[] = []
    const world = { sleep: async (ms: number) => void slept.push(ms) }
    const model = scriptedModel({ rules: [{ reply: { text: 'x', delayMs: 250 } }] }, { world })
    await collectChunks(model.stream(modelRequest('x'), open()))
    expect(slept).toEqual([250])
  })

  test('M4 an abort during a delay rejects with its reason', async () => {
    const model = scriptedModel({ rules: [{ reply: { text: 'x', delayMs: 60_000 } }] })
    const controller = new AbortController()
    const next = model.stream(modelRequest('x'), controller.signal)[Symbol.asyncIterator]().next()
    const reason = new Error('enough')
    controller.abort(reason)
    await expect(next).rejects.toBe(reason)
  })
})
