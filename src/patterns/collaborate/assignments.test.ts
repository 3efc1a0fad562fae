import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planAssignments } from './assignments.ts'

const names = ['b', 'c', 'd']
const assign = (agent: string, depends_on?: (string | number)[], subtask = `work of ${agent}`) => ({
  agent,
  subtask,
  depends_on,
})

test('CO34 assignments are sorted by dependency, given as agent name or number', () => {
  const { parts, problems } = planAssignments([assign('b', ['c', 3]), assign('c', ['3']), assign('d')], names)
  expect(problems).toEqual([])
  expect(parts.map(({ number, dependsOn }) => [number, dependsOn])).toEqual([
    [3, []],
    [2, [3]],
    [1, [2, 3]],
  ])
})

test('CO34 unknown agents, empty subtasks, cycles and unknown dependencies are reported and left out', () => {
  const { parts, problems } = planAssignments(
    [assign('b', ['nobody']), assign('x'), assign('c', [], ' '), assign('d', [5]), assign('b', [4]), assign('c', [6])],
    names,
  )
  expect(parts.map(({ number }) => number)).toEqual([1, 6])
  expect(problems).toEqual([
    "assignment 1 depends on 'nobody', which is not another assignment",
    "assignment 2: unknown specialist 'x'",
    'assignment 3 (c): `subtask` is empty',
    "assignment 6 depends on '6', which is not another assignment",
    'assignments 4 and 5 depend on each other',
  ])
})

test('CO34 a dependency on an assignment that is left out is dropped', () => {
  const { parts, problems } = planAssignments([assign('x'), assign('b', [1])], names)
  expect(parts.map(({ number, dependsOn }) => [number, dependsOn])).toEqual([[2, []]])
  expect(problems).toEqual(["assignment 1: unknown specialist 'x'"])
})

test('CO34 any list of assignments results in a valid order', () => {
  const assignment = fc.record({
    agent: fc.constantFrom('b', 'c', 'd', 'x', ''),
    subtask: fc.constantFrom('work', ''),
    depends_on: fc.array(fc.oneof(fc.constantFrom('b', 'c', 'x', '2', ''), fc.integer({ min: -1, max: 7 })), {
      maxLength: 3,
    }),
  })
  fc.assert(
    fc.property(fc.array(assignment, { maxLength: 7 }), (assignments) => {
      const { parts, problems } = planAssignments(assignments, names)
      parts.forEach(({ agent, dependsOn }, index) => {
        expect(names).toContain(agent)
        const before = parts.slice(0, index).map(({ number }) => number)
        expect(before).toEqual(expect.arrayContaining(dependsOn))
      })
      if (parts.length < assignments.length) expect(problems).not.toEqual([])
    }),
  )
})

test('CO83 more than four assignments per agent and unavailable models are reported and dropped', () => {
  const many = Array.from({ length: 6 }, () => assign('b'))
  const { parts, problems } = planAssignments([...many, assign('c'), { ...assign('c'), model: 'nope' }], names, {
    nope: 'no nope',
  })
  expect(parts.map(({ number, model }) => [number, model])).toEqual(
    [1, 2, 3, 4, 7, 8].map((number) => [number, undefined]),
  )
  expect(problems).toEqual([
    'assignment 5: b can have at most 4 assignments',
    'assignment 6: b can have at most 4 assignments',
    'assignment 8: no nope',
  ])
})
