import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { callTool, createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { createTools } from '../tools.ts'

let bench: ToolWorkspace
beforeEach(() => {
  bench = createToolWorkspace({ sandbox: 'none' })
})
afterEach(() => bench[Symbol.dispose]())

const create = (subject: string, more = {}) => bench.call('TaskCreate', { subject, description: `do ${subject}` }, more)

test('TO31 tasks are made, read, changed, listed and removed, and a restart finds them as they were', async () => {
  expect((await create('design')).output).toMatchObject({ id: '1', status: 'pending' })
  await create('build')
  const change = { taskId: 2, status: 'in_progress', owner: 'developer', addBlockedBy: ['1'] }
  expect((await bench.call('TaskUpdate', change)).output).toMatchObject({ owner: 'developer', blocked_by: ['1'] })
  const again = createTools({ workspace: bench.workspace, sandbox: 'none' })
  expect((await callTool(again, 'TaskList', {})).text).toBe(
    '#1 [pending] design\n#2 [in_progress] build (owner developer; waits for 1)',
  )
  await callTool(again, 'TaskUpdate', { taskId: '1', status: 'completed' })
  expect((await callTool(again, 'TaskList', {})).text).toContain('build (owner developer)')
  expect((await callTool(again, 'TaskGet', { taskId: '1' })).output).toMatchObject({ description: 'do design' })
  await callTool(again, 'TaskUpdate', { taskId: '1', status: 'deleted' })
  expect((await callTool(again, 'TaskList', {})).text).toBe('#2 [in_progress] build (owner developer)')
})

test('TO32 a creation that is repeated under its key makes no second task, and runs have lists of their own', async () => {
  const [first, second] = [await create('one', { idempotency_key: 'k' }), await create('one', { idempotency_key: 'k' })]
  expect(second.output).toEqual(first.output)
  await Promise.all(Array.from({ length: 20 }, (_, at) => create(`t${at}`)))
  expect((await bench.call('TaskList', {})).text.split('\n')).toHaveLength(21)
  expect((await bench.call('TaskList', {}, { run_id: 'run/../2' })).text).toBe('[the list is empty]')
})

test('TO33 unknown tasks, circles and damaged lists are errors that say so', async () => {
  await create('a')
  await create('b')
  expect((await bench.call('TaskGet', { taskId: '7' })).text).toContain("no task '7'; known:")
  await bench.call('TaskUpdate', { taskId: '1', addBlockedBy: ['2'] })
  expect((await bench.call('TaskUpdate', { taskId: '2', addBlockedBy: ['1'] })).text).toContain('waits for task 2')
  expect((await bench.call('TaskUpdate', { taskId: '1' })).text).toContain('nothing to change')
  writeFileSync(join(bench.workspace, '.troupe/tasks/run_1.json'), '{')
  expect((await bench.call('TaskList', {})).text).toContain('is damaged')
})
