import { isCopiedExample } from '../../../requests/copied-example.ts'
import type { BuildPlan, PlannedTask } from '../contracts.ts'
import { priorities } from '../contracts.ts'
import { EXAMPLE_TEXTS } from '../prompts/plan-prompt.ts'
import type { Fields } from '../read-fields.ts'
import { isFields, readBoolean, readChoice, readList, readObjects, readText, readTexts } from '../read-fields.ts'
import { normalizeScope } from './scope.ts'

/** Reads a plan from the fields of an answer. What is missing has a default, and `checkPlan` reports what cannot be used. */
export function parsePlan(fields: Fields, developer: string): BuildPlan {
  const plan = isFields(fields.plan) ? fields.plan : fields
  const tasks = readObjects(plan.tasks).map((task, index) => parseTask(task, index, developer))
  const reason = readText(plan.no_change_reason)
  return {
    summary: readText(plan.summary),
    tasks,
    no_change_reason: tasks.length > 0 || reason === '' || isExample(reason) ? null : reason,
    tests_must_pass: readBoolean(plan.tests_must_pass),
    removes_tests: readBoolean(plan.removes_tests) ?? false,
  }
}

function parseTask(task: Fields, index: number, developer: string): PlannedTask {
  const title = readText(task.title)
  const description = readText(task.description) || readText(task.task_description)
  return {
    task_id: toTaskId(readText(task.task_id) || readText(task.id)) || `T${index + 1}`,
    title: title || firstLine(description) || `task ${index + 1}`,
    description: isExample(description) ? '' : description || title,
    priority: readChoice(task.priority, priorities) ?? 'medium',
    dependencies: parseDependencies(task.dependencies ?? task.depends_on),
    scope: [...new Set(readTexts(task.scope).map(normalizeScope))],
    acceptance_criteria: readTexts(task.acceptance_criteria).filter((text) => !isExample(text)),
    specs: readTexts(task.specs),
    reference_files: readTexts(task.reference_files),
    testing_required: readBoolean(task.testing_required) ?? true,
    agent: readText(task.agent) || developer,
  }
}

/** Task ids are part of branch names and step keys. */
function toTaskId(text: string): string {
  return text
    .replaceAll(/[^\w-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40)
}

/** Without soft ones, which a plan that a person copied from the question may have: they follow from the scopes. */
function parseDependencies(given: unknown): PlannedTask['dependencies'] {
  return readList(given).flatMap((entry) => {
    const task_id = toTaskId(isFields(entry) ? readText(entry.task_id) || readText(entry.id) : readText(entry))
    if (task_id === '' || (isFields(entry) && entry.kind === 'soft')) return []
    return { task_id, kind: 'hard' as const }
  })
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').slice(0, 80)
}

function isExample(text: string): boolean {
  return isCopiedExample(text, EXAMPLE_TEXTS)
}
