import type { Worktree } from '../../../tools/git/repository.ts'
import type { BuildScope } from '../build-scope.ts'
import { gitStep, identify, startConversation, toFileChanges, worktreeId } from '../build-scope.ts'
import type { DeveloperInput, DeveloperOutput, PlannedTask, PreviousAttempt, RequiredChange } from '../contracts.ts'
import { checkContract, developerInput, developerOutput } from '../contracts.ts'
import type { AgentConversation } from '../messages.ts'
import { developerAnswer, developerPrompt } from '../prompts/developer-prompt.ts'
import { askAgent } from './ask-agent.ts'
import { decideFailure } from './decide-failure.ts'
import { scopedDeveloper } from './developer-agent.ts'
import { parseDeveloperOutput } from './parse-developer-output.ts'
import { collectWork } from './task-worktree.ts'

export interface DevelopmentRequest {
  task: PlannedTask
  iteration: number
  /** What the review asked for; empty in the first round. */
  changes: readonly RequiredChange[]
  /** Earlier attempts at this task, in earlier rounds. */
  previous: readonly PreviousAttempt[]
}

/** A task whose work is committed on its own branch, complete or not. */
export interface DevelopedTask {
  task: PlannedTask
  worktree: Worktree
  agent: string
  output: DeveloperOutput
  attempts: PreviousAttempt[]
  conversation: AgentConversation
  /** The tip of its branch. */
  head: string
}

/** Lets a developer work on a task, again where the architect decides so, until it is completed or given up. */
export async function developTask(scope: BuildScope, request: DevelopmentRequest): Promise<DevelopedTask> {
  const { context, config } = scope
  const { task, iteration } = request
  const key = `tasks/${iteration}/${task.task_id}`
  const id = worktreeId(context, `${task.task_id}-${iteration}`)
  const worktree = await gitStep(context, `${key}/worktree`, async (repository, signal) => {
    const { head } = await repository.openWorktree({ id: scope.integration, base: scope.base }, signal)
    return repository.openWorktree({ id, base: head }, signal)
  })
  const conversation = startConversation(context, `${task.task_id}-${iteration}`)
  const attempts: PreviousAttempt[] = [...request.previous]
  let agent = task.agent
  let changes = [...request.changes]
  for (let attempt = 1; ; attempt++) {
    const work = await attemptTask(scope, {
      ...request,
      changes,
      agent,
      attempt,
      worktree,
      attempts,
      conversation,
      key,
    })
    const { output } = work
    const problems = [
      ...(output.blockers ?? []),
      ...work.outside.map((path) => `${path} is out of scope; its change was undone`),
    ]
    attempts.push({ attempt, agent, status: output.status, summary: output.summary, problems })
    const result = { task, worktree, agent, output, attempts, conversation, head: work.head }
    if (output.status === 'completed' && work.outside.length === 0) return result
    if (output.status === 'completed' && (attempt >= config.max_attempts || attempt > 1)) return result
    if (output.status === 'completed') {
      changes = [...changes, scopeFeedback(work.outside)]
      continue
    }
    const decision = await decideFailure(scope, {
      task,
      agent,
      attempt,
      output,
      conversation,
      key: `${key}/${attempt}`,
      attempts,
    })
    if (decision.decision === 'abort') return result
    agent = decision.agent ?? agent
    if (decision.instruction !== undefined)
      changes = [...changes, { priority: 'must_fix', description: decision.instruction }]
  }
}

function scopeFeedback(paths: readonly string[]): RequiredChange {
  return {
    priority: 'must_fix',
    description: `Your changes of ${paths.join(', ')} were undone: they are outside your scope. Complete the task without them, or say in "blockers" why it cannot be done.`,
  }
}

interface Attempt extends DevelopmentRequest {
  agent: string
  attempt: number
  worktree: Worktree
  attempts: readonly PreviousAttempt[]
  conversation: AgentConversation
  key: string
}

async function attemptTask(scope: BuildScope, attempt: Attempt) {
  const { context, config, input: build } = scope
  const { task, iteration, agent, worktree, conversation } = attempt
  const key = `${attempt.key}/${attempt.attempt}`
  const instance = `${task.task_id}-${iteration}`
  const [architect, developer] = [identify(scope, config.architect), identify(scope, agent, instance)]
  const input = checkContract(developerInput, toDeveloperInput(task, attempt, build.style_guide))
  const session_key = context.path === '' ? `${key}/session` : `${context.path}/${key}/session`
  const facts = { iteration, attempt: attempt.attempt, agent }
  // Before the assignment, which is shown on the way to this session.
  context.emit(`${key}/start`, 'build:task_start', {
    ...facts,
    task_id: task.task_id,
    session_key,
    branch: worktree.branch,
  })
  conversation.send({ from: architect, to: developer, type: 'task_assignment', content: input, task_id: task.task_id })
  conversation.send({
    from: developer,
    to: architect,
    type: 'acknowledgment',
    content: { session_key },
    task_id: task.task_id,
  })
  const checks = scope.checks.map(({ command }) => command)
  const answer = await askAgent(scope, {
    key: `${key}/session`,
    agent: scopedDeveloper(context.roster.get(agent), task.scope, config.developer_timeout_ms),
    prompt: developerPrompt({ request: build.request, input, checks }),
    answer: developerAnswer,
    allowText: true,
    workspace: worktree.workspace,
  })
  const work = await collectWork(scope, { task, worktree, since: worktree.base, key })
  if (work.outside.length > 0) {
    const violation = { iteration, task_id: task.task_id, agent, files: work.outside, scope: task.scope }
    context.emit(`${key}/scope`, 'build:scope_violation', violation)
    scope.notes.push(
      `${agent} (${task.task_id}) changed files outside its scope, which was undone: ${work.outside.join(', ')}`,
    )
  }
  const changes = toFileChanges(work.files)
  const mayChangeNothing = attempt.changes.length > 0 && iteration > 1
  const output = checkContract(
    developerOutput,
    parseDeveloperOutput(answer, { task_id: task.task_id, changes, mayChangeNothing }),
  )
  context.emit(`${key}/end`, 'build:task_end', { ...facts, output })
  const type = output.status === 'completed' ? 'task_completion' : 'task_progress'
  conversation.send({ from: developer, to: architect, type, content: output, task_id: task.task_id })
  return { output, outside: work.outside, head: work.head }
}

function toDeveloperInput(
  task: PlannedTask,
  { attempts, changes }: Pick<Attempt, 'attempts' | 'changes'>,
  style_guide: string | undefined,
): DeveloperInput {
  return {
    task_id: task.task_id,
    task_description: task.description,
    context: { specs: task.specs, reference_files: task.reference_files },
    constraints: {
      scope: task.scope,
      testing_required: task.testing_required,
      ...(style_guide === undefined ? undefined : { style_guide }),
    },
    acceptance_criteria: task.acceptance_criteria,
    previous_attempts: [...attempts],
    required_changes: [...changes],
  }
}
