import type { AnswerShape, AnswerValue } from '../schema/answer-shape.ts'
import type { Schema } from '../schema/standard-schema.ts'
import type { Agent } from './agent.ts'
import type { Attachment } from './attachment.ts'
import type { QueuePlace } from './session/session-queue.ts'
import type { SessionResult } from './session-result.ts'
import type { Thread } from './thread.ts'

/* What a pattern asks of an agent: work (`perform`), or an answer of a shape (`request`). */

/** The rights of a new session; one that is continued keeps its own. */
export interface RequestedRights {
  model?: string
  /** Base tools of a top-level agent; a sub-agent inherits its caller's. */
  tools?: readonly string[]
  /**
   * Its answer stays once it is paid for, also when `resume` retries what the request depends on and would ask it differently now; and if the session
   * itself had failed, it goes on where it was.
   */
  keep?: true
  /** Keep only tools of kind `read`: none that acts, delegates or asks a person. */
  readOnly?: true
  /** An internal call of the pattern, such as a synthesis, by a system agent without tools. */
  internal?: true
  /** The folder that its tools work in, such as `workspace` of a worktree. Default: the caller's, or else that of the run. */
  workspace?: string
}

/** The form of the answer. */
export interface AnswerFormat {
  /** Schema of the structured output. A response that does not match goes back to the model once. */
  output?: Schema
  /** With `output`: accept a response that does not match, as text without an object. */
  allowText?: true
}

export interface PerformRequest extends RequestedRights, AnswerFormat {
  instruction: string
  /** Files that the instruction carries. */
  attachments?: readonly Attachment[]
  /** Id of a session to continue. It keeps its agent, model, tools and depth. An agent can continue sessions of its run's tree only. */
  resume?: string
  /** The pattern has checked itself that the calling agent may continue `resume`, a session of any run of the project. */
  resumeScope?: 'project'
  /** Shared conversation prefix. A session with a thread cannot be resumed by id. */
  thread?: Thread
  cache_key?: string
  background?: boolean
  /** For a background session: the tool that gets the result when the caller ends without collecting it, and its input. */
  collect_with?: { tool: string; input: unknown }
  /** The session opens at once and waits here before its first turn. */
  queue?: QueuePlace
  /** `timeout_ms` of the agent is a deadline: time in which no process executed the run counts, too. Waiting for a person does not. */
  countDowntime?: true
}

/** A request for an answer of this shape; without `answer`, for a text. */
export interface AnswerRequest<S extends AnswerShape = AnswerShape>
  extends Omit<PerformRequest, 'instruction' | 'output' | 'background' | 'collect_with'> {
  key: string
  agent: Agent | undefined
  /** The form of the answer follows it, unless it has the example itself or `resume` continues a session. */
  prompt: string
  answer?: S | undefined
  /** The model or model role to ask; if there is none, the agent asks its own. */
  preferredModel?: string
  /** Look for the answer to an earlier request with this `cache_key` first, in a step under this key. */
  cachedAs?: string | undefined
  /** Returns what to tell the agent if its answer cannot be used: one that has answered is asked once more. */
  check?(answer: Answer<S>): string | undefined | Promise<string | undefined>
  /** Keys of the further requests. Default: `${key}/text` and `${key}/correction`. */
  keys?: { text?: string; correction?: string }
}

/** An answer as it could be read, and the session that gave it. A failure is in `error`. */
export interface Answer<S extends AnswerShape = AnswerShape> extends SessionResult {
  /** Missing in an answer that has none of the fields, such as prose. */
  value?: AnswerValue<S['fields']> | undefined
  /** The object as the model wrote it, also one that was found in its text. */
  fields?: Readonly<Record<string, unknown>> | undefined
  /** Values that were not used, described for people. */
  notes: readonly string[]
  /** The answer ends within its object. */
  isCutOff: boolean
  /** Input and output tokens of all requests. */
  tokens: number
  cached?: true
  /** The answer that was corrected. */
  first?: Answer<S>
}
