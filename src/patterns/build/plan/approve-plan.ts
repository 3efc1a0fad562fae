import type { Fields } from '../../../requests/read-answer.ts'
import { readAnswer } from '../../../requests/read-answer.ts'
import type { BuildScope } from '../build-scope.ts'
import { describePlan } from '../build-scope.ts'
import { planAnswer } from '../prompts/plan-prompt.ts'
import type { PlanCheck } from './check-plan.ts'
import { checkPlan } from './check-plan.ts'
import { parsePlan } from './parse-plan.ts'
import type { PlanRequest, RequestedPlan } from './request-plan.ts'
import { requestPlan } from './request-plan.ts'

const MAX_ANSWERS = 10
const YES = /^\s*(?:approve|approved|yes|y|ok|allow)\s*\.?\s*$/i
const NO = /^\s*(?:reject|rejected|decline|no|n|deny|abort|cancel)\s*\.?\s*$/i

/**
 * Asks a person about the plan, if that is wanted: approve it, decline it, send another plan as JSON, or describe what to change; the architect
 * then plans again. Returns the plan to carry out; nothing if it was declined.
 */
export async function approvePlan(
  scope: BuildScope,
  requested: RequestedPlan,
  request: PlanRequest,
): Promise<RequestedPlan | undefined> {
  const { context, input, config } = scope
  if (input.approve_plan !== true) return requested
  let current = requested
  let remark = ''
  for (let round = 1; round <= MAX_ANSWERS; round++) {
    const key = `approval/${request.iteration}/${round}`
    const answer = await context.ask(key, {
      question: `${remark}Approve this plan? Answer "approve" or "decline", describe what to change, or give another plan as JSON.`,
      detail: { plan: describePlan(current.plan), tasks: current.plan.tasks, answers: ['approve', 'decline'] },
    })
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
    if (answer === true || YES.test(text)) {
      context.emit(`${key}/answer`, 'build:plan_answer', { answer: 'approved' })
      return current
    }
    if (answer === false || NO.test(text)) {
      context.emit(`${key}/answer`, 'build:plan_answer', { answer: 'declined' })
      return undefined
    }
    context.emit(`${key}/answer`, 'build:plan_answer', { answer: 'edited', text })
    const fields = readAnswer(planAnswer(config.developer), { object: answer, text }).fields
    if (fields && 'tasks' in fields) {
      const { plan, problems, notes, fatal } = checkOwnPlan(scope, fields, request)
      if (problems.length > 0) {
        // A person decides what is left out of a plan of theirs.
        remark = `Your plan cannot be used as it is: ${fatal ?? problems.join('; ')}. Below is the plan before. `
        continue
      }
      const written = ['written by a person', ...notes]
      context.emit(`${key}/plan`, 'build:plan', { iteration: request.iteration, plan, problems, notes: written })
      return { ...current, plan }
    }
    remark = ''
    const again = { session_id: current.session_id, reason: 'edited' as const, text }
    const edited = await requestPlan(scope, { ...request, key: `plans/${request.iteration}/edited-${round}`, again })
    // A plan that cannot be used is no reason to lose the one that can.
    if (edited.fatal === undefined) current = edited
  }
  return undefined
}

/** A plan that the person wrote is carried out as it is, or not at all. */
function checkOwnPlan({ config, agents }: BuildScope, fields: Fields, { files }: PlanRequest): PlanCheck {
  const facts = {
    files,
    agents: agents.developers.map(({ name }) => name),
    max_tasks: config.max_tasks,
  }
  return checkPlan(parsePlan(fields, config.developer), facts)
}
