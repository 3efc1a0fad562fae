import { describe, expect, test } from 'vitest'
import type { Message, ModelChunk } from '../kernel/model.ts'
import type { ScriptReply } from './script.ts'
import { scriptedModel } from './scripted.ts'

const id = (agent: string, digit: string) => `${'0'.repeat(16)}-${digit.repeat(16)}_${agent}`

function result(text: string): Message {
  return { role: 'tool', content: [{ type: 'tool-result', id: 'c', name: 'task', text, is_error: false }] }
}

async function replyChunks(reply: ScriptReply, messages: Message[]): Promise<ModelChunk[]> {
  const model = scriptedModel({ rules: [{ reply }] })
  const request = {
    key: 'k',
    model: 'scripted',
    system: '',
    messages,
    tools: [],
    settings: {},
    session: { run_id: 'r', session_id: 's', agent: 'lead', turn: 2, marks: [] },
  }
  const chunks: ModelChunk[] = []
  for await (const chunk of model.stream(request, new AbortController().signal)) chunks.push(chunk)
  return chunks
}

describe('session ids in a script', () => {
  const toolCalls = [{ name: 'task', input: { session_id: '{{session_id:deep thinker}}', instruction: 'go on' } }]

  test('M18 {{session_id:AGENT}} is replaced by the latest session id of the agent in the tool results', async () => {
    const messages = [
      result(JSON.stringify({ response: 'a', session_id: id('deep-thinker', 'a'), agent: 'deep thinker' })),
      result(JSON.stringify({ response: 'b', session_id: id('deep-thinker', 'b'), agent: 'deep thinker' })),
      result(JSON.stringify({ response: 'c', session_id: id('deep-thinker-2', 'c'), agent: 'deep thinker 2' })),
    ]
    const chunks = await replyChunks({ text: 'Back to {{session_id:deep thinker}}.', toolCalls }, messages)
    const text = chunks.flatMap((chunk) => (chunk.type === 'text' ? chunk.text : [])).join('')
    expect(text).toBe(`Back to ${id('deep-thinker', 'b')}.`)
    expect(chunks.find((chunk) => chunk.type === 'tool-call')).toMatchObject({
      input: { session_id: id('deep-thinker', 'b'), instruction: 'go on' },
    })
  })

  test('M18 without a session id of the agent in a tool result, the request is a script_miss', async () => {
    await expect(replyChunks({ toolCalls }, [result('nothing here')])).rejects.toMatchObject({ code: 'script_miss' })
  })
})
