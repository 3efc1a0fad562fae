import type { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context, PerformRequest } from '../../kernel/context.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import type { Roster } from '../../kernel/roster.ts'
import type { SessionResult } from '../../kernel/session.ts'
import { agentInId } from '../../kernel/session.ts'
import type { TaskInput, TaskOutput } from './input.ts'
import { resultInput, taskInput, taskInputFor, taskOutput } from './input.ts'
import { instructionWith, quoted } from './prompts.ts'

/** The session a task opens hangs under this key of its call. */
const SESSION = 'session'

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
  subject: (input, context) => agentMeant(context, input),
  input: taskInput,
  output: taskOutput,
  inputFor: (context) => taskInputFor(context.caller?.open.agent.agents ?? context.roster.names),
  facts: (context, input) => ({
    agent: agentNamed(context, input),
    instruction: input.instruction,
    sub_session_id: input.session_id ?? context.sessionId(SESSION, agentNamed(context, input)),
    parent_session_id: context.caller?.session_id ?? '',
    depth: (context.caller?.open.depth ?? -1) + 1,
  }),
  check,
  async execute(context, input) {
    if (input.agent !== 'self' || input.instruction.trim() === '') check(context.roster, input)
    const agent = chosen(context, input)
    const instruction = instructionWith(openingFor(context, agent, input), inherited(context, input))
    const cache_key = agent && input.cache && context.onlyReads(agent) ? cacheKey(agent, instruction, input) : undefined
    const known = cache_key === undefined ? undefined : await context.cached('cached', cache_key)
    if (known) return resultOf(known, true)
    const request = {
      instruction,
      ...(input.session_id === undefined ? undefined : { resume: input.session_id }),
      ...(input.model === undefined ? undefined : { model: input.model }),
      ...(cache_key === undefined ? undefined : { cache_key }),
    }
    if (inBackground(context, agent, input)) return startInBackground(context, agent, request)
    return resultOf(await context.perform(agent, request, { key: SESSION }))
  },
})

/** Brings the result of a background task, or again that of any earlier session. */
export const taskResult = definePattern<z.output<typeof resultInput>>({
  name: 'task_result',
  version: 1,
  description:
    'The result of a task by its session_id: of one that works in the background, or again of an earlier one.',
  category: 'task_management',
  delegates: true,
  input: resultInput,
  output: taskOutput,
  async execute(context, { session_id, wait }) {
    const result = await context.collect('result', session_id, wait)
    if (!result) return { success: true, output: { session_id, status: 'running' } }
    return { ...resultOf(result), collected: [session_id] }
  },
})

/** The instruction, after what the first agent of a run is always told. */
function openingFor(context: Context, agent: Agent | undefined, { instruction, session_id }: TaskInput): string {
  const first = context.caller || session_id !== undefined ? undefined : agent?.initial_prompt
  return first === undefined ? instruction : `${first}\n\n${instruction}`
}

/** The call decides, then the agent; nobody would collect what the first agent of a run does in the background. */
function inBackground({ caller }: Context, agent: Agent | undefined, { background, session_id }: TaskInput): boolean {
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
  const session_id = await context.start(agent, request, { key: SESSION })
  return { success: true, output: { session_id, agent: agent.name, status: 'running' }, started: [session_id] }
}

function check(roster: Roster, input: TaskInput): void {
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
function chosen(context: Context, input: TaskInput): Agent | undefined {
  if (input.agent === 'self' && context.caller) return context.caller.open.agent
  return input.agent === undefined ? undefined : context.roster.get(input.agent)
}

function agentNamed(context: Context, input: TaskInput): string {
  if (input.agent === 'self') return context.caller?.open.agent.name ?? 'self'
  return input.agent ?? input.session_id?.split('_').slice(1).join('_') ?? ''
}

/** The agent by the one name that it has in the roster, also where it is called by another or by its session. */
function agentMeant(context: Context, input: TaskInput): string {
  const named = agentNamed(context, input)
  if (input.agent !== undefined) return context.roster.has(named) ? context.roster.get(named).name : named
  const meant = context.roster.names.filter((name) => agentInId(name) === named)
  return meant.length === 1 ? (meant[0] ?? named) : named
}

function inherited(context: Context, input: TaskInput): string {
  if (!context.caller || input.context_depth === 'none') return ''
  // The last message is the caller's own call of this task.
  const before = context.caller.messages.slice(0, -1)
  const turns = input.context_depth === 'all' ? Number.POSITIVE_INFINITY : input.context_turns
  return quoted(before, turns, input.context_scope, context.delegates)
}

function cacheKey(agent: Agent, instruction: string, input: TaskInput): string {
  return sha256(canonicalJson({ agent, instruction, model: input.model ?? null }))
}

function resultOf(session: SessionResult, cached = false): PatternResult {
  const { text, error, ...rest } = session
  const { object: _object, ...facts } = rest
  const output: TaskOutput = { response: text, ...facts, ...(cached ? { cached } : undefined) }
  const worked = { agent: session.agent, sub_session_id: session.session_id }
  if (session.status === 'completed') return { success: true, output, worked, stop_reason: session.stop_reason }
  const why = error?.message ?? `the session ended: ${session.stop_reason}`
  return {
    success: false,
    output,
    worked,
    error: why,
    stop_reason: session.stop_reason,
    ...(error ? { detail: error } : undefined),
  }
}
