import { parentStepKey } from '../../../run-model/step-tree.ts'
import type {
  AgentIdentifier,
  PatternSessionFile,
  PhaseType,
  TaskAssignment,
} from '../../../views/session-file/pattern-session-file.ts'
import type { PlannedTask } from '../contracts.ts'
import type { BuildEvent, Phase } from '../events.ts'

/** The facts of a build that its session file needs. */
export interface BuildRecord {
  architect: AgentIdentifier | undefined
  reviewer: AgentIdentifier | undefined
  /** Developers, by the key of their session. */
  developers: Map<string, AgentIdentifier>
  tasks: Map<string, PlannedTask>
  /** Outputs of developers and reviewers, by the key that contains their session. */
  outputs: Map<string, Record<string, unknown> & { task_id: string }>
  files: Map<string, 'created' | 'modified' | 'deleted'>
}

export function newBuildRecord(): BuildRecord {
  return {
    architect: undefined,
    reviewer: undefined,
    developers: new Map(),
    tasks: new Map(),
    outputs: new Map(),
    files: new Map(),
  }
}

export function reduceBuildRecord(record: BuildRecord, event: BuildEvent): void {
  switch (event.type) {
    case 'build:plan':
      for (const task of event.data.plan.tasks) record.tasks.set(task.task_id, task)
      return
    case 'build:message':
      addParticipants(record, event.data)
      return
    case 'build:task_end':
    case 'build:review':
      record.outputs.set(parentStepKey(event.data.key), event.data.output)
      return
    case 'build:merge':
      addChanges(record, event.data.changes)
      return
    default:
  }
}

type MessageData = Extract<BuildEvent, { type: 'build:message' }>['data']

function addParticipants(record: BuildRecord, { message_type, from_agent, to_agent, content }: MessageData): void {
  if (message_type === 'task_assignment' || message_type === 'review_request') record.architect ??= from_agent
  if (message_type === 'review_request') record.reviewer = to_agent
  const { session_key } = (content ?? {}) as { session_key?: unknown }
  if (message_type === 'acknowledgment' && typeof session_key === 'string')
    record.developers.set(session_key, from_agent)
}

type Changes = Extract<BuildEvent, { type: 'build:merge' }>['data']['changes']

function addChanges({ files }: BuildRecord, { files_created, files_modified, files_deleted }: Changes): void {
  for (const path of files_created) files.set(path, files.get(path) === 'deleted' ? 'modified' : 'created')
  for (const path of files_modified) if (!files.has(path)) files.set(path, 'modified')
  for (const path of files_deleted) {
    if (files.get(path) === 'created') files.delete(path)
    else files.set(path, 'deleted')
  }
}

const PHASE_TYPES: Readonly<Record<Phase, PhaseType>> = {
  receive: 'understand',
  analyse: 'explore',
  plan: 'plan',
  delegate: 'execute',
  collect: 'execute',
  review: 'verify',
  iterate: 'mixed',
  complete: 'mixed',
}

export const buildSessionFile: PatternSessionFile<{ record: BuildRecord }, BuildEvent> = {
  collaboration: ({ record: { architect } }) => ({
    pattern: 'master_worker',
    ...(architect ? { orchestrator: architect } : undefined),
  }),
  message(event) {
    if (event.type !== 'build:message') return undefined
    const { key: _key, ...message } = event.data
    return message
  },
  phase(event) {
    if (event.type !== 'build:phase') return undefined
    const { phase, iteration } = event.data
    return { phase_type: PHASE_TYPES[phase], description: `${phase}, round ${iteration}` }
  },
  session({ record }, { key, agent, instruction }) {
    const place = parentStepKey(key)
    const output = record.outputs.get(place)
    const developer = record.developers.get(key)
    const isReviewer = record.reviewer?.agent_id === agent.agent_id && output !== undefined && 'verdict' in output
    const identity = developer ?? (isReviewer ? record.reviewer : undefined)
    if (!identity) return undefined
    const task_id = output?.task_id ?? developer?.instance_id ?? key
    const task = record.tasks.get(output?.task_id ?? '')
    return {
      agent: identity,
      task: task ? toAssignment(task) : { task_id, description: instruction, priority: 'medium' },
      ...(output ? { output } : undefined),
    }
  },
  changes({ record: { files } }) {
    const paths = (change: string) => [...files].filter(([, each]) => each === change).map(([path]) => path)
    return { files_created: paths('created'), files_modified: paths('modified'), files_deleted: paths('deleted') }
  },
}

function toAssignment({ task_id, description, priority, dependencies }: PlannedTask): TaskAssignment {
  return { task_id, description, priority, dependencies: dependencies.map((dependency) => dependency.task_id) }
}
