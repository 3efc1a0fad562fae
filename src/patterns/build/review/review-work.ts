import type { ChangedFile } from '../../../tools/git/repository.ts'
import type { BuildScope } from '../build-scope.ts'
import { emitPhase, gitStep, identify, startConversation } from '../build-scope.ts'
import type { BuildPlan, RequiredChange, ReviewerInput } from '../contracts.ts'
import { checkContract, reviewerInput, reviewerOutput } from '../contracts.ts'
import { askAgent } from '../development/ask-agent.ts'
import type { StatusUpdate } from '../messages.ts'
import type { TaskOutcome } from '../output.ts'
import { reviewAnswer, reviewerPrompt } from '../prompts/reviewer-prompt.ts'
import type { CheckResult } from '../verification/check.ts'
import { describeCheck, describeChecks, describeFailures } from '../verification/check.ts'
import { changedCheckCommands, findWeakenedTests } from '../verification/compare-tests.ts'
import { runChecks } from '../verification/run-checks.ts'
import type { BoundReview } from './bind-verdict.ts'
import { bindVerdict } from './bind-verdict.ts'
import { parseReview } from './parse-review.ts'

/** Characters of a diff in the prompt of the reviewer, and in the comparison of tests. */
const MAX_PROMPT_DIFF = 60_000
const MAX_DIFF = 2_000_000

export interface ReviewedWork extends BoundReview {
  checks: CheckResult[]
  /** The tip of the integration branch. */
  head: string
  files: ChangedFile[]
  weakened_tests: string[]
}

export interface ReviewRequest {
  iteration: number
  plan: BuildPlan
  outcomes: readonly TaskOutcome[]
  /** What the review before asked for. */
  asked_for: readonly RequiredChange[]
}

/** Verifies the merged work and lets the reviewer judge it. The verdict agrees with what ran. */
export async function reviewWork(scope: BuildScope, request: ReviewRequest): Promise<ReviewedWork> {
  const { context, base, integration, baseline } = scope
  const { iteration, plan } = request
  emitPhase(scope, { phase: 'review', iteration })
  const key = `review/${iteration}`
  const merged = await gitStep(context, `${key}/merged`, async (repository, signal) => {
    const { head, workspace } = await repository.openWorktree({ id: integration, base: scope.base }, signal)
    const { files } = await repository.changes({ id: integration, base }, signal)
    const { text } = await repository.diff({ from: base, to: head, max_chars: MAX_DIFF }, signal)
    const [before, after] = await Promise.all(
      [base, head].map((ref) => repository.readFile({ ref, path: `${scope.prefix}package.json` }, signal)),
    )
    return {
      head,
      workspace,
      files,
      weak: findWeakenedTests({ baseline: [], current: [], files, diff: text }),
      commands: changedCheckCommands(before, after),
      diff: shortenDiff(text),
    }
  })
  const checks = await runChecks(scope, { workspace: merged.workspace, stage: 'merged', iteration })
  const counted = findWeakenedTests({ baseline, current: checks, files: [], diff: '' })
  const weakened_tests = [...merged.weak, ...merged.commands, ...counted]
  const input = checkContract(reviewerInput, toReviewerInput(scope, request, merged.files))
  const work = { ...merged, checks, weakened_tests }
  const claimed = await askReviewer(scope, { ...request, input, key, work })
  const facts = {
    criteria: input.criteria,
    baseline,
    checks,
    weakened_tests,
    removes_tests: plan.removes_tests,
    task_id: input.task_id,
  }
  const bound = bindVerdict(claimed, facts)
  checkContract(reviewerOutput, bound.output)
  context.emit(`${key}/result`, 'build:review', { iteration, ...bound, weakened_tests })
  scope.notes.push(...bound.overruled.map((claim) => `the reviewer ${claim}`), ...unprovenChecks(checks, baseline))
  return { ...bound, checks, head: merged.head, files: merged.files, weakened_tests }
}

