import type { AssistantMessage, Message, Model, ToolCallPart, ToolResultPart } from '../src/kernel/model.ts'
import { textOf, userText } from '../src/kernel/model.ts'
import type { Tool } from '../src/kernel/tool.ts'
import { INSTRUCTION, INSTRUCTIONS } from './plan.ts'

/*
 * What a program would write by hand: stream, collect, call the tools in parallel, ask again. It writes nothing down,
 * bounds nothing, checks no arguments and survives nothing; it is the floor.
 */

const NOBODY = new AbortController().signal

export async function bareLoop(model: Model, tool: Tool): Promise<string> {
  const messages: Message[] = [userText(INSTRUCTION)]
  for (let turn = 1; ; turn++) {
    const message = await collect(model, messages, turn)
    messages.push(message)
    const calls = message.content.filter((part) => part.type === 'tool-call')
    if (calls.length === 0) return textOf(message)
    messages.push({ role: 'tool', content: await Promise.all(calls.map((call) => answer(tool, call))) })
  }
}

async function collect(model: Model, messages: readonly Message[], turn: number): Promise<AssistantMessage> {
  const content: AssistantMessage['content'] = []
  const session = { run_id: '', session_id: '', agent: 'bare', turn, marks: [] }
  const request = { key: '', model: model.name, system: INSTRUCTIONS, messages, tools: [], settings: {}, session }
  for await (const chunk of model.stream(request, NOBODY)) {
    const last = content.at(-1)
    if (chunk.type === 'text' && last?.type === 'text') last.text += chunk.text
    else if (chunk.type !== 'finish') content.push({ ...chunk })
  }
  return { role: 'assistant', content }
}

async function answer(tool: Tool, call: ToolCallPart): Promise<ToolResultPart> {
  const facts = {
    run_id: '',
    session_id: '',
    agent: 'bare',
    tool_call_id: call.id,
    idempotency_key: '',
    signal: NOBODY,
  }
  const { output } = await tool.execute(call.input as never, facts)
  return { type: 'tool-result', id: call.id, name: call.name, text: String(output), is_error: false }
}
