import type { Fields } from '../../../requests/read-answer.ts'
import { isFields, readAnswer } from '../../../requests/read-answer.ts'
import type { BuildPlan } from '../contracts.ts'
import { planAnswer } from '../prompts/plan-prompt.ts'
import { normalizeScope } from './scope.ts'

/** Reads a plan from the fields of an answer. What is missing has a default, and `checkPlan` reports what cannot be used. */
export function parsePlan(fields: Fields, developer: string): BuildPlan {
  const { value } = readAnswer(planAnswer(developer), { object: withoutSoftDependencies(fields), text: '' })
  const {
    summary = '',
    no_change_reason = null,
    tests_must_pass = null,
    removes_tests = null,
    tasks = [],
  } = value ?? {}
  return {
    summary,
    tasks: tasks.map((task, index) => ({
      ...task,
      task_id: toTaskId(task.task_id) || `T${index + 1}`,
      title: task.title || firstLine(task.description) || `task ${index + 1}`,
      description: task.description || task.title,
      dependencies: task.dependencies.map((id) => ({ task_id: toTaskId(id), kind: 'hard' as const })),
      scope: [...new Set(task.scope.map(normalizeScope))],
      testing_required: task.testing_required ?? true,
      agent: task.agent || developer,
    })),
    no_change_reason: tasks.length > 0 ? null : no_change_reason,
    tests_must_pass,
    removes_tests: removes_tests ?? false,
  }
}

/** A plan that a person copied from the question may have soft dependencies: they follow from the scopes. */
function withoutSoftDependencies(fields: Fields): unknown {
  return JSON.parse(JSON.stringify(fields), (_, value: unknown) =>
    isFields(value) && value.kind === 'soft' ? '' : value,
  )
}

/** Task ids are part of branch names and step keys. */
function toTaskId(text: string): string {
  return text
    .replaceAll(/[^\w-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40)
}

function firstLine(text: string): string {
  return (text.split('\n')[0] ?? '').slice(0, 80)
}
