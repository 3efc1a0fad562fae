import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { callTool, createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createTools } from '../tools.ts'

let fixture: ToolWorkspace
beforeEach(() => {
  fixture = createToolWorkspace({ sandbox: 'none' })
})
afterEach(() => fixture[Symbol.dispose]())

const create = (subject: string, more = {}) =>
  fixture.call('TaskCreate', { subject, description: `do ${subject}` }, more)

test('TO31 tasks can be created, read, updated, listed and deleted, and survive a restart', async () => {
  expect((await create('design')).output).toMatchObject({ id: '1', status: 'pending' })
  await create('build')
  const change = { taskId: 2, status: 'in_progress', owner: 'developer', addBlockedBy: ['1'] }
  expect((await fixture.call('TaskUpdate', change)).output).toMatchObject({ owner: 'developer', blocked_by: ['1'] })
  const restarted = createTools({ workspace: fixture.workspace, sandbox: 'none' })
  expect((await callTool(restarted, 'TaskList', {})).text).toBe(
    '#1 [pending] design\n#2 [in_progress] build (owner developer; blocked by 1)',
  )
  await callTool(restarted, 'TaskUpdate', { taskId: '1', status: 'completed' })
  expect((await callTool(restarted, 'TaskList', {})).text).toContain('build (owner developer)')
  expect((await callTool(restarted, 'TaskGet', { taskId: '1' })).output).toMatchObject({ description: 'do design' })
  await callTool(restarted, 'TaskUpdate', { taskId: '1', status: 'deleted' })
  expect((await callTool(restarted, 'TaskList', {})).text).toBe('#2 [in_progress] build (owner developer)')
})

test('TO32 a repeated TaskCreate with the same key creates no second task, and each run has its own list', async () => {
  const [first, second] = [await create('one', { idempotency_key: 'k' }), await create('one', { idempotency_key: 'k' })]
  expect(second.output).toEqual(first.output)
  await Promise.all(Array.from({ length: 20 }, (_, index) => create(`t${index}`)))
  expect((await fixture.call('TaskList', {})).text.split('\n')).toHaveLength(21)
  expect((await fixture.call('TaskList', {}, { run_id: 'run/../2' })).text).toBe('[the task list is empty]')
})

test('TO33 unknown tasks, dependency cycles and a corrupt list file are errors', async () => {
  await create('a')
  await create('b')
  expect((await fixture.call('TaskGet', { taskId: '7' })).text).toContain("no task '7'; known:")
  await fixture.call('TaskUpdate', { taskId: '1', addBlockedBy: ['2'] })
  expect((await fixture.call('TaskUpdate', { taskId: '2', addBlockedBy: ['1'] })).text).toContain(
    'task 2 cannot be blocked by task 1',
  )
  expect((await fixture.call('TaskUpdate', { taskId: '1' })).text).toContain('no field to update')
  writeFileSync(join(fixture.workspace, '.troupe/tasks/run_1.json'), '{')
  expect((await fixture.call('TaskList', {})).text).toContain('not valid JSON')
})
