import { TroupeError } from '../../../errors.ts'
import type { Answer } from '../../../kernel/session-request.ts'
import type { SessionResult } from '../../../kernel/session-result.ts'
import type { BuildScope } from '../build-scope.ts'
import { emitPhase } from '../build-scope.ts'
import type { BuildPlan } from '../contracts.ts'
import { buildPlan, checkContract } from '../contracts.ts'
import { askAgent } from '../development/ask-agent.ts'
import { planAnswer, planCorrectionPrompt, planPrompt, replanPrompt } from '../prompts/plan-prompt.ts'
import { describeCheck, describeFailures } from '../verification/check.ts'
import type { PlanCheck, PlanFacts } from './check-plan.ts'
import { checkPlan } from './check-plan.ts'
import { parsePlan } from './parse-plan.ts'

export interface PlanRequest {
  iteration: number
  key: string
  files: readonly string[]
  /** Facts about the repository, one a line. */
  repository: readonly string[]
  /** The folder that the architect reads in. */
  workspace: string
  /** Another plan of the same architect session. */
  again?: { session_id: string; reason: 'edited' | 'rejected'; text: string }
}

export interface RequestedPlan {
  plan: BuildPlan
  session_id: string
  /** Why the plan cannot be carried out. */
  fatal?: string
}

/** Lets the architect analyse the repository and plan. A plan that cannot be carried out goes back once. */
export async function requestPlan(scope: BuildScope, request: PlanRequest): Promise<RequestedPlan> {
  const { context, config } = scope
  const { iteration, key } = request
  const facts: PlanFacts = {
    files: request.files,
    agents: scope.agents.developers.map(({ name }) => name),
    max_tasks: config.max_tasks,
  }
  emitPhase(scope, { phase: 'analyse', iteration }, key)
  const answer = await askForPlan(scope, request, (first) => {
    emitPhase(scope, { phase: 'plan', iteration }, key)
    const { problems } = checkAnswer(scope, first, facts)
    return problems.length > 0 && first.stop_reason === 'completed' ? planCorrectionPrompt(problems) : undefined
  })
  const { first = answer } = answer
  const [before, after] = [checkAnswer(scope, first, facts), checkAnswer(scope, answer, facts)]
  // A correction that is worse than the plan is dropped.
  const isWorse = after.fatal !== undefined && before.fatal === undefined
  const [check, session] = isWorse ? [before, first] : [after, answer]
  // A session that failed is repeated when the run is resumed, which then records its plan; a plan that cannot be used ends the build.
  if (check.fatal !== undefined && session.error) throw planError(check.fatal, session)
  const plan = checkContract(buildPlan, check.plan)
  context.emit(`${key}/plan`, 'build:plan', { iteration, plan, problems: check.problems, notes: check.notes })
  scope.notes.push(...check.problems.map((problem) => `plan: ${problem}`), ...check.notes)
  return { plan, session_id: session.session_id, ...(check.fatal === undefined ? undefined : { fatal: check.fatal }) }
}

function firstPrompt({ input, baseline, agents, config }: BuildScope, { repository }: PlanRequest): string {
  return planPrompt({
    request: input.request,
    repository,
    baseline: baseline.length > 0 ? baseline.map(describeCheck) : ['no command that tests the project was found'],
    failures: describeFailures(baseline),
    developers: agents.developers,
    max_tasks: config.max_tasks,
  })
}

/** The plan is the answer: a list of tasks beside it would be a second one. */
const TASK_LIST_TOOLS = ['TaskCreate', 'TaskUpdate', 'TaskList']

function askForPlan(
  scope: BuildScope,
  request: PlanRequest,
  check: (answer: Answer) => string | undefined,
): Promise<Answer> {
  const { agents, config } = scope
  const { key, workspace, again } = request
  const { tools = [] } = agents.architect
  const architect = { ...agents.architect, tools: tools.filter((name) => !TASK_LIST_TOOLS.includes(name)) }
  const developer = agents.developers[0]?.name ?? config.developer
  return askAgent(scope, {
    key: `${key}/session`,
    answer: planAnswer(developer),
    allowText: true,
    check,
    keys: { correction: `${key}/correction` },
    ...(again
      ? { agent: undefined, prompt: replanPrompt(again), resume: again.session_id }
      : { agent: architect, prompt: firstPrompt(scope, request), workspace, readOnly: true as const }),
  })
}

function checkAnswer({ config }: BuildScope, { fields, error }: Answer, facts: PlanFacts): PlanCheck {
  if (fields) return checkPlan(parsePlan(fields, config.developer), facts)
  const fatal = error?.message ?? 'the answer is no plan: it has no JSON object'
  const plan = { summary: '', tasks: [], no_change_reason: null, tests_must_pass: null, removes_tests: false }
  return { plan, problems: [fatal], notes: [], fatal }
}

function planError(problem: string, { error, session_id }: SessionResult): TroupeError {
  const code = error && error.code !== 'model_invalid_response' ? error.code : 'model_invalid_response'
  return new TroupeError(code, `the architect gave no usable plan (\`tasks\`): ${problem}`, {
    hint:
      error?.hint ??
      `describe the request more precisely, or use a stronger model for the architect; its session is ${session_id || 'missing'}`,
    ...(error?.step === undefined ? undefined : { step: error.step }),
  })
}