/** Checks that say nothing about the work, although they did not stop it: nobody may take them for passed. */
function unprovenChecks(checks: readonly CheckResult[], baseline: readonly CheckResult[]): string[] {
  return checks.flatMap((check) => {
    const isUnfinished = check.status === 'skipped' || check.status === 'timeout'
    if (!isUnfinished) return []
    if (!check.required) return [describeCheck(check)]
    const before = baseline.find(({ name }) => name === check.name)
    return before && before.status !== 'passed'
      ? [`${describeCheck(check)}; it did not pass before the work either, so it shows nothing about the work`]
      : []
  })
}

/** A reviewer has to know that it does not see everything. */
function shortenDiff(text: string): string {
  if (text.length <= MAX_PROMPT_DIFF) return text
  return `${text.slice(0, MAX_PROMPT_DIFF)}\n[cut off: ${text.length - MAX_PROMPT_DIFF} characters more; read the files that are missing here]`
}

function toReviewerInput(
  { input, baseline, checks }: BuildScope,
  { plan, iteration }: ReviewRequest,
  files: readonly ChangedFile[],
): ReviewerInput {
  const { focus_areas } = input
  const wasGreen = (kind: CheckResult['kind']) =>
    baseline.filter((check) => check.kind === kind).every(({ status }) => status === 'passed')
  const hasTests = checks.some(({ kind }) => kind === 'test')
  return {
    task_id: `review-${iteration}`,
    review_scope: { files: files.map(({ path }) => path), ...(focus_areas ? { focus_areas } : undefined) },
    criteria: {
      must_pass_tests: hasTests && (wasGreen('test') || plan.tests_must_pass === true),
      must_pass_type_check: checks.some(({ kind }) => kind === 'type_check') && wasGreen('type_check'),
      custom_checks: checks.filter(({ kind }) => kind === 'custom').map(({ name }) => name),
    },
    acceptance_criteria: plan.tasks.flatMap(({ task_id, acceptance_criteria }) =>
      acceptance_criteria.map((criterion) => `${task_id}: ${criterion}`),
    ),
  }
}

interface ReviewerCall extends ReviewRequest {
  input: ReviewerInput
  key: string
  work: { workspace: string; diff: string; checks: CheckResult[]; weakened_tests: string[] }
}

/** A reviewer that fails is asked once more; without any answer there is no verdict. */
async function askReviewer(scope: BuildScope, { input, outcomes, asked_for, key, work }: ReviewerCall) {
  const { agents, config } = scope
  const [architect, reviewer] = [identify(scope, config.architect), identify(scope, agents.reviewer.name)]
  const conversation = startConversation(scope.context, input.task_id)
  conversation.send({ from: architect, to: reviewer, type: 'review_request', content: input })
  const timeout_ms = Math.min(agents.reviewer.timeout_ms ?? Number.POSITIVE_INFINITY, config.reviewer_timeout_ms)
  const prompt = reviewerPrompt({
    request: scope.input.request,
    input,
    reports: [...outcomes.map((outcome) => JSON.stringify(outcome)), ...describeFailures(work.checks)],
    diff: work.diff,
    checks:
      work.checks.length > 0
        ? describeChecks(work.checks, scope.baseline)
        : ['no command that tests the project was found'],
    test_changes: work.weakened_tests,
    asked_for: asked_for.map((change) => JSON.stringify(change)),
  })
  const ask = (at: string) =>
    askAgent(scope, {
      key: at,
      agent: { ...agents.reviewer, timeout_ms },
      prompt,
      answer: reviewAnswer,
      allowText: true,
      workspace: work.workspace,
    })
  const first = await ask(`${key}/session`)
  if (first.status !== 'completed') {
    const summary = `no answer (${first.error?.message ?? first.stop_reason}); the reviewer is asked once more`
    const content: StatusUpdate = { state: 'asked_again', summary }
    conversation.send({ from: reviewer, to: architect, type: 'status_update', content })
  }
  const session = first.status === 'completed' ? first : await ask(`${key}/again`)
  const review = parseReview(session, input.task_id)
  const failure =
    session.status === 'completed' ? undefined : `the reviewer failed: ${session.error?.message ?? session.stop_reason}`
  const claimed = failure === undefined ? review : { ...review, verdict: undefined, summary: failure, failed: true }
  conversation.send({ from: reviewer, to: architect, type: 'review_result', content: claimed })
  return claimed
}
