import { setTimeout as delay } from 'node:timers/promises'
import { generateText, isStepCount, streamText, tool } from 'ai'
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test'
import type { ConversationPlan } from './plan.ts'
import { INSTRUCTION, INSTRUCTIONS, RESPONSE, TEXT_CHUNKS, TOOL_INPUT, TOOL_OUTPUT, toolSchema, USAGE } from './plan.ts'

/* The same conversation with the AI SDK and its own mock model, as in its documentation: no retries, tracing or persistence. */

const usage = {
  inputTokens: { total: USAGE.input, noCache: USAGE.input, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: USAGE.output, text: USAGE.output, reasoning: 0 },
}
const textFinish = { finishReason: { unified: 'stop' as const, raw: undefined }, usage }
const toolCallFinish = { finishReason: { unified: 'tool-calls' as const, raw: undefined }, usage }

export interface SdkContender {
  generate(): Promise<string>
  stream(): Promise<string>
}

/** An AI SDK agent that follows the plan; safe for concurrent use. */
export function sdkContender(plan: ConversationPlan): SdkContender {
  const model = planMock(plan)
  const look = tool({
    description: 'Reads a file and describes its content.',
    inputSchema: toolSchema,
    execute: async () => TOOL_OUTPUT,
  })
  const options = {
    model,
    instructions: INSTRUCTIONS,
    prompt: INSTRUCTION,
    stopWhen: isStepCount(plan.turns + 1),
    ...(plan.calls > 0 ? { tools: { [plan.tool]: look } } : undefined),
  }
  return {
    generate: async () => (await generateText(options)).text,
    async stream() {
      let text = ''
      for await (const part of streamText(options).textStream) text += part
      return text
    },
  }
}

function planMock(plan: ConversationPlan): MockLanguageModelV4 {
  const model = new MockLanguageModelV4({
    async doGenerate({ prompt }) {
      // The mock records every request, and a long benchmark would measure its memory instead.
      model.doGenerateCalls.length = 0
      const turn = await startTurn(plan, prompt)
      if (turn < plan.turns) return { ...toolCallFinish, content: toolCalls(plan, turn), warnings: [] }
      return { ...textFinish, content: [{ type: 'text', text: RESPONSE }], warnings: [] }
    },
    async doStream({ prompt }) {
      model.doStreamCalls.length = 0
      const turn = await startTurn(plan, prompt)
      if (turn < plan.turns) return { stream: convertArrayToReadableStream(toolCallParts(plan, turn)) }
      return { stream: convertArrayToReadableStream(textParts()) }
    },
  })
  return model
}

async function startTurn(plan: ConversationPlan, prompt: readonly { role: string }[]): Promise<number> {
  const turn = 1 + prompt.filter(({ role }) => role === 'assistant').length
  const blocked = plan.onTurn?.(turn)
  if (blocked) await blocked
  if (plan.latency_ms > 0) await delay(plan.latency_ms)
  return turn
}

function toolCalls(plan: ConversationPlan, turn: number) {
  return Array.from({ length: plan.calls }, (_, index) => ({
    type: 'tool-call' as const,
    toolCallId: `call_${turn}_${index}`,
    toolName: plan.tool as string,
    input: JSON.stringify(TOOL_INPUT),
  }))
}

function toolCallParts(plan: ConversationPlan, turn: number) {
  return [
    { type: 'stream-start' as const, warnings: [] },
    ...toolCalls(plan, turn),
    { type: 'finish' as const, ...toolCallFinish },
  ]
}

function textParts() {
  return [
    { type: 'stream-start' as const, warnings: [] },
    { type: 'text-start' as const, id: '1' },
    ...TEXT_CHUNKS.map((delta) => ({ type: 'text-delta' as const, id: '1', delta })),
    { type: 'text-end' as const, id: '1' },
    { type: 'finish' as const, ...textFinish },
  ]
}
