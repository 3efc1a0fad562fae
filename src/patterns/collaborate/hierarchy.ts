import { z } from 'zod'
import type { ErrorRecord } from '../../errors.ts'
import { TroupeError } from '../../errors.ts'
import type { Context } from '../../kernel/context.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import { totalTokens } from '../../kernel/spend.ts'
import type { Assignment, PlannedAssignment } from './assignments.ts'
import { planAssignments } from './assignments.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { Contribution } from './output.ts'
import { correctionPrompt, decompositionPrompt } from './prompts.ts'
import type { ContributionContext } from './request-contribution.ts'
import { emptyContribution, requestContribution } from './request-contribution.ts'
import type { Specialist } from './specialists.ts'
import { specialistRequest } from './waves.ts'

const divisionSchema = z.object({
  plan: z.string().describe('How the task is divided, and why, in a few sentences.'),
  assignments: z
    .array(
      z.object({
        agent: z.string(),
        subtask: z.string(),
        depends_on: z.array(z.union([z.string(), z.int()])).optional(),
        model: z.string().optional(),
      }),
    )
    .min(1),
})

type Division = { plan: string; assignments: Assignment[] }

export interface HierarchyResult {
  /** The coordinator's plan first, then the parts in the order of the plan. */
  contributions: Contribution[]
  /** The coordinator's session: it writes the answer too. */
  session_id: string | undefined
  /** What of the plan could not be used. */
  problems: string[]
  error?: ErrorRecord
}

/** The first divides the work among the others, which do their parts: at once where they can. */
export async function runHierarchy(
  site: ContributionContext,
  [coordinator, ...specialists]: readonly [Specialist, ...Specialist[]],
  max_parallel: number,
): Promise<HierarchyResult> {
  const found = await requestDivision(site, coordinator, specialists)
  const plan = toPlanContribution(coordinator, found)
  const { session_id } = found.result
  if (!found.division)
    return { contributions: [plan], session_id, problems: found.problems, error: divisionError(found) }
  const { parts, problems } = found
  const done = await runAssignments(site, { parts, specialists, max_parallel })
  return { contributions: [plan, ...done], session_id, problems }
}

interface DivisionResult {
  result: SessionResult
  tokens: number
  division: Division | undefined
  parts: PlannedAssignment[]
  problems: string[]
}

/** A division that cannot be used goes back once; what is wrong even then is left out and told. */
async function requestDivision(
  site: ContributionContext,
  coordinator: Specialist,
  specialists: readonly Specialist[],
): Promise<DivisionResult> {
  const { context, shared } = site
  const names = specialists.map(({ name }) => name)
  const { key } = specialistRequest(coordinator)
  context.emit(`${key}/asked`, 'tool:collaborative:agent:start', { agent: coordinator.name, role: 'coordinator' })
  const instruction = decompositionPrompt(shared, specialists, coordinator)
  const reading = coordinator.readOnly ? { readOnly: coordinator.readOnly } : undefined
  const first = await context.perform(coordinator.agent, { instruction, output: divisionSchema, ...reading }, { key })
  const made = await parseDivision(site, first, { names, key: 'models/1' })
  if (made.problems.length === 0 || first.status !== 'completed') return emitDivision(site, coordinator, made)
  const again = {
    instruction: correctionPrompt(made.problems, names),
    resume: first.session_id,
    output: divisionSchema,
  }
  const second = await context.perform(undefined, again, { key: `corrections/${encodeURIComponent(coordinator.name)}` })
  const better = await parseDivision(site, second, { names, key: 'models/2' })
  // With what is left of the first division the run would end, and nobody could have it corrected.
  if (isOutOfBudget(second)) return emitDivision(site, coordinator, better)
  const usable = better.division ? better : { ...made, problems: [...new Set([...made.problems, ...better.problems])] }
  // The session counts from its beginning.
  return emitDivision(site, coordinator, { ...usable, tokens: better.tokens })
}

function emitDivision({ context }: ContributionContext, { name }: Specialist, found: DivisionResult): DivisionResult {
  const { key } = specialistRequest({ name })
  const about = { agent: name, role: 'coordinator', tokens: found.tokens }
  if (found.division) context.emit(`${key}/answered`, 'tool:collaborative:agent:complete', about)
  else context.emit(`${key}/answered`, 'tool:collaborative:agent:error', { ...about, error: divisionError(found) })
  return found
}

