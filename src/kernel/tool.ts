import type { Schema } from '../schema/standard-schema.ts'
import type { Attachment } from './attachment.ts'
import type { Message } from './model.ts'
import type { RunMetadata } from './run-metadata.ts'

/**
 * Effect of repeating a call. `read` changes nothing; `idempotent` is safe to repeat with the same idempotency key; `act`
 * must never be repeated blindly; `pattern` has steps of its own and is re-entered instead.
 */
export type ToolKind = 'read' | 'idempotent' | 'act' | 'pattern'

export type ToolCategory = 'perception' | 'action' | 'interaction' | 'planning' | 'task_management'

export interface ToolResult {
  success: boolean
  output?: unknown
  error?: string
  /** Images of the result, for models that take them; others get a line in the text instead. */
  attachments?: readonly Attachment[]
  /** Paths that the call created or changed. */
  files?: string[]
  /** The `files` that did not exist before. */
  created?: string[]
  /** Paths that the call deleted. */
  deleted?: string[]
  /** New content of text files among them; it becomes an artifact where the session asks for that. */
  contents?: Readonly<Record<string, string>>
}

/** How far a call is. */
export interface ToolProgress {
  progress?: number | undefined
  total?: number | undefined
  message?: string | undefined
}

/** What a call may touch, and where. */
export interface CallScope {
  /** The subject that permission was granted for. Prevents TOCTOU: a call that would touch another must be denied. */
  subject?: string
  /** `base` of the change that a person has approved. Prevents TOCTOU: a call on other content must be denied. */
  approved_base?: string
  /** Files that permission rules hide from this call, under any name; a search skips them. */
  excluded_globs?: readonly string[]
  /** The agent has no tool that writes, so this call must not write either. */
  read_only?: true
  /** The folder of the session, if it is not that of the run. */
  workspace?: string
  /** Files that the call writes become artifacts: `files` and `contents` of the result are wanted. */
  file_artifacts?: true
}

/** The call that a tool executes. */
export interface ToolCall extends CallScope {
  run_id: string
  session_id: string
  agent: string
  /** Tags and context of the run. */
  run: RunMetadata
  tool_call_id: string
  /** The same for every attempt at this call, so that an external system can reject duplicates. */
  idempotency_key: string
  signal: AbortSignal
  /** Tells that the call is at work: `timeout_ms` starts again, and those who watch the run see it. */
  reportProgress?(progress: ToolProgress): void
  /**
   * Await it right before an irreversible act that follows other work: it rejects with `lease_lost` if this process was suspended, and
   * another one has taken over the run and carries out the call. Always present in calls of a run.
   */
  ensureLease?(): Promise<void>
  /** The conversation up to the response with this call. Always present in calls of a run. */
  messages?(): readonly Message[]
}

export interface ToolMetadata {
  name: string
  description: string
  /** Schema of the arguments: zod, another Standard Schema library with JSON Schema, or a JSON Schema. */
  input: Schema
  category: ToolCategory
  /** True for tools whose purpose is editing files. */
  edits?: true
  /** After this the call fails with `tool_timeout` and its signal aborts. */
  timeout_ms?: number
  /** The longest a call may take that reports progress. Default: `timeout_ms`. */
  max_timeout_ms?: number
  /** Only for agents whose file lists it. */
  on_request?: true
  /** The reason why it cannot work here, such as a missing program. A session that opens now is not offered it. */
  unavailable?(): string | undefined
  /** Provided by an agent's own MCP server: only for that agent and the agents it calls. */
  agent_provided?: true
}

export interface ToolDefinition<Input> extends ToolMetadata {
  input: Schema<Input>
  kind: 'read' | 'idempotent' | 'act'
  execute(input: Input, call: ToolCall): Promise<ToolResult> | ToolResult
  /** The subject that permission rules match: a path, a command, a URL. */
  subject?(input: Input): string
  /**
   * For `act`, after a crash between `tool:pre` and `tool:post`: checks, without acting, whether the call took effect.
   * Returns its result if it did, `undefined` if it did not; throws if that cannot be known.
   */
  recover?(input: Input, call: ToolCall): Promise<ToolResult | undefined> | ToolResult | undefined
  /** Whether a person has to approve the call, whatever rules allow; answers that allow further calls count. */
  needsApproval?(input: Input, call: ToolCall): Promise<boolean> | boolean
  /** The change that the call would make to a file, for the person who is asked for permission. Must not act. */
  preview?(input: Input): Promise<ChangePreview | undefined>
}

/** A change of a file, as a diff against its present content. */
export interface ChangePreview {
  path: string
  /** The file does not exist yet. */
  is_new?: true
  /** A unified diff, without the lines that name the files. Absent for a binary file and for one that is too long to compare. */
  diff?: string
  /** Lines that the tool left out at the end of the diff. */
  omitted_lines?: number
  /** Hash of the content that the diff is against, empty for a new file: an approval holds for this content only. */
  base?: string
}

/** A tool with its input type erased; inputs are validated against the schema first. */
export interface Tool
  extends ToolMetadata,
    Pick<ToolDefinition<never>, 'kind' | 'execute' | 'recover' | 'subject' | 'needsApproval' | 'preview'> {}
