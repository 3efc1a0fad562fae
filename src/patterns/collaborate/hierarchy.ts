import type { ErrorRecord } from '../../errors.ts'
import { TroupeError } from '../../errors.ts'
import type { Context } from '../../kernel/context.ts'
import { isResumableFailure } from '../../kernel/resumable-failure.ts'
import type { Answer } from '../../kernel/session-request.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import { specialistRequest } from './ask-specialists.ts'
import type { PlannedAssignment } from './assignments.ts'
import { planAssignments } from './assignments.ts'
import type { Contribution } from './output.ts'
import { correctionPrompt, DIVIDER_SYSTEM, decompositionPrompt, divisionAnswer } from './prompts/divider-prompt.ts'
import type { ContributionScope } from './request-contribution.ts'
import { emptyContribution, requestContribution } from './request-contribution.ts'
import type { Specialist } from './specialists.ts'

export interface HierarchyResult {
  /** The coordinator's plan first, then the subtasks in plan order. */
  contributions: Contribution[]
  /** The coordinator's session, which also writes the answer. */
  session_id: string | undefined
  /** Invalid parts of the plan. */
  problems: string[]
  error?: ErrorRecord
}

/** The first agent decomposes the task; the others work on the subtasks, in parallel where dependencies allow. */
export async function runHierarchy(
  scope: ContributionScope,
  [coordinator, ...specialists]: readonly [Specialist, ...Specialist[]],
  max_parallel: number,
): Promise<HierarchyResult> {
  const divided = await requestDivision(scope, coordinator, specialists)
  const plan = toPlanContribution(coordinator, divided)
  const { parts, problems } = divided
  const { session_id } = divided.session
  if (!divided.division) return { contributions: [plan], session_id, problems, error: divisionError(divided) }
  const contributions = await runAssignments(scope, { parts, specialists, max_parallel })
  return { contributions: [plan, ...contributions], session_id, problems }
}

type DivisionAnswer = Answer<ReturnType<typeof divisionAnswer>>

interface DivisionResult {
  session: SessionResult
  tokens: number
  division: DivisionAnswer['value']
  parts: PlannedAssignment[]
  problems: string[]
}

/** Requests a division and one correction if it has problems. Remaining problems are reported and left out. */
async function requestDivision(
  scope: ContributionScope,
  coordinator: Specialist,
  specialists: readonly Specialist[],
): Promise<DivisionResult> {
  const { context, shared } = scope
  const names = specialists.map(({ name }) => name)
  const { key } = specialistRequest(coordinator)
  context.emit(`${key}/asked`, 'tool:collaborative:agent:start', { agent: coordinator.name, role: 'coordinator' })
  let division = undefined as DivisionResult | undefined
  const answer = await context.request({
    key,
    agent: { ...coordinator.agent, instructions: DIVIDER_SYSTEM },
    prompt: decompositionPrompt(shared, specialists, coordinator),
    answer: divisionAnswer(names),
    allowText: true,
    ...(coordinator.readOnly ? { readOnly: coordinator.readOnly } : undefined),
    check: async (first) => {
      division = await checkDivision(scope, first, { names, key: 'models/1' })
      return division.problems.length > 0 ? correctionPrompt(division.problems, names) : undefined
    },
    keys: { correction: `corrections/${encodeURIComponent(coordinator.name)}` },
  })
  if (division && !answer.first) return emitDivision(scope, coordinator, division)
  const corrected = await checkDivision(scope, answer, { names, key: 'models/2' })
  // Falling back to the first division would complete the run, and the correction could not be resumed.
  if (!division || (answer.error && isResumableFailure(answer.error)))
    return emitDivision(scope, coordinator, corrected)
  const problems = [...new Set([...division.problems, ...corrected.problems])]
  const usable = corrected.division ? corrected : { ...division, problems }
  // The usage of a resumed session includes its earlier turns.
  return emitDivision(scope, coordinator, { ...usable, tokens: corrected.tokens })
}

function emitDivision({ context }: ContributionScope, { name }: Specialist, result: DivisionResult): DivisionResult {
  const { key } = specialistRequest({ name })
  const data = { agent: name, role: 'coordinator', tokens: result.tokens }
  if (result.division) context.emit(`${key}/answered`, 'tool:collaborative:agent:complete', data)
  else context.emit(`${key}/answered`, 'tool:collaborative:agent:error', { ...data, error: divisionError(result) })
  return result
}

interface DivisionContext {
  names: readonly string[]
  key: string
}

