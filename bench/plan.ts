import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Model, ModelChunk, Usage } from '../src/kernel/model.ts'
import type { Tool } from '../src/kernel/tool.ts'
import { defineTool } from '../src/tools/define-tool.ts'

/** The conversation of every contender: tool calls in every turn except the last, which responds with text. */
export interface ConversationPlan {
  /** Model requests per instruction. */
  turns: number
  /** Tool calls per turn, except the last. */
  calls: number
  tool: 'look' | 'act'
  /** Delay before the first chunk. */
  latency_ms: number
  /** Called before each response with the number of the turn; a returned promise delays the response. */
  onTurn?: (turn: number) => Promise<void> | undefined
}

export const SINGLE_TURN: ConversationPlan = { turns: 1, calls: 0, tool: 'look', latency_ms: 0 }

export const INSTRUCTIONS = 'You are a careful assistant. Use your tools when they help, and answer in one sentence.'
export const INSTRUCTION = 'What is the answer to the question in the file that was mentioned before?'
export const TEXT_CHUNKS = ['The answer ', 'that the file ', 'gives to this ', 'question is 42.'] as const
export const RESPONSE = TEXT_CHUNKS.join('')
export const TOOL_INPUT = { path: 'notes/question.txt' }
export const TOOL_OUTPUT = 'The file has one line.'
export const USAGE: Usage = { input: 120, output: 12, cache_read: 0, cache_write: 0, reasoning: 0 }

export const toolSchema = z.object({ path: z.string() })

/** The tool of a plan: it does nothing, so that only the overhead is measured. */
export function planTool(plan: ConversationPlan): Tool {
  return defineTool({
    name: plan.tool,
    description: 'Reads a file and describes its content.',
    category: plan.tool === 'act' ? 'action' : 'perception',
    kind: plan.tool === 'act' ? 'act' : 'read',
    input: toolSchema,
    execute: async () => ({ success: true, output: TOOL_OUTPUT }),
  })
}

const answerChunks: readonly ModelChunk[] = [
  ...TEXT_CHUNKS.map((text) => ({ type: 'text' as const, text })),
  { type: 'finish', stop: 'end', usage: USAGE },
]

function toolCallChunks(plan: ConversationPlan, turn: number): ModelChunk[] {
  const calls = Array.from({ length: plan.calls }, (_, index) => ({
    type: 'tool-call' as const,
    id: `call_${turn}_${index}`,
    name: plan.tool,
    input: TOOL_INPUT,
  }))
  return [...calls, { type: 'finish', stop: 'tool_calls', usage: USAGE }]
}

/** Model that streams the chunks of the plan; used by the bare loop and by Troupe. */
export function planModel(plan: ConversationPlan): Model {
  const script = Array.from({ length: plan.turns }, (_, index) =>
    index + 1 < plan.turns ? toolCallChunks(plan, index + 1) : answerChunks,
  )
  return {
    name: 'double',
    async *stream(request) {
      const { turn } = request.session
      const blocked = plan.onTurn?.(turn)
      if (blocked) await blocked
      if (plan.latency_ms > 0) await delay(plan.latency_ms)
      for (const chunk of script[turn - 1] ?? answerChunks) yield chunk
    },
  }
}