interface DivisionContext {
  names: readonly string[]
  key: string
}

async function parseDivision(
  { context }: ContributionContext,
  result: SessionResult,
  { names, key }: DivisionContext,
): Promise<DivisionResult> {
  const tokens = totalTokens(result.usage)
  const said = result.object as Division | undefined
  const nothing = { result, tokens, division: undefined, parts: [] }
  if (!said) return { ...nothing, problems: [result.error?.message ?? 'it is not a division of the work'] }
  const wanted = [...new Set(said.assignments.flatMap(({ model }) => model ?? []))]
  const lacking = wanted.length === 0 ? {} : await context.step(key, () => findUnavailableModels(context, wanted))
  const { parts, problems } = planAssignments(said.assignments, names, lacking)
  if (parts.length === 0) return { ...nothing, problems }
  return { result, tokens, division: said, parts, problems }
}

/** Why each of these models cannot be had, of those that cannot. */
async function findUnavailableModels(context: Context, models: readonly string[]): Promise<Record<string, string>> {
  const found = await Promise.all(models.map(async (model) => [model, await context.modelProblem(model)] as const))
  return Object.fromEntries(found.flatMap(([model, why]) => (why === undefined ? [] : [[model, why]])))
}

function divisionError({ result, problems }: DivisionResult): ErrorRecord {
  const message = `the work could not be divided: ${problems.join('; ')}`
  return (
    result.error ?? new TroupeError('model_invalid_response', message, { hint: 'use a stronger coordinator' }).toJSON()
  )
}

function toPlanContribution({ name }: Specialist, found: DivisionResult): Contribution {
  const { result, tokens, division: made } = found
  return {
    ...emptyContribution({ name, role: 'coordinator' }),
    response: made?.plan ?? result.text,
    tokens_used: tokens,
    session_id: result.session_id,
    status: made ? 'completed' : 'failed',
    ...(made ? undefined : { error: divisionError(found) }),
  }
}

interface AssignmentQueue {
  parts: readonly PlannedAssignment[]
  specialists: readonly Specialist[]
  max_parallel: number
}

/** Parts come in an order in which each stands after those it needs, so that none waits for one that has no place yet. */
async function runAssignments(
  site: ContributionContext,
  { parts, specialists, max_parallel }: AssignmentQueue,
): Promise<Contribution[]> {
  const begun = new Map<number, Promise<Contribution>>()
  const work = async (part: PlannedAssignment) => {
    // What fails here fails there too: nobody may wait for ever.
    const previous = await Promise.all(part.dependsOn.map((number) => begun.get(number) as Promise<Contribution>))
    const who = specialists.find(({ name }) => name === part.agent) as Specialist
    return runAssignment(site, { who, part, previous })
  }
  const settledParts = await site.context.parallel(parts, max_parallel, (part) => {
    const working = work(part)
    begun.set(part.number, working)
    return working
  })
  const answers = settledParts.map((answer, index) => {
    if (answer.ok) return { number: parts[index]?.number ?? 0, contribution: answer.value }
    throw answer.error
  })
  return answers.sort((a, b) => a.number - b.number).map(({ contribution }) => contribution)
}

interface AssignmentRun {
  who: Specialist
  part: PlannedAssignment
  previous: readonly Contribution[]
}

async function runAssignment(site: ContributionContext, { who, part, previous }: AssignmentRun): Promise<Contribution> {
  const { subtask, model } = part
  const failed = previous.filter(({ error }) => error).map(({ agent }) => agent)
  if (failed.length > 0) return skippedContribution(who, subtask, failed)
  const key = `parts/${part.number}/${encodeURIComponent(part.agent)}`
  return requestContribution(site, who, { key, subtask, previous, ...(model === undefined ? undefined : { model }) })
}

/** Work on what was never made would be paid for nothing. */
function skippedContribution(who: Specialist, subtask: string, failed: readonly string[]): Contribution {
  const error = new TroupeError('tool_failed', `not begun: it needs what ${failed.join(', ')} could not deliver`)
  return { ...emptyContribution(who), subtask, status: 'failed', error: error.toJSON() }
}
