import type { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context, PerformRequest } from '../../kernel/context.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import type { Roster } from '../../kernel/roster.ts'
import { agentSlug } from '../../kernel/session/session-state.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import type { TaskInput, TaskOutput } from './input.ts'
import { taskInput, taskInputFor, taskOutput, taskResultInput } from './input.ts'
import { instructionWithContext, quoteConversation } from './prompts.ts'

/** The session a task opens hangs under this key of its call. */
const SESSION_KEY = 'session'

/** Delegation to a sub-session that can be resumed. At the top of a run it starts the first agent. */
export const task = definePattern<TaskInput>({
  name: 'task',
  version: 1,
  description:
    'Delegate a subtask to another agent. It works in a session of its own and answers with its result and a session_id; ' +
    'give that session_id again, with a new instruction, to continue the same conversation. Several calls in one turn ' +
    'run in parallel.',
  category: 'task_management',
  delegates: true,
  subject: (input, context) => resolveAgentName(context, input),
  input: taskInput,
  output: taskOutput,
  inputFor: (context) => taskInputFor(context.caller?.opening.agent.agents ?? context.roster.names),
  eventFields: (context, input) => ({
    agent: requestedAgentName(context, input),
    instruction: input.instruction,
    sub_session_id: input.session_id ?? context.sessionId(SESSION_KEY, requestedAgentName(context, input)),
    parent_session_id: context.caller?.session_id ?? '',
    depth: (context.caller?.opening.depth ?? -1) + 1,
  }),
  check: checkTaskInput,
  async execute(context, input) {
    if (input.agent !== 'self' || input.instruction.trim() === '') checkTaskInput(context.roster, input)
    const agent = requestedAgent(context, input)
    const instruction = instructionWithContext(
      openingInstruction(context, agent, input),
      inheritedContext(context, input),
    )
    const cache_key =
      agent && input.cache && context.isReadOnly(agent) ? cacheKey(agent, instruction, input) : undefined
    const known = cache_key === undefined ? undefined : await context.cachedResult('cached', cache_key)
    if (known) return toPatternResult(known, true)
    const request = {
      instruction,
      ...(input.session_id === undefined ? undefined : { resume: input.session_id }),
      ...(input.model === undefined ? undefined : { model: input.model }),
      ...(cache_key === undefined ? undefined : { cache_key }),
    }
    if (isBackground(context, agent, input)) return startInBackground(context, agent, request)
    return toPatternResult(await context.perform(agent, request, { key: SESSION_KEY }))
  },
})

/** Brings the result of a background task, or again that of any earlier session. */
export const taskResult = definePattern<z.output<typeof taskResultInput>>({
  name: 'task_result',
  version: 1,
  description:
    'The result of a task by its session_id: of one that works in the background, or again of an earlier one.',
  category: 'task_management',
  delegates: true,
  input: taskResultInput,
  output: taskOutput,
  async execute(context, { session_id, wait }) {
    const result = await context.collect('result', session_id, wait)
    if (!result) return { success: true, output: { session_id, status: 'running' } }
    return { ...toPatternResult(result), collected: [session_id] }
  },
})

/** The instruction, after what the first agent of a run is always told. */
function openingInstruction(
  context: Context,
  agent: Agent | undefined,
  { instruction, session_id }: TaskInput,
): string {
  const first = context.caller || session_id !== undefined ? undefined : agent?.initial_prompt
  return first === undefined ? instruction : `${first}\n\n${instruction}`
}

/** The call decides, then the agent; nobody would collect what the first agent of a run does in the background. */
function isBackground({ caller }: Context, agent: Agent | undefined, { background, session_id }: TaskInput): boolean {
  return background ?? (caller !== undefined && session_id === undefined && agent?.background === true)
}

async function startInBackground(
  context: Context,
  agent: Agent | undefined,
  request: PerformRequest,
): Promise<PatternResult> {
  if (!context.caller) {
    throw new TroupeError('invalid_input', 'the first task of a run cannot be in the background', {
      hint: 'start the run without waiting for it instead',
    })
  }
  if (!agent || request.resume !== undefined) {
    throw new TroupeError('invalid_input', 'a session is resumed in the foreground', { hint: 'leave background out' })
  }
  const session_id = await context.startBackground(agent, request, { key: SESSION_KEY })
  return { success: true, output: { session_id, agent: agent.name, status: 'running' }, started: [session_id] }
}

function checkTaskInput(roster: Roster, input: TaskInput): void {
  if (input.instruction.trim() === '') {
    throw new TroupeError('invalid_input', 'the instruction is empty', { hint: 'say what the agent should do' })
  }
  if (input.agent !== undefined) roster.get(input.agent)
  else if (input.session_id === undefined) {
    throw new TroupeError('invalid_input', 'neither agent nor session_id is given', {
      hint: 'name an agent to start a new session, or give the session_id of an earlier one',
      alternatives: [...roster.names],
    })
  }
}

/** The agent to start, or the one a resumed session is expected to be. */
function requestedAgent(context: Context, input: TaskInput): Agent | undefined {
  if (input.agent === 'self' && context.caller) return context.caller.opening.agent
  return input.agent === undefined ? undefined : context.roster.get(input.agent)
}

function requestedAgentName(context: Context, input: TaskInput): string {
  if (input.agent === 'self') return context.caller?.opening.agent.name ?? 'self'
  return input.agent ?? input.session_id?.split('_').slice(1).join('_') ?? ''
}

/** The agent by the one name that it has in the roster, also where it is called by another or by its session. */
function resolveAgentName(context: Context, input: TaskInput): string {
  const named = requestedAgentName(context, input)
  if (input.agent !== undefined) return context.roster.has(named) ? context.roster.get(named).name : named
  const meant = context.roster.names.filter((name) => agentSlug(name) === named)
  return meant.length === 1 ? (meant[0] ?? named) : named
}

function inheritedContext(context: Context, input: TaskInput): string {
  if (!context.caller || input.context_depth === 'none') return ''
  // The last message is the caller's own call of this task.
  const before = context.caller.messages.slice(0, -1)
  const turns = input.context_depth === 'all' ? Number.POSITIVE_INFINITY : input.context_turns
  return quoteConversation(before, turns, input.context_scope, context.delegates)
}

function cacheKey(agent: Agent, instruction: string, input: TaskInput): string {
  return sha256(canonicalJson({ agent, instruction, model: input.model ?? null }))
}

function toPatternResult(session: SessionResult, cached = false): PatternResult {
  const { text, error, ...rest } = session
  const { object: _object, ...facts } = rest
  const output: TaskOutput = { response: text, ...facts, ...(cached ? { cached } : undefined) }
  const performed_by = { agent: session.agent, sub_session_id: session.session_id }
  if (session.status === 'completed') return { success: true, output, performed_by, stop_reason: session.stop_reason }
  const why = error?.message ?? `the session ended: ${session.stop_reason}`
  return {
    success: false,
    output,
    performed_by,
    error: why,
    stop_reason: session.stop_reason,
    ...(error ? { detail: error } : undefined),
  }
}
