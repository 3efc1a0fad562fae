import type { AssistantMessage, Message, Model, ToolCallPart, ToolResultPart } from '../src/kernel/model.ts'
import { textFrom, userMessage } from '../src/kernel/model.ts'
import { NO_METADATA } from '../src/kernel/run-metadata.ts'
import type { Tool } from '../src/kernel/tool.ts'
import { INSTRUCTION, INSTRUCTIONS } from './plan.ts'

/*
 * A hand-written agent loop: stream, collect, call the tools in parallel, repeat. It has no persistence, limits, argument
 * validation or crash recovery, and serves as the lower bound.
 */

const NEVER_ABORTED = new AbortController().signal

export async function bareLoop(model: Model, tool: Tool): Promise<string> {
  const messages: Message[] = [userMessage(INSTRUCTION)]
  for (let turn = 1; ; turn++) {
    const message = await collectMessage(model, messages, turn)
    messages.push(message)
    const calls = message.content.filter((part) => part.type === 'tool-call')
    if (calls.length === 0) return textFrom(message)
    messages.push({ role: 'tool', content: await Promise.all(calls.map((call) => runTool(tool, call))) })
  }
}

async function collectMessage(model: Model, messages: readonly Message[], turn: number): Promise<AssistantMessage> {
  const content: AssistantMessage['content'] = []
  const session = { run_id: '', session_id: '', agent: 'bare', turn, marks: [] }
  const request = { key: '', model: model.name, system: INSTRUCTIONS, messages, tools: [], settings: {}, session }
  for await (const chunk of model.stream(request, NEVER_ABORTED)) {
    const last = content.at(-1)
    if (chunk.type === 'text' && last?.type === 'text') last.text += chunk.text
    else if (chunk.type !== 'finish') content.push({ ...chunk })
  }
  return { role: 'assistant', content }
}

async function runTool(tool: Tool, call: ToolCallPart): Promise<ToolResultPart> {
  const context = {
    run_id: '',
    session_id: '',
    agent: 'bare',
    run: NO_METADATA,
    tool_call_id: call.id,
    idempotency_key: '',
    signal: NEVER_ABORTED,
  }
  const { output } = await tool.execute(call.input as never, context)
  return { type: 'tool-result', id: call.id, name: call.name, text: String(output), is_error: false }
}
