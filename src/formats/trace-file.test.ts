import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseTrace, readTraceFile } from './trace-file.ts'

const read = (value: unknown) => parseTrace(JSON.stringify(value), 'trace.json').messages

test('LP13 generic messages are read from an array, an object and lines', () => {
  const messages = [
    { role: 'human', content: 'Please find it' },
    { agent: 'lead', role: 'assistant', content: 'web, find it', to: 'web' },
    { agent: 'web', role: 'assistant', content: 'found' },
  ]
  const expected = [
    { agent: 'human', kind: 'person', text: 'Please find it' },
    { agent: 'lead', kind: 'message', to: 'web', text: 'web, find it' },
    { agent: 'web', kind: 'message', text: 'found' },
  ]
  expect(read(messages)).toEqual(expected)
  expect(read({ question: '?', history: messages })).toEqual(expected)
  const lines = parseTrace(`${messages.map((message) => JSON.stringify(message)).join('\n')}\n`, 'trace.jsonl')
  expect(lines).toEqual({ messages: expected, records: [0, 1, 2] })
})

test('LP13 marks in the role name the addressee, thoughts and plans', () => {
  expect(
    read([
      { role: 'Orchestrator (-> WebSurfer)', content: 'search' },
      { role: 'Orchestrator (thought)', content: 'New plan:\nsearch again' },
      { role: 'Orchestrator (thought)', content: 'next speaker: WebSurfer' },
      { role: 'WebSurfer', content: 'searched' },
    ]),
  ).toEqual([
    { agent: 'Orchestrator', kind: 'message', to: 'WebSurfer', text: 'search' },
    { agent: 'Orchestrator', kind: 'plan', text: 'New plan:\nsearch again' },
    { agent: 'Orchestrator', kind: 'thought', text: 'next speaker: WebSurfer' },
    { agent: 'WebSurfer', kind: 'message', text: 'searched' },
  ])
})

test('LP13 tool calls and results of coding agents are read, unknown records are left out', () => {
  const lines = [
    { type: 'summary', summary: 'x' },
    { type: 'user', message: { role: 'user', content: 'Fix the test' } },
    {
      type: 'assistant',
      message: {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I run it.' },
          { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'npm test' } },
        ],
      },
    },
    {
      type: 'user',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: '1 failed' }] },
    },
    null,
    7,
  ]
  const { messages, records } = parseTrace(lines.map((line) => JSON.stringify(line)).join('\n'), 'session.jsonl')
  expect(messages).toEqual([
    { agent: 'user', kind: 'person', text: 'Fix the test' },
    { agent: 'assistant', kind: 'message', text: 'I run it.' },
    { agent: 'assistant', to: 'Bash', kind: 'call', text: 'Bash {"command":"npm test"}' },
    { agent: 'Bash', kind: 'result', text: '1 failed' },
  ])
  expect(records).toEqual([1, 2, 2, 3])
})

test('LP14 a missing file, a line that is not JSON and a file without messages are clear errors', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'trace-'))
  try {
    await expect(readTraceFile(join(folder, 'missing.json'))).rejects.toThrow(/no trace file .*missing\.json/)
    await expect(readTraceFile(folder)).rejects.toThrow(/no trace file/)
  } finally {
    await rm(folder, { recursive: true })
  }
  expect(() => parseTrace('{"role":"a","content":"b"}\nnot json\n', 'x.jsonl')).toThrow(/x\.jsonl:2 is not JSON/)
  expect(() => parseTrace('', 'x.jsonl')).toThrow(/x\.jsonl has no messages/)
  expect(() => parseTrace('[{"a":1}]', 'x.json')).toThrow(/has no messages/)
})
