import { describe, expect, test } from 'vitest'
import { failure, neverAborted, replyText, session, toolMessage } from '../../test/support/scripted-replies.ts'
import type { Message, ModelRequest, SessionInfo } from '../kernel/model.ts'
import { userMessage } from '../kernel/model.ts'
import { collectChunks, modelRequest } from '../testing/model-contract.ts'
import type { Script, ScriptRule } from './scripted.ts'
import { scriptedModel } from './scripted.ts'

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