async function checkDivision(
  { context }: ContributionScope,
  session: DivisionAnswer,
  { names, key }: DivisionContext,
): Promise<DivisionResult> {
  const { tokens, value, fields = {} } = session
  const division = 'assignments' in fields ? value : undefined
  const invalid = { session, tokens, division: undefined, parts: [] }
  if (!division) return { ...invalid, problems: [session.error?.message ?? 'the answer has no `assignments`'] }
  const models = [...new Set(division.assignments.flatMap(({ model }) => model ?? []))]
  const unavailable = models.length === 0 ? {} : await context.step(key, () => findUnavailableModels(context, models))
  const { parts, problems } = planAssignments(division.assignments, names, unavailable)
  if (parts.length === 0) return { ...invalid, problems: problems.length > 0 ? problems : ['`assignments` is empty'] }
  return { session, tokens, division, parts, problems }
}

/** Errors by model, for models that are not available. */
async function findUnavailableModels(context: Context, models: readonly string[]): Promise<Record<string, string>> {
  const checked = await Promise.all(
    models.map(async (model) => [model, await context.modelProblem(model, 'model')] as const),
  )
  return Object.fromEntries(checked.flatMap(([model, problem]) => (problem === undefined ? [] : [[model, problem]])))
}

function divisionError({ session, problems }: DivisionResult): ErrorRecord {
  const { error } = session
  if (error) {
    const isInvalid = error.code === 'model_invalid_response'
    return isInvalid ? { ...error, message: `the division of the task failed: ${error.message}` } : error
  }
  const message = `the coordinator gave no usable \`assignments\`: ${problems.join('; ')}`
  return new TroupeError('model_invalid_response', message, {
    hint: 'use a stronger model for the coordinator',
  }).toJSON()
}

function toPlanContribution({ name }: Specialist, result: DivisionResult): Contribution {
  const { session, tokens, division } = result
  return {
    ...emptyContribution({ name, role: 'coordinator' }),
    response: division?.plan ?? session.text,
    tokens_used: tokens,
    session_id: session.session_id,
    status: division ? 'completed' : 'failed',
    ...(division ? undefined : { error: divisionError(result) }),
  }
}

interface AssignmentQueue {
  parts: readonly PlannedAssignment[]
  specialists: readonly Specialist[]
  max_parallel: number
}

/** `parts` is sorted by dependency: a part that holds a slot never waits for one that has not started (deadlock). */
async function runAssignments(
  scope: ContributionScope,
  { parts, specialists, max_parallel }: AssignmentQueue,
): Promise<Contribution[]> {
  const started = new Map<number, Promise<Contribution>>()
  const run = async (part: PlannedAssignment) => {
    // A rejection propagates to dependent parts, so that none waits forever.
    const previous = await Promise.all(part.dependsOn.map((number) => started.get(number) as Promise<Contribution>))
    const specialist = specialists.find(({ name }) => name === part.agent) as Specialist
    return runAssignment(scope, { specialist, part, previous })
  }
  const settled = await scope.context.parallel(parts, max_parallel, (part) => {
    const running = run(part)
    started.set(part.number, running)
    return running
  })
  const answers = settled.map((answer, index) => {
    if (answer.ok) return { number: parts[index]?.number ?? 0, contribution: answer.value }
    throw answer.error
  })
  return answers.sort((a, b) => a.number - b.number).map(({ contribution }) => contribution)
}

interface AssignmentRun {
  specialist: Specialist
  part: PlannedAssignment
  previous: readonly Contribution[]
}

async function runAssignment(
  scope: ContributionScope,
  { specialist, part, previous }: AssignmentRun,
): Promise<Contribution> {
  const { subtask, model } = part
  const failed = previous.filter(({ error }) => error).map(({ agent }) => agent)
  if (failed.length > 0) return skippedContribution(specialist, subtask, failed)
  const key = `parts/${part.number}/${encodeURIComponent(part.agent)}`
  return requestContribution(scope, specialist, {
    key,
    subtask,
    previous,
    ...(model === undefined ? undefined : { model }),
  })
}

/** A subtask whose dependency failed is not started, to save its cost. */
function skippedContribution(specialist: Specialist, subtask: string, failed: readonly string[]): Contribution {
  const error = new TroupeError(
    'tool_failed',
    `not started: it depends on the failed subtask of ${failed.join(', ')}`,
    {
      hint: 'repeat the failed subtask with `troupe resume RUN`',
    },
  )
  return { ...emptyContribution(specialist), subtask, status: 'failed', error: error.toJSON() }
}
