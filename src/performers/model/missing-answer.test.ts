import { describe, expect, test } from 'vitest'
import { expectLinearTime } from '../../../test/support/linear-time.ts'
import { missingAnswer } from './missing-answer.ts'

describe('texts that are not an answer', () => {
  test.each([
    ['', 'empty'],
    [' \n\u200b\ufeff', 'empty'],
    ['<|system|>', 'marks'],
    ['</s>\n[INST] [/INST]', 'marks'],
    ['<|start_header_id|>assistant<|end_header_id|>\n', 'marks'],
    ['<start_of_turn>model\n<end_of_turn>', 'marks'],
    ['<｜Assistant｜>', 'marks'],
    ['<tool_call>{"name":"Read","arguments":{"path":"a"}}</tool_call>', 'tool-call'],
    ['<tool_call>\n{"name":"Read","arguments":{"pa', 'tool-call'],
    [
      '<tool_call>{"name":"a","arguments":{}}</tool_call>\n<tool_call>{"name":"b","arguments":{}}</tool_call>',
      'tool-call',
    ],
    ['<function=Read>{"path":"a"}</function>', 'tool-call'],
    ['<function_calls>\n<invoke name="Read">\n</invoke>\n</function_calls>', 'tool-call'],
    ['[TOOL_CALLS][{"name":"Read","arguments":{}}]', 'tool-call'],
    ['<|python_tag|>{"name":"Read","parameters":{}}', 'tool-call'],
    ['{"name":"Read","arguments":{"path":"a"}}', 'tool-call'],
    ['```json\n{"tool":"Read","arguments":{"path":"a"}}\n```', 'tool-call'],
    ['```\n{"action":"Read","action_input":{"path":"a"}}\n```', 'tool-call'],
    ['I will read it.\n<tool_call>{"name":"Read","arguments":{}}</tool_call>', 'tool-call'],
    ['I will read it.\n```json\n{"name":"Read","arguments":{}}\n```', 'tool-call'],
  ])('%j is %s', (text, missing) => {
    expect(missingAnswer(text, ['Read'])).toBe(missing)
  })
})

describe('texts that are an answer', () => {
  test.each([
    'yes',
    '是',
    '{}',
    '{"status":"ok"}',
    '{"name":"Ada","role":"author"}',
    '[1,2]',
    '<|assistant|> Yes.',
    'The mark <|im_end|> ends a message.',
    'A call looks like this:\n```json\n{"name":"get_weather","arguments":{}}\n```',
    'It writes <tool_call>{"name":"Read","arguments":{}}</tool_call>, and the server parses it.',
    '```ts\nconst call = { name: "Read", arguments: {} }\n```',
  ])('%j', (text) => {
    expect(missingAnswer(text, ['Read'])).toBeUndefined()
  })

  test('a long text is checked in linear time', async () => {
    const tags = (length: number) => missingAnswer('<tool_call>'.repeat(length), ['Read'])
    const marks = (length: number) => missingAnswer('<|'.repeat(length))
    expect(tags(100_000)).toBeUndefined()
    expect(marks(500_000)).toBeUndefined()
    await expectLinearTime(tags, 100_000)
    await expectLinearTime(marks, 500_000)
  })
})
