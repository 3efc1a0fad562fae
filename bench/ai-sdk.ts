import { setTimeout as delay } from 'node:timers/promises'
import { generateText, isStepCount, streamText, tool } from 'ai'
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test'
import type { ConversationPlan } from './plan.ts'
import { ANSWER, INSTRUCTION, INSTRUCTIONS, PIECES, TOOL_INPUT, TOOL_OUTPUT, toolSchema, USAGE } from './plan.ts'

/*
 * The same conversation through the AI SDK, with its own mock model, as its documentation shows it. Nothing is retried,
 * traced or written down.
 */

const usage = {
  inputTokens: { total: USAGE.input, noCache: USAGE.input, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: USAGE.output, text: USAGE.output, reasoning: 0 },
}
const answerFinish = { finishReason: { unified: 'stop' as const, raw: undefined }, usage }
const toolCallFinish = { finishReason: { unified: 'tool-calls' as const, raw: undefined }, usage }

export interface SdkContender {
  generate(): Promise<string>
  stream(): Promise<string>
}

/** One agent of the AI SDK that follows the plan; safe to use many times at once. */
export function sdkContender(plan: ConversationPlan): SdkContender {
  const model = planMock(plan)
  const look = tool({
    description: 'Looks at a file and says what is in it.',
    inputSchema: toolSchema,
    execute: async () => TOOL_OUTPUT,
  })
  const call = {
    model,
    instructions: INSTRUCTIONS,
    prompt: INSTRUCTION,
    stopWhen: isStepCount(plan.turns + 1),
    ...(plan.calls > 0 ? { tools: { [plan.tool]: look } } : undefined),
  }
  return {
    generate: async () => (await generateText(call)).text,
    async stream() {
      let text = ''
      for await (const part of streamText(call).textStream) text += part
      return text
    },
  }
}

function planMock(plan: ConversationPlan): MockLanguageModelV4 {
  const model = new MockLanguageModelV4({
    async doGenerate({ prompt }) {
      // The mock keeps every request it ever saw; a long bench would measure its memory instead.
      model.doGenerateCalls.length = 0
      const turn = await beginTurn(plan, prompt)
      if (turn < plan.turns) return { ...toolCallFinish, content: toolCalls(plan, turn), warnings: [] }
      return { ...answerFinish, content: [{ type: 'text', text: ANSWER }], warnings: [] }
    },
    async doStream({ prompt }) {
      model.doStreamCalls.length = 0
      const turn = await beginTurn(plan, prompt)
      if (turn < plan.turns) return { stream: convertArrayToReadableStream(toolCallParts(plan, turn)) }
      return { stream: convertArrayToReadableStream(answerParts()) }
    },
  })
  return model
}

async function beginTurn(plan: ConversationPlan, prompt: readonly { role: string }[]): Promise<number> {
  const turn = 1 + prompt.filter(({ role }) => role === 'assistant').length
  const held = plan.onTurn?.(turn)
  if (held) await held
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

function answerParts() {
  return [
    { type: 'stream-start' as const, warnings: [] },
    { type: 'text-start' as const, id: '1' },
    ...PIECES.map((delta) => ({ type: 'text-delta' as const, id: '1', delta })),
    { type: 'text-end' as const, id: '1' },
    { type: 'finish' as const, ...answerFinish },
  ]
}
