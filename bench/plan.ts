import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Model, ModelChunk, Usage } from '../src/kernel/model.ts'
import type { Tool } from '../src/kernel/tool.ts'
import { defineTool } from '../src/kernel/tool.ts'

/** The conversation that every contender holds: all model calls but the last ask for tools, the last answers. */
export interface ConversationPlan {
  /** Model calls for one instruction. */
  turns: number
  /** Tool calls in each turn but the last. */
  calls: number
  tool: 'look' | 'act'
  /** How long the model thinks before its first chunk. */
  latency_ms: number
  /** Called before a model call is answered, with its ordinal in the conversation; a promise holds the answer up. */
  onTurn?: (turn: number) => Promise<void> | undefined
}

export const SINGLE_TURN: ConversationPlan = { turns: 1, calls: 0, tool: 'look', latency_ms: 0 }

export const INSTRUCTIONS = 'You are a careful assistant. Use your tools when they help, and answer in one sentence.'
export const INSTRUCTION = 'What is the answer to the question in the file that was mentioned before?'
export const PIECES = ['The answer ', 'that the file ', 'gives to this ', 'question is 42.'] as const
export const ANSWER = PIECES.join('')
export const TOOL_INPUT = { path: 'notes/question.txt' }
export const TOOL_OUTPUT = 'The file has one line.'
export const USAGE: Usage = { input: 120, output: 12, cache_read: 0, cache_write: 0, reasoning: 0 }

export const toolSchema = z.object({ path: z.string() })

/** The one tool of a plan: it does nothing, so that only the way to it is measured. */
export function planTool(plan: ConversationPlan): Tool {
  return defineTool({
    name: plan.tool,
    description: 'Looks at a file and says what is in it.',
    category: plan.tool === 'act' ? 'action' : 'perception',
    kind: plan.tool === 'act' ? 'act' : 'read',
    input: toolSchema,
    execute: async () => ({ success: true, output: TOOL_OUTPUT }),
  })
}

const answerChunks: readonly ModelChunk[] = [
  ...PIECES.map((text) => ({ type: 'text' as const, text })),
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

/** The model double: streams the plan's chunks. The bare loop and Troupe are both given this one. */
export function planModel(plan: ConversationPlan): Model {
  const script = Array.from({ length: plan.turns }, (_, index) =>
    index + 1 < plan.turns ? toolCallChunks(plan, index + 1) : answerChunks,
  )
  return {
    name: 'double',
    async *stream(request) {
      const { turn } = request.session
      const held = plan.onTurn?.(turn)
      if (held) await held
      if (plan.latency_ms > 0) await delay(plan.latency_ms)
      for (const chunk of script[turn - 1] ?? answerChunks) yield chunk
    },
  }
}
