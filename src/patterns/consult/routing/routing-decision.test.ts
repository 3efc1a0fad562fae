import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readAnswer } from '../../../requests/read-answer.ts'
import { parseRoutingDecision } from './routing-decision.ts'
import { routingAnswer } from './routing-prompt.ts'

const names = ['security_expert', 'backend_developer', 'qa_engineer', 'crew:ops', 'ops']

const shape = routingAnswer(names)
const read = (text: string, object?: unknown) =>
  parseRoutingDecision({ ...readAnswer(shape, { text, object }), text }, names)
const fields = (answer: object) => read('', answer)

describe('a decision', () => {
  test('CS89 an object is read as it is', () => {
    const answer = {
      needed: 'auth',
      agents: ['security_expert'],
      reason: 'security_review',
      rationale: 'Knows auth.',
      confidence: 0.9,
    }
    expect(fields(answer)).toEqual({
      kind: 'chosen',
      agents: ['security_expert'],
      reason: 'security_review',
      rationale: 'Knows auth.',
      confidence: 0.9,
    })
    expect(read(JSON.stringify(answer))).toEqual(fields(answer))
  })

  test.each([
    [{ agents: ['Security Expert'] }, ['security_expert']],
    [{ agents: 'security-expert' }, ['security_expert']],
    [{ selected_agent: 'QA_ENGINEER' }, ['qa_engineer']],
    [{ agents: ['ops', 'ops', 'crew:ops'] }, ['ops', 'crew:ops']],
    [{ agents: ['plumber', 'ops'] }, ['ops']],
  ])('CS89 names are read in any spelling: %j', (answer, agents) => {
    expect(fields(answer)).toMatchObject({ kind: 'chosen', agents })
  })

  test.each([
    [92, 0.92],
    ['85 %', 0.85],
    [0.4, 0.4],
    [7000, 0.5],
    [-1, 0.5],
    ['high', 0.5],
    [undefined, 0.5],
  ])('CS89 a confidence of %j is %d', (confidence, expected) => {
    expect(fields({ agents: ['ops'], confidence })).toMatchObject({ confidence: expected })
  })

  test('CS89 prose decides if it states the agent or names one alone', () => {
    const stated =
      '[REASONING] backend_developer wrote it.\n[DECISION]\nSelected Agent: Security Expert\nRationale: auth'
    expect(read(stated)).toMatchObject({ kind: 'chosen', agents: ['security_expert'] })
    expect(read('I would ask the QA engineer about that.')).toMatchObject({ agents: ['qa_engineer'] })
    expect(read('The crew:ops people know.')).toMatchObject({ agents: ['crew:ops'] })
    expect(read('Either security_expert or qa_engineer.')).toMatchObject({ kind: 'unusable' })
    expect(read('The devops know.')).toMatchObject({ kind: 'unusable' })
  })

  test('CS88 at most three agents are kept', () => {
    expect(fields({ agents: names })).toMatchObject({ agents: names.slice(0, 3) })
  })

  test('CS91 an empty list, null and "none" mean nobody', () => {
    expect(fields({ agents: [], rationale: 'Nobody knows tax law.' })).toEqual({
      kind: 'none',
      rationale: 'Nobody knows tax law.',
    })
    expect(fields({ agents: ['none'] })).toMatchObject({ kind: 'none' })
    expect(read('Selected Agent: none')).toMatchObject({ kind: 'none' })
  })

  test('CS90 the copied example and agents that cannot be asked are no decision', () => {
    for (const agents of [['lawyer'], ['security_expert']])
      expect(fields({ ...shape.example, agents })).toEqual({ kind: 'unusable', problem: 'it repeats the example' })
    expect(fields({ agents: ['lawyer'] })).toMatchObject({
      kind: 'unusable',
      problem: "no agent 'lawyer' can be asked",
    })
    expect(fields({ agents: [7, null] })).toMatchObject({ kind: 'unusable' })
    expect(fields({ rationale: 'x' })).toMatchObject({ kind: 'unusable' })
    expect(read('')).toMatchObject({ kind: 'unusable' })
  })

  test('CS89 whatever a model answers, only known agents are chosen', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), (object, text) => {
        const decision = read(text, object)
        if (decision.kind !== 'chosen') return
        expect(decision.agents.length).toBeGreaterThan(0)
        expect(names).toEqual(expect.arrayContaining(decision.agents))
        expect(decision.confidence).toBeGreaterThanOrEqual(0)
        expect(decision.confidence).toBeLessThanOrEqual(1)
      }),
    )
  })
})
