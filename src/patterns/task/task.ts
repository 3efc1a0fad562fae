import { TroupeError } from '../../errors.ts'
import { checkAttachments } from '../../judgement/attachment/attached-file.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import type { Pattern, PatternResult } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import type { Roster } from '../../kernel/roster.ts'
import { agentSlug } from '../../kernel/session/session-state.ts'
import type { PerformRequest } from '../../kernel/session-request.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import { withChanges } from '../../kernel/session-result.ts'
import { offeredNames } from '../../requests/agent-summary.ts'
import { requestInputOf } from '../../schema/input-forms.ts'
import { instructionWithContext, quoteConversation } from './delegation-prompt.ts'
import type { TaskInput, TaskOutput } from './input.ts'
import { advertisedTaskResultInput, runSchemas, taskInput, taskInputFor, taskOutput, taskResultInput } from './input.ts'
import { refuseRegularExpressions } from './output-schema.ts'
import type { EarlierDelegations } from './repeated-delegation.ts'
import { adviceOnRepetition, findEarlierDelegations, refuseRepeatedDelegation } from './repeated-delegation.ts'

const DEFAULT_AGENT = 'default'

/** Step key of the sub-session, relative to the tool call. */
const SESSION_KEY = 'session'

/** Delegates an instruction to an agent in a resumable sub-session. At the top of a run it starts the first agent. */
export const task = definePattern({
  name: 'task',
  version: 1,
  description:
    'Delegate a self-contained subtask to another agent; it knows only your instruction. Calls in one turn run in parallel. To continue ' +
    'a session, pass the session_id of its result.',
  category: 'task_management',
  delegation: { self: 'count', cycles: 'refuse' },
  aliases: ['Task', 'Agent'],
  agents: (input, context) => [resolveAgentName(context, input)],
  settings: async () => (await import('./task-config.ts')).taskConfigSchema,
  configure: configureTask,
  ...runSchemas,
  requestInput: requestInputOf(taskInput),
  inputFor: (context) => taskInputFor(selectableAgents(context)),
  eventFields: (context, input) => ({
    agent: requestedAgentName(context, input),
    instruction: input.instruction,
    sub_session_id: input.session_id ?? context.sessionId(SESSION_KEY, requestedAgentName(context, input)),
    parent_session_id: context.caller?.session_id ?? '',
    depth: (context.caller?.opening.depth ?? -1) + 1,
  }),
  check: (roster, input) => checkTaskInput(roster, withDefaultAgent(roster, input)),
  async execute(context, given) {
    const input = context.caller ? given : withDefaultAgent(context.roster, given)
    if (input.agent !== 'self' || input.instruction.trim() === '') checkTaskInput(context.roster, input)
    if (context.caller && input.output) refuseRegularExpressions(input.output)
    const earlier = earlierDelegations(context, input)
    refuseRepeatedDelegation(earlier, requestedAgentName(context, input))
    const agent = requestedAgent(context, input)
    const instruction = instructionWithContext(
      openingInstruction(context, agent, input),
      inheritedContext(context, input),
    )
    const cache_key =
      agent && input.cache && context.isReadOnly(agent) ? cacheKey(agent, instruction, input) : undefined
    const cachedSession =
      cache_key === undefined ? undefined : await context.cachedResult('cached', cache_key, input.model ?? agent?.model)
    if (cachedSession) return withAdvice(toPatternResult(cachedSession, true), earlier, input)
    const request = {
      instruction,
      ...(input.session_id === undefined ? undefined : { resume: input.session_id }),
      ...(input.model === undefined ? undefined : { model: input.model }),
      ...(cache_key === undefined ? undefined : { cache_key }),
      ...(input.output === undefined ? undefined : { output: input.output }),
      ...(input.attachments === undefined ? undefined : { attachments: input.attachments }),
    }
    if (isBackground(context, agent, input)) return startInBackground(context, agent, request)
    return withAdvice(toPatternResult(await context.perform(agent, request, { key: SESSION_KEY })), earlier, input)
  },
})

/** Loop detection: a resumed session has a conversation of its own and is not compared. */
function earlierDelegations({ caller }: Context, input: TaskInput): EarlierDelegations {
  const { agent, session_id } = input
  if (!caller || agent === undefined || session_id !== undefined) return { repeats: 0, known: '', exchanges: [] }
  // The last message is the caller's own call of `task`.
  const messages = caller.messages.slice(0, -1)
  return findEarlierDelegations(messages, { ...input, agent }, [task.name, ...(task.aliases ?? [])])
}

/** The result, with advice if the caller had it before. */
function withAdvice(result: PatternResult, earlier: EarlierDelegations, { instruction }: TaskInput): PatternResult {
  const output = result.output as TaskOutput
  const note = result.success ? adviceOnRepetition(earlier, instruction, output.response) : undefined
  return note === undefined ? result : { ...result, output: { ...output, note } }
}

async function configureTask(config: unknown): Promise<Pattern> {
  return { ...task, ...(await import('./task-config.ts')).parseTaskConfig(config) }
}

/** Returns the result of a background task or of any earlier session. */
export const taskResult = definePattern({
  name: 'task_result',
  aliases: ['TaskOutput'],
  only: 'tool',
  version: 1,
  description: 'Get the result of a background task, or again of an earlier one.',
  category: 'task_management',
  delegation: { self: 'count', cycles: 'refuse' },
  input: taskResultInput,
  inputFor: () => advertisedTaskResultInput,
  output: taskOutput,
  async execute(context, { session_id, wait }) {
    const result = await context.collect('result', session_id, { wait })
    if (!result) return { success: true, output: { session_id, status: 'running' } }
    return { ...toPatternResult(result), collected: [session_id] }
  },
})

