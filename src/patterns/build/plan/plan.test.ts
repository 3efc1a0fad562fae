import { describe, expect, test } from 'vitest'
import { assignChanges } from '../review/assign-changes.ts'
import { checkPlan } from './check-plan.ts'
import { parsePlan } from './parse-plan.ts'
import { isInScope, normalizeScope, scopeProblem, scopesOverlap } from './scope.ts'

const FACTS = {
  files: ['src/a/one.ts', 'src/b/two.ts'],
  agents: ['developer', 'tester'],
  max_tasks: 5,
}
const task = (task_id: string, scope: string[], more: object = {}) => ({
  task_id,
  title: task_id,
  description: `do ${task_id}`,
  scope,
  ...more,
})
const check = (...tasks: object[]) => checkPlan(parsePlan({ tasks }, 'developer'), FACTS)

describe('a plan', () => {
  test('BD19 is ordered by dependencies and priority, and overlapping scopes follow one another', () => {
    const { plan, notes, problems } = check(
      task('low', ['src/a/**'], { priority: 'low' }),
      task('after', ['src/b/two.ts'], { dependencies: ['high'] }),
      task('high', ['src/a/one.ts'], { priority: 'High' }),
    )
    expect(problems).toEqual([])
    expect(plan.tasks.map(({ task_id }) => task_id)).toEqual(['high', 'after', 'low'])
    expect(notes).toEqual(['low waits for high: their scopes overlap'])
    expect(plan.tasks[2]?.dependencies).toEqual([{ task_id: 'high', kind: 'soft' }])
  })

  test('BD9 names every problem', () => {
    const { problems, plan } = check(
      task('A', ['src/a/**', '/etc/passwd', '.git/config'], { agent: 'nobody', dependencies: ['Z'] }),
      task('A', ['src/b/**']),
      task('B', ['nowhere/**/*.ts']),
      task('C', []),
    )
    expect(problems).toEqual([
      'two tasks have the task_id A',
      'A: agent nobody is unknown; known: developer, tester',
      "A: scope '/etc/passwd' is not relative to the repository",
      "A: scope '.git/config' is the folder of git itself",
      "B: scope 'nowhere/**/*.ts' matches no file, and its folder does not exist",
      'C has no scope',
      'A depends on Z, which is no task of the plan',
    ])
    expect(plan.tasks.map(({ task_id, scope, agent }) => [task_id, scope, agent])).toEqual([
      ['A', ['src/a/**'], 'developer'],
      ['B', ['nowhere/**/*.ts'], 'developer'],
    ])
  })

  test('BD9 with a cycle cannot be carried out', () => {
    const { fatal } = check(task('A', ['a'], { dependencies: ['B'] }), task('B', ['b'], { depends_on: 'A' }))
    expect(fatal).toBe('the dependencies form a cycle: A → B')
  })

  test('BD20 is read leniently', () => {
    const plan = parsePlan(
      {
        plan: {
          tasks: [
            {
              id: 'T 1!',
              task_description: 'do it',
              scope: './src/',
              depends_on: [{ task_id: 'x' }, { task_id: 'y', kind: 'soft' }],
            },
          ],
        },
      },
      'developer',
    )
    expect(plan.tasks[0]).toMatchObject({
      ...{
        task_id: 'T-1',
        title: 'do it',
        description: 'do it',
        scope: ['src/**'],
        priority: 'medium',
        agent: 'developer',
      },
      dependencies: [{ task_id: 'x', kind: 'hard' }],
    })
  })
})

test('BD5 a scope matches its globs, and nothing outside of the repository is one', () => {
  expect(isInScope(['src/**'], 'src/a/one.ts')).toBe(true)
  expect(isInScope(['src/*.ts'], 'src/a/one.ts')).toBe(false)
  expect(normalizeScope('.//src//a/')).toBe('src/a/**')
  for (const bad of ['', '/x', '../x', 'a/../../b', 'C:/x', '~/x', '.troupe/x', 'a'.repeat(2000)])
    expect(scopeProblem(bad)).toBeDefined()
})

test.each([
  [['src/a.ts'], ['src/**'], true],
  [['src/a.ts'], ['src/b.ts'], false],
  [['src/*.ts'], ['src/*.md'], false],
  [['src/**'], ['src/a/**'], true],
  [['src/a/**'], ['src/b/**'], false],
  [['**/*.ts'], ['src/a.test.ts'], true],
])('BD19 %j and %j overlap: %s', (a, b, expected) => {
  expect([scopesOverlap(a, b), scopesOverlap(b, a)]).toEqual([expected, expected])
})

test('BD14 a change goes to the task that owns its file, or is named in the output of a check, or else to all', () => {
  const { plan } = check(task('A', ['src/a/**']), task('B', ['src/b/**']))
  const owners = (...changes: object[]) =>
    assignChanges(
      plan.tasks,
      changes.map((change) => ({ priority: 'must_fix' as const, description: '', ...change })),
    ).map((entry) => entry.task.task_id)
  expect(owners({ file: 'src/b/two.ts' })).toEqual(['B'])
  expect(owners({ description: 'fails at /tmp/x/src/a/one.ts:3' })).toEqual(['A'])
  expect(owners({ description: 'fails' })).toEqual(['A', 'B'])
  expect(owners({ description: 'fails' }, { file: 'src/b/two.ts' })).toEqual(['B'])
  expect(owners({ priority: 'consider', file: 'src/b/two.ts' })).toEqual([])
})
