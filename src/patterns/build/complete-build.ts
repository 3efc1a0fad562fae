import { TroupeError } from '../../errors.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import type { BuildScope } from './build-scope.ts'
import {
  describePlan,
  emitPhase,
  gitStep,
  identify,
  removeWorktrees,
  startConversation,
  toFileChanges,
} from './build-scope.ts'
import type { BuildState } from './build-state.ts'
import type { ReviewerOutput } from './contracts.ts'
import { askAgent } from './development/ask-agent.ts'
import type { BuildOutput, TaskOutcome } from './output.ts'
import { reportPrompt } from './prompts/architect-prompts.ts'
import { describeChecks } from './verification/check.ts'

/** Reports, names the branch of the result, and removes everything else. */
export async function completeBuild(scope: BuildScope, state: BuildState): Promise<PatternResult> {
  const { context, base } = scope
  emitPhase(scope, { phase: 'complete', iteration: Math.max(1, state.iterations) })
  const isKept = state.status === 'completed'
  const branch = isKept ? resultBranch(scope) : null
  const report = await writeReport(scope, state, branch)
  const head = isKept ? (state.review?.head ?? null) : null
  if (branch !== null) {
    await gitStep(context, 'complete/branch', (repository, signal) =>
      repository.setBranch({ id: scope.integration, branch }, signal),
    )
  }
  await gitStep(context, 'complete/cleanup', async (repository, signal) => {
    await removeWorktrees(repository, context, signal)
    return true
  })
  const { status, iterations } = state
  if (status === 'aborted') {
    const architect = identify(scope, scope.config.architect)
    const to = { agent_id: 'user', agent_type: 'user' }
    startConversation(context, 'build').send({ from: architect, to, type: 'abort', content: { report } })
  }
  context.emit('complete/end', 'build:complete', { status, branch, head, iterations })
  const output: BuildOutput = {
    status,
    report,
    branch,
    base,
    head,
    changes: toFileChanges(isKept ? (state.review?.files ?? []) : []),
    plan: state.plan,
    tasks: [...state.tasks.values()],
    review: state.review?.output ?? null,
    iterations,
    approved_by: state.approved_by,
    checks: { baseline: [...scope.baseline], final: state.review?.checks ?? [] },
    merge_rounds: scope.merge_rounds,
    decisions: [...scope.decisions],
    notes: [...new Set(scope.notes)].sort(),
  }
  if (status === 'completed' || status === 'no_change') return { success: true, output }
  const error = failureText(state)
  // Not to be resumed: every step is recorded, so that the same end would follow.
  const detail = new TroupeError('tool_failed', error, { retry: false, hint: nextStep(state) }).toJSON()
  return { success: false, output, error, detail, stop_reason: 'failed' }
}

function nextStep({ status, reason }: BuildState): string {
  if (status === 'declined') return 'start another build with a request that says what to plan differently'
  if (status === 'not_approved')
    return 'read the findings with `troupe show RUN`; then start another build with a more precise request, or with more `max_iterations`'
  return reason === undefined
    ? 'read what failed with `troupe show RUN`; then start another build with a more precise request or smaller steps'
    : 'describe the request more precisely, or use a stronger model for the architect; `troupe show RUN` has its answers'
}

/** `troupe/` and the run: every branch of Troupe is in there, and none of the user's. */
function resultBranch({ context, integration }: BuildScope): string {
  return `troupe/result/${context.caller ? `${context.run_id}-${integration.name}` : context.run_id}`
}

async function writeReport(scope: BuildScope, state: BuildState, branch: string | null): Promise<string> {
  const { agents, input, notes } = scope
  if (state.status === 'no_change') return `No change is needed: ${state.plan?.no_change_reason ?? ''}`
  if (state.reason !== undefined) return `The build was aborted: ${state.reason}. Nothing was changed.`
  if (state.status === 'declined') return 'The plan was declined. Nothing was changed.'
  const { review, tasks, plan } = state
  const facts = [
    `status: ${state.status}${state.approved_by && state.approved_by !== 'reviewer' ? `, approved by ${state.approved_by} and not by the review` : ''}`,
    `branch: ${branch ?? 'none; everything was removed'}`,
    `rounds of work and review: ${state.iterations}`,
    ...describeChecks(review?.checks ?? [], scope.baseline),
    ...[...new Set(notes)].sort(),
  ]
  const work = [
    JSON.stringify({ plan: plan ? describePlan(plan) : '' }),
    ...[...tasks.values()].map((task) => JSON.stringify(task)),
    JSON.stringify({ review: review ? reviewSummary(review.output) : null }),
  ]
  const session = await askAgent(scope, {
    key: 'complete/report',
    agent: { ...agents.architect, tools: [] },
    prompt: reportPrompt({ request: input.request, facts, work }),
  })
  // The facts are the report where the architect writes none, and come first where the work is not kept: a model may claim that it is.
  const text = session.text.trim() === '' ? facts.join('\n') : session.text.trim()
  return state.status === 'completed' ? text : `${failureText(state)}. Nothing was kept.\n\n${text}`
}

/** The review without its verification: the facts say what ran. */
function reviewSummary({ verdict, summary, findings }: ReviewerOutput) {
  return { verdict, summary, findings }
}

function failureText({ status, tasks, review, reason }: BuildState): string {
  if (reason !== undefined) return reason
  if (status === 'declined') return 'the plan was declined'
  if (status === 'not_approved') return `the review did not approve the work: ${review?.output.summary ?? ''}`
  const failed = [...tasks.values()].filter((task) => task.status !== 'completed')
  return `the build was aborted: ${failed.map(describeFailure).join('; ')}`
}

/** Troupe's own findings first: the summary is the claim of a model. */
function describeFailure({ task_id, status, output }: TaskOutcome): string {
  const reason = output?.blockers?.join('; ') || output?.summary || 'no reason was given'
  return `${task_id} (${status}): ${reason}`
}
