import type { PatternPart } from '../../kernel/pattern-part.ts'
import type { JsonSchema } from '../../schema/standard-schema.ts'

/** Policy of the session loop: when a conversation is compacted, and what the loop tells the agent. */
export interface SessionPolicy extends PatternPart<'session policy'> {
  compaction: CompactionPolicy
  prompts: SessionPrompts
}

interface CompactionPolicy {
  /** Share of the context window at which a conversation is compacted. */
  threshold: number
  /** Share of the context window to come down to. */
  target: number
  /** The newest messages, which stay whole. */
  keepRecent: number
  summaryPrompt(conversation: string): string
}

interface SessionPrompts {
  /** After a final message without text. */
  emptyResponse: string
  /** After a final message that has a tool call as text. */
  toolCallInText: string
  /** After the last turn that the agent's `max_turns` allows. */
  outOfTurns: string
  /** After the same tool calls failed with the same errors several times in a row. */
  repeatedFailures: string
  /** After structured output that does not match its schema. */
  invalidOutput(problem: string, schema: JsonSchema): string
  /** After a hook rejected the final answer. */
  rejectedAnswer(reason: string): string
  /** Before the results of background sessions that the agent did not collect. */
  backgroundResults: string
}