/** The agents that the caller may delegate to; one that its file lists and the roster lacks has no description. */
function selectableAgents({ caller, roster }: Context): Agent[] {
  // Only `self` is left where `limits.depth` is used up and `limits.self_depth` is not.
  if (caller && caller.opening.depth >= caller.opening.max_depth) return []
  const names = caller?.opening.agent.agents ?? offeredNames(roster)
  return names.map((name) => {
    if (!roster.has(name)) return { name, description: '', instructions: '' }
    return { ...roster.get(name), name }
  })
}

/** The instruction, preceded by `initial_prompt` for the first agent of a run. */
function openingInstruction(
  context: Context,
  agent: Agent | undefined,
  { instruction, session_id }: TaskInput,
): string {
  const initialPrompt = context.caller || session_id !== undefined ? undefined : agent?.initial_prompt
  return initialPrompt === undefined ? instruction : `${initialPrompt}\n\n${instruction}`
}

/** The input decides, then the agent's setting. The first agent of a run has no caller to collect its result. */
function isBackground({ caller }: Context, agent: Agent | undefined, { background, session_id }: TaskInput): boolean {
  return background ?? (caller !== undefined && session_id === undefined && agent?.background === true)
}

async function startInBackground(
  context: Context,
  agent: Agent | undefined,
  request: PerformRequest,
): Promise<PatternResult> {
  if (!context.caller) {
    throw new TroupeError('invalid_input', '`background` cannot be used for the first task of a run', {
      hint: 'remove `background` and start the run without waiting for it',
    })
  }
  if (!agent || request.resume !== undefined) {
    throw new TroupeError('invalid_input', '`background` cannot be combined with `session_id`', {
      hint: 'remove `background`',
    })
  }
  const session_id = await context.startBackground(agent, request, { key: SESSION_KEY })
  return { success: true, output: { session_id, agent: agent.name, status: 'running' }, started: [session_id] }
}

/** Only the first task of a run may leave the agent out: a model that delegates has to choose. */
function withDefaultAgent(roster: Roster, input: TaskInput): TaskInput {
  const isNamed = input.agent !== undefined || input.session_id !== undefined
  return isNamed || !roster.has(DEFAULT_AGENT) ? input : { ...input, agent: DEFAULT_AGENT }
}

function checkTaskInput(roster: Roster, input: TaskInput): void {
  if (input.instruction.trim() === '') {
    throw new TroupeError('invalid_input', '`instruction` is empty', { hint: 'describe what the agent should do' })
  }
  checkAttachments(input.attachments ?? [])
  if (input.agent !== undefined) roster.get(input.agent)
  else if (input.session_id === undefined) {
    throw new TroupeError('invalid_input', 'neither `agent` nor `session_id` is given', {
      hint: 'set `agent` to start a new session, or `session_id` to continue an earlier one',
      alternatives: [...roster.names],
    })
  }
}

/** The agent to start, or the expected agent of the session to resume. */
function requestedAgent(context: Context, input: TaskInput): Agent | undefined {
  if (input.agent === 'self' && context.caller) return context.caller.opening.agent
  return input.agent === undefined ? undefined : context.roster.get(input.agent)
}

function requestedAgentName(context: Context, input: TaskInput): string {
  if (input.agent === 'self') return context.caller?.opening.agent.name ?? 'self'
  return input.agent ?? input.session_id?.split('_').slice(1).join('_') ?? ''
}

/** The canonical roster name, even when the input uses an alias or a session_id. */
function resolveAgentName(context: Context, input: TaskInput): string {
  const requested = requestedAgentName(context, input)
  if (input.agent !== undefined) return context.roster.has(requested) ? context.roster.get(requested).name : requested
  const matches = context.roster.names.filter((name) => agentSlug(name) === requested)
  return matches.length === 1 ? (matches[0] ?? requested) : requested
}

function inheritedContext(context: Context, input: TaskInput): string {
  if (!context.caller || input.context_depth === 'none') return ''
  // The last message is the caller's own call of `task`.
  const messages = context.caller.messages.slice(0, -1)
  const turns = input.context_depth === 'all' ? Number.POSITIVE_INFINITY : input.context_turns
  return quoteConversation(messages, { turns, scope: input.context_scope, delegates: context.delegates })
}

function cacheKey(agent: Agent, instruction: string, input: TaskInput): string {
  const output = input.output === undefined ? undefined : { output: input.output }
  const attachments = input.attachments === undefined ? undefined : { attachments: input.attachments }
  return sha256(canonicalJson({ agent, instruction, model: input.model ?? null, ...output, ...attachments }))
}

function toPatternResult(session: SessionResult, cached = false): PatternResult {
  const { text, error, empty_response_key: _step, worktree, ...facts } = session
  const { branch = '', head = '', files = [] } = worktree ?? {}
  const output: TaskOutput = {
    response: withChanges(text, session),
    ...facts,
    ...(worktree ? { worktree: { branch, head, files } } : undefined),
    ...(cached ? { cached } : undefined),
  }
  const performed_by = { agent: session.agent, sub_session_id: session.session_id }
  if (session.status === 'completed') return { success: true, output, performed_by, stop_reason: session.stop_reason }
  const message = error?.message ?? `the session ended with stop_reason ${session.stop_reason}`
  return {
    success: false,
    output,
    performed_by,
    error: message,
    stop_reason: session.stop_reason,
    ...(error ? { detail: error } : undefined),
  }
}
