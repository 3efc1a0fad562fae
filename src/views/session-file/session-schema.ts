import * as z from '../../schema/zod.ts'
import type { AgentSession, MultiAgentSession } from './agent-session.ts'
import { AGENT_MESSAGE_TYPES } from './pattern-session-file.ts'

/*
 * The schema of session files. Fields that it does not know are allowed: a file may come from another program or a later version.
 * `schemas/session.schema.json` is made from it.
 */

const time = z.iso.datetime({ offset: true })
const count = z.int().min(0)
const sessionStatus = z.enum(['success', 'failed', 'in_progress'])
const paths = z.array(z.string())

const agentIdentifier = z.looseObject({
  agent_id: z.string().min(1),
  agent_type: z.string().min(1).describe('architect, developer, reviewer, or any other name.'),
  instance_id: z.string().optional(),
})

const toolCall = z.looseObject({
  call_id: z.string().min(1).describe('Unique in the session.'),
  tool_name: z.string().min(1),
  tool_category: z.enum(['perception', 'action', 'interaction', 'planning', 'task_management']),
  started_at: time,
  ended_at: time.optional().describe('Missing while the call is in progress, like duration_ms.'),
  duration_ms: z.number().min(0).optional(),
  input: z.looseObject({ params: z.record(z.string(), z.unknown()) }),
  output: z.looseObject({
    status: sessionStatus,
    result: z.unknown().optional(),
    error: z.string().optional(),
    truncated: z.boolean().optional(),
  }),
  subagent_info: z
    .looseObject({
      subagent_type: z.string(),
      sub_session_id: z.string().describe('The sub-session that this call triggered.'),
      tool_uses: count,
      tokens_used: count,
    })
    .optional(),
  made_by_pattern: z.literal(true).optional().describe('A delegation that no model asked for.'),
  parent_call_id: z.string().optional(),
})

const phaseAnnotation = z.looseObject({
  annotation_id: z.string(),
  phase_type: z.enum(['understand', 'explore', 'plan', 'execute', 'verify', 'mixed', 'unclassified']),
  started_at: time,
  ended_at: time.optional(),
  tool_call_range: z.looseObject({ start_call_id: z.string(), end_call_id: z.string() }).optional(),
  annotated_by: z.enum(['agent', 'human', 'auto']),
  annotated_at: time,
  confidence: z.enum(['high', 'medium', 'low']),
  description: z.string().optional(),
})

const stopReason = z.enum(['completed', 'partial', 'max_turns', 'budget', 'timeout', 'cancelled', 'refused', 'failed'])

const agentSessionFields = {
  session_id: z.string().min(1),
  task_title: z.string(),
  task_description: z.string().optional(),
  user_prompt: z.string(),
  created_at: time,
  completed_at: time.optional().describe('Missing while the session is in progress.'),
  status: sessionStatus,
  agent: z.looseObject({ model_id: z.string() }),
  tool_calls: z.array(toolCall),
  phase_annotations: z.array(phaseAnnotation).optional(),
  summary: z.looseObject({
    total_duration_ms: z.number().min(0),
    tool_calls_count: count,
    files_created: paths,
    files_modified: paths,
    files_deleted: paths.optional(),
    errors_encountered: count.optional(),
  }),
  run: z
    .looseObject({
      run_id: z.string(),
      pattern: z.string(),
      status: z.enum(['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled']),
      stop_reason: stopReason.nullable(),
      error: z.string().optional(),
      waiting_for: z.array(z.string()).optional().describe('Open questions to people.'),
    })
    .optional(),
}

const changes = z.looseObject({ files_created: paths, files_modified: paths, files_deleted: paths })

const finding = z.looseObject({
  finding_id: z.string(),
  severity: z.enum(['critical', 'major', 'minor', 'suggestion']),
  category: z.enum(['bug', 'security', 'performance', 'style', 'logic']),
  file: z.string(),
  line: z.int().optional(),
  description: z.string(),
  suggestion: z.string().optional(),
})

const verification = z.looseObject({
  tests_passed: z.boolean(),
  type_check_passed: z.boolean(),
  custom_checks: z.record(z.string(), z.boolean()).optional(),
})

/** The output of any agent. `changes` are those of a developer; `verdict`, `findings` and `verification` those of a reviewer. */
const subSessionOutput = z.looseObject({
  task_id: z.string(),
  status: z.enum(['completed', 'partial', 'failed']).optional(),
  summary: z.string(),
  changes: changes.optional(),
  notes: z.string().optional(),
  blockers: z.array(z.string()).optional(),
  verdict: z.enum(['approved', 'changes_requested', 'rejected']).optional(),
  findings: z.array(finding).optional(),
  verification: verification.optional(),
})

const subSession = z.looseObject({
  sub_session_id: z.string().min(1),
  parent_session_id: z.string().describe('session_id of the file, or sub_session_id of another sub-session.'),
  agent: agentIdentifier,
  task: z.looseObject({
    task_id: z.string(),
    description: z.string(),
    priority: z.enum(['high', 'medium', 'low']),
    dependencies: z.array(z.string()).optional(),
  }),
  started_at: time,
  completed_at: time.optional(),
  status: sessionStatus,
  tool_calls: z.array(toolCall),
  output: subSessionOutput.optional(),
  triggered_by_call_id: z.string().describe('The call in the parent session that created this one.'),
  model_id: z.string().optional(),
  stop_reason: stopReason.optional(),
  continues: z.string().optional(),
})

const message = z.looseObject({
  message_id: z.string().min(1),
  timestamp: time,
  from_agent: agentIdentifier,
  to_agent: agentIdentifier,
  message_type: z.enum(AGENT_MESSAGE_TYPES),
  content: z.unknown(),
  related_task_id: z.string().optional(),
  sequence_number: z.int().min(1).optional(),
  correlation_id: z.string().optional(),
  reply_to: z.string().optional(),
})

const collaboration = z.looseObject({
  mode: z.enum(['single', 'multi_agent']),
  pattern: z.enum(['master_worker', 'peer_to_peer', 'pipeline']),
  orchestrator: agentIdentifier,
  participants: z.array(agentIdentifier),
})

export const agentSession = z.looseObject(agentSessionFields) satisfies z.ZodType<AgentSession>

export const multiAgentSession = z.looseObject({
  ...agentSessionFields,
  collaboration,
  sub_sessions: z.array(subSession),
  messages: z.array(message),
}) satisfies z.ZodType<MultiAgentSession>

/** The JSON Schema of session files: of several agents if they have `collaboration`, otherwise of one. */
export function sessionJsonSchema(): Record<string, unknown> {
  const { $schema, ...multi } = z.toJSONSchema(multiAgentSession, { io: 'input' }) as Record<string, unknown>
  const { $schema: _same, ...single } = z.toJSONSchema(agentSession, { io: 'input' }) as Record<string, unknown>
  return {
    $schema,
    title: 'Session file of Troupe',
    if: { type: 'object', required: ['collaboration'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { $ref: '#/$defs/MultiAgentSession' },
    else: { $ref: '#/$defs/AgentSession' },
    $defs: { AgentSession: single, MultiAgentSession: multi },
  }
}
