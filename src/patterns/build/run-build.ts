import { toTroupeError } from '../../errors.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import type { BuildConfig } from './build-config.ts'
import { combineChanges, emitPhase, removeWorktrees } from './build-scope.ts'
import type { BuildState } from './build-state.ts'
import { completeBuild } from './complete-build.ts'
import type { BuildPlan, PlannedTask, PreviousAttempt, RequiredChange } from './contracts.ts'
import { delegateTasks } from './development/delegate-tasks.ts'
import type { BuildContext } from './events.ts'
import type { BuildInput } from './input.ts'
import type { TaskOutcome } from './output.ts'
import { approvePlan } from './plan/approve-plan.ts'
import type { PlanRequest, RequestedPlan } from './plan/request-plan.ts'
import { requestPlan } from './plan/request-plan.ts'
import type { ReceivedBuild } from './receive.ts'
import { receiveBuild } from './receive.ts'
import { assignChanges } from './review/assign-changes.ts'
import { escalateReview } from './review/escalate-review.ts'
import { reviewWork } from './review/review-work.ts'

/** Carries out a build. A cancelled one is never resumed: nothing of it stays in the repository. */
export async function executeBuild(
  config: BuildConfig,
  context: BuildContext,
  input: BuildInput,
): Promise<PatternResult> {
  try {
    return await carryOut(await receiveBuild(context, config, input))
  } catch (thrown) {
    const { repository } = context
    // Not a step: the journal of a cancelled run is closed to new effects. Repeated, it finds nothing to remove.
    if (repository && toTroupeError(thrown).code === 'cancelled') await removeWorktrees(repository, context)
    throw thrown
  }
}

/** Receive, analyse, plan, delegate, collect, review, iterate, complete. Every effect is a step. */
async function carryOut(received: ReceivedBuild): Promise<PatternResult> {
  const state: BuildState = {
    plan: null,
    tasks: new Map(),
    review: null,
    iterations: 0,
    status: 'aborted',
    approved_by: null,
  }
  const planned = await planBuild(received)
  if (!planned) state.status = 'declined'
  else if (planned.fatal !== undefined) state.reason = unusablePlan(planned.fatal)
  else if (planned.plan.tasks.length === 0) Object.assign(state, { plan: planned.plan, status: 'no_change' })
  else await iterate(received, state, planned)
  return completeBuild(received.scope, state)
}

function unusablePlan(problem: string): string {
  return `the architect gave no usable plan (\`tasks\`): ${problem}`
}

async function planBuild(received: ReceivedBuild): Promise<RequestedPlan | undefined> {
  const request = planRequest(received, 1)
  const planned = await requestPlan(received.scope, request)
  return planned.plan.tasks.length === 0 || planned.fatal !== undefined
    ? planned
    : approvePlan(received.scope, planned, request)
}

function planRequest({ files, repository, workspace }: ReceivedBuild, iteration: number): PlanRequest {
  return { iteration, key: `plans/${iteration}`, files, repository, workspace }
}

interface Round {
  tasks: { task: PlannedTask; changes: RequiredChange[] }[]
  planned: RequestedPlan
}

/** Rounds of work and review, until the review approves or the limit is reached. */
async function iterate(received: ReceivedBuild, state: BuildState, planned: RequestedPlan): Promise<void> {
  const { scope } = received
  const earlier = new Map<string, PreviousAttempt[]>()
  let limit = scope.config.max_iterations
  let round: Round = { planned, tasks: planned.plan.tasks.map((task) => ({ task, changes: [] })) }
  for (let iteration = 1; ; iteration++) {
    state.iterations = iteration
    state.plan = round.planned.plan
    emitPhase(scope, { phase: 'delegate', iteration })
    const worked = await delegateTasks(scope, { iteration, tasks: round.tasks, earlier })
    emitPhase(scope, { phase: 'collect', iteration })
    for (const outcome of worked.outcomes) recordOutcome(state, outcome)
    for (const [task_id, attempts] of worked.attempts) earlier.set(task_id, attempts)
    if (scope.decisions.some(({ decision }) => decision === 'abort')) return
    const outcomes = [...state.tasks.values()]
    const asked_for = state.review?.output.required_changes ?? []
    state.review = await reviewWork(scope, { iteration, plan: round.planned.plan, outcomes, asked_for })
    const isComplete = round.planned.plan.tasks.every(({ task_id }) => state.tasks.get(task_id)?.status === 'completed')
    if (state.review.output.verdict === 'approved' && isComplete) {
      Object.assign(state, { status: 'completed', approved_by: 'reviewer' })
      return
    }
    emitPhase(scope, { phase: 'iterate', iteration })
    if (iteration >= limit) {
      const escalated = await escalateReview(scope, state.review, iteration)
      if (escalated.action !== 'continue') {
        Object.assign(state, { status: escalated.status, approved_by: escalated.approved_by })
        return
      }
      limit = iteration + 1
      state.review.output.required_changes.push({ priority: 'must_fix', description: escalated.feedback })
    }
    const next = await nextRound(received, round, { state, iteration: iteration + 1 })
    if (next.planned.fatal !== undefined) {
      Object.assign(state, { status: 'aborted', reason: unusablePlan(next.planned.fatal) })
      return
    }
    round = next
  }
}

/** A task that was worked on in several rounds has the changes of all of them. */
function recordOutcome({ tasks }: BuildState, outcome: TaskOutcome): void {
  const before = tasks.get(outcome.task_id)?.output
  const { output } = outcome
  const changes = before && output && combineChanges(before.changes, output.changes)
  tasks.set(outcome.task_id, changes ? { ...outcome, output: { ...output, changes } } : outcome)
}

/** `rejected` goes back to planning, on top of the work as it is; `changes_requested` goes back to the developers. */
async function nextRound(
  received: ReceivedBuild,
  round: Round,
  { state, iteration }: { state: BuildState; iteration: number },
): Promise<Round> {
  const review = state.review?.output
  if (review?.verdict === 'rejected') {
    const text = JSON.stringify({ summary: review.summary, findings: review.findings })
    const again = { session_id: round.planned.session_id, reason: 'rejected' as const, text }
    const planned = await requestPlan(received.scope, { ...planRequest(received, iteration), again })
    return { planned, tasks: planned.plan.tasks.map((task) => ({ task, changes: [] })) }
  }
  const rework = assignChanges(round.planned.plan.tasks, review?.required_changes ?? [])
  const unfinished = round.planned.plan.tasks.filter(({ task_id }) => state.tasks.get(task_id)?.status !== 'completed')
  const missing = unfinished
    .filter((task) => !rework.some((entry) => entry.task === task))
    .map((task) => ({ task, changes: [] }))
  return { planned: round.planned, tasks: inPlanOrder(round.planned.plan, [...rework, ...missing]) }
}

function inPlanOrder(plan: BuildPlan, tasks: Round['tasks']): Round['tasks'] {
  return [...tasks].sort((a, b) => plan.tasks.indexOf(a.task) - plan.tasks.indexOf(b.task))
}
