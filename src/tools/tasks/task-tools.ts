import type { Tool } from '../../kernel/tool.ts'
import { definedFields } from '../../schema/json-value.ts'
import * as z from '../../schema/zod.ts'
import { defineTool } from '../define-tool.ts'
import { paginate } from '../search/paginate.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { TaskListItem, TaskLists } from './task-list.ts'

const taskId = z.union([z.string(), z.number()]).transform(String).describe('The number of the task.')

const createInput = z.object({
  subject: z.string().min(1).max(300).describe('A short title of the task.'),
  description: z.string().max(20_000).describe('Everything needed to do the task.'),
  activeForm: z.string().max(300).optional().describe('The title in the present continuous: "Running the tests".'),
})

const updateInput = z.object({
  taskId,
  status: z.enum(['pending', 'in_progress', 'completed', 'deleted']).optional(),
  subject: z.string().min(1).max(300).optional(),
  description: z.string().max(20_000).optional(),
  activeForm: z.string().max(300).optional(),
  owner: z.string().max(200).optional().describe('The agent that works on it.'),
  addBlockedBy: z.array(z.string()).max(100).optional().describe('Tasks that must be completed first.'),
  addBlocks: z.array(z.string()).max(100).optional().describe('Tasks that wait for this one.'),
})

const TASK_TOOL = { category: 'task_management', on_request: true } as const

/** The tools `TaskCreate`, `TaskGet`, `TaskUpdate` and `TaskList`, for agents that list them. */
export function taskTools(lists: TaskLists): Tool[] {
  return [taskCreateTool(lists), taskGetTool(lists), taskUpdateTool(lists), taskListTool(lists)]
}

function taskCreateTool(lists: TaskLists): Tool {
  return defineTool<z.output<typeof createInput>>({
    name: 'TaskCreate',
    description: 'Add a task to the task list of this run. All agents of the run share the list.',
    ...TASK_TOOL,
    kind: 'idempotent',
    input: createInput,
    subject: ({ subject }) => subject,
    async execute({ subject, description, activeForm }, call) {
      const task = { subject, description, key: call.idempotency_key }
      const active = activeForm ? { active_form: activeForm } : undefined
      return { success: true, output: withoutKey(await lists.create(call.run_id, { ...task, ...active })) }
    },
  })
}

function taskGetTool(lists: TaskLists): Tool {
  return defineTool<{ taskId: string }>({
    name: 'TaskGet',
    description: 'Read one task of the task list, with its description.',
    ...TASK_TOOL,
    kind: 'read',
    input: z.object({ taskId }),
    execute: async (request, call) => ({
      success: true,
      output: withoutKey(await lists.find(call.run_id, request.taskId)),
    }),
  })
}

function taskUpdateTool(lists: TaskLists): Tool {
  return defineTool<z.output<typeof updateInput>>({
    name: 'TaskUpdate',
    description: 'Update a task: its status, owner or dependencies. The status `deleted` removes it.',
    ...TASK_TOOL,
    kind: 'idempotent',
    input: updateInput,
    async execute({ taskId: id, status, activeForm, addBlockedBy, addBlocks, ...fields }, call) {
      if (status === 'deleted') {
        await lists.remove(call.run_id, id)
        return { success: true, output: { id, status } }
      }
      const renamed = { status, active_form: activeForm, add_blocked_by: addBlockedBy, add_blocks: addBlocks }
      const change = definedFields({ ...fields, ...renamed })
      if (Object.keys(change).length === 0)
        throw invalidCallError(
          'no field to update was given',
          'give `status`, `subject`, `description`, `activeForm`, `owner`, `addBlockedBy` or `addBlocks`',
        )
      return { success: true, output: withoutKey(await lists.update(call.run_id, id, change)) }
    },
  })
}

function taskListTool(lists: TaskLists): Tool {
  return defineTool<Record<string, never>>({
    name: 'TaskList',
    description: 'List the tasks of this run with status, owner and open blockers.',
    ...TASK_TOOL,
    kind: 'read',
    input: z.object({}),
    async execute(_request, call) {
      const tasks = await lists.all(call.run_id)
      const open = new Set(tasks.filter(({ status }) => status !== 'completed').map(({ id }) => id))
      const lines = tasks.map(({ id, subject, status, owner, blocked_by }) => {
        const blockers = blocked_by.filter((other) => open.has(other))
        const details = [
          ...(owner ? [`owner ${owner}`] : []),
          ...(blockers.length > 0 ? [`blocked by ${blockers.join(', ')}`] : []),
        ]
        return `#${id} [${status}] ${subject}${details.length > 0 ? ` (${details.join('; ')})` : ''}`
      })
      return { success: true, output: paginate(lines, { offset: 0, limit: 500, emptyText: 'the task list is empty' }) }
    },
  })
}

function withoutKey({ key: _key, ...task }: TaskListItem): Omit<TaskListItem, 'key'> {
  return task
}
