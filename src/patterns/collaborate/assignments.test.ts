import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planAssignments } from './assignments.ts'

const names = ['b', 'c', 'd']
const to = (agent: string, depends_on?: (string | number)[], subtask = `work of ${agent}`) => ({
  agent,
  subtask,
  depends_on,
})

test('CO34 parts stand after those they need; needs are named by agent or by number', () => {
  const { parts, problems } = planAssignments([to('b', ['c', 3]), to('c', ['3']), to('d')], names)
  expect(problems).toEqual([])
  expect(parts.map(({ number, dependsOn }) => [number, dependsOn])).toEqual([
    [3, []],
    [2, [3]],
    [1, [2, 3]],
  ])
})

test('CO34 unknown agents, empty parts, circles and needs of nothing are named and left out', () => {
  const { parts, problems } = planAssignments(
    [to('b', ['nobody']), to('x'), to('c', [], ' '), to('d', [5]), to('b', [4]), to('c', [6])],
    names,
  )
  expect(parts.map(({ number }) => number)).toEqual([1, 6])
  expect(problems).toEqual([
    "assignment 1 depends on 'nobody', which is not another assignment",
    "assignment 2: no specialist is called 'x'",
    'assignment 3 (c) is empty',
    "assignment 6 depends on '6', which is not another assignment",
    'assignments 4 and 5 wait for each other',
  ])
})

test('CO34 whatever a coordinator writes, what is left can be worked off in order', () => {
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

test('CO83 nobody is given more than four parts, and a model that cannot be had is dropped; both are told', () => {
  const many = Array.from({ length: 6 }, () => to('b'))
  const { parts, problems } = planAssignments([...many, to('c'), { ...to('c'), model: 'nope' }], names, {
    nope: 'no nope',
  })
  expect(parts.map(({ number, model }) => [number, model])).toEqual(
    [1, 2, 3, 4, 7, 8].map((number) => [number, undefined]),
  )
  expect(problems).toEqual([
    'assignment 5: b can be given 4 parts at most',
    'assignment 6: b can be given 4 parts at most',
    'assignment 8: no nope',
  ])
})
