import { unknownNameError } from '../../errors.ts'
import { KeyedMutex } from '../files/keyed-mutex.ts'
import { readState, replaceState, toFileName } from '../files/tool-state.ts'
import type { Workspace } from '../files/workspace.ts'
import { invalidCallError, operatorError } from '../tool-errors.ts'

/*
 * The task list of a run, shared by its agents. One JSON file per run, replaced atomically, so that it survives restarts.
 * A creation repeated after a crash is recognised by its idempotency key.
 */

export type TaskStatus = 'pending' | 'in_progress' | 'completed'

export interface TaskListItem {
  id: string
  subject: string
  description: string
  status: TaskStatus
  owner?: string
  active_form?: string
  /** Tasks that must be completed first. */
  blocked_by: string[]
  /** The idempotency key of the creating call. */
  key: string
}

interface TaskFile {
  next: number
  tasks: TaskListItem[]
}

export type TaskListUpdate = Partial<
  Pick<TaskListItem, 'subject' | 'description' | 'status' | 'owner' | 'active_form'>
> & {
  add_blocked_by?: readonly string[]
  add_blocks?: readonly string[]
}

const MAX_TASKS = 500

export class TaskLists {
  private readonly mutex = new KeyedMutex()
  private readonly workspace: Workspace

  constructor(workspace: Workspace) {
    this.workspace = workspace
  }

  async all(run: string): Promise<TaskListItem[]> {
    return (await this.read(run)).tasks
  }

  async find(run: string, id: string): Promise<TaskListItem> {
    return findTask((await this.read(run)).tasks, id)
  }

  create(run: string, task: Omit<TaskListItem, 'id' | 'status' | 'blocked_by'>): Promise<TaskListItem> {
    return this.change(run, (file) => {
      const existing = file.tasks.find(({ key }) => key === task.key)
      if (existing) return existing
      if (file.tasks.length >= MAX_TASKS)
        throw invalidCallError(
          `the task list already has the maximum of ${MAX_TASKS} tasks`,
          'delete some with TaskUpdate and `status` deleted',
        )
      const created: TaskListItem = { ...task, id: String(file.next++), status: 'pending', blocked_by: [] }
      file.tasks.push(created)
      return created
    })
  }

  update(
    run: string,
    id: string,
    { add_blocked_by = [], add_blocks = [], ...fields }: TaskListUpdate,
  ): Promise<TaskListItem> {
    return this.change(run, ({ tasks }) => {
      const task = findTask(tasks, id)
      for (const other of add_blocked_by) addBlocker(tasks, id, other)
      for (const other of add_blocks) addBlocker(tasks, other, id)
      return Object.assign(task, fields)
    })
  }

  remove(run: string, id: string): Promise<void> {
    return this.change(run, (file) => {
      file.tasks = file.tasks.filter((task) => task.id !== id)
      for (const task of file.tasks) task.blocked_by = task.blocked_by.filter((other) => other !== id)
    })
  }

  private change<T>(run: string, work: (file: TaskFile) => T): Promise<T> {
    return this.mutex.runExclusive(run, async () => {
      const file = await this.read(run)
      const result = work(file)
      await replaceState(this.workspace, this.statePath(run), `${JSON.stringify(file, null, 2)}\n`)
      return result
    })
  }

  private async read(run: string): Promise<TaskFile> {
    const text = await readState(this.workspace, this.statePath(run))
    if (text === undefined) return { next: 1, tasks: [] }
    try {
      return JSON.parse(text) as TaskFile
    } catch (cause) {
      throw operatorError(
        `the task list of this run is not valid JSON: .troupe/${this.statePath(run).join('/')}`,
        'delete the file',
        cause,
      )
    }
  }

  private statePath(run: string): string[] {
    return ['tasks', `${toFileName(run)}.json`]
  }
}

function findTask(tasks: readonly TaskListItem[], id: string): TaskListItem {
  const task = tasks.find((candidate) => candidate.id === id)
  if (task) return task
  throw unknownNameError('tool_failed', { kind: 'task', name: id, known: tasks.map((task) => task.id) })
}

/** Rejects a dependency cycle: none of its tasks could ever start. */
function addBlocker(tasks: readonly TaskListItem[], id: string, blockerId: string): void {
  const task = findTask(tasks, id)
  findTask(tasks, blockerId)
  if (task.blocked_by.includes(blockerId)) return
  const queue = [blockerId]
  const visited = new Set<string>()
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (next === id)
      throw invalidCallError(
        `task ${id} cannot be blocked by task ${blockerId}, which is blocked by task ${id}`,
        'remove one of them from `addBlockedBy` or `addBlocks`',
      )
    if (visited.has(next)) continue
    visited.add(next)
    queue.push(...(tasks.find((other) => other.id === next)?.blocked_by ?? []))
  }
  task.blocked_by.push(blockerId)
}
