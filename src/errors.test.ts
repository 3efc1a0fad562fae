import { describe, expect, test } from 'vitest'
import type { ErrorRecord } from './errors.ts'
import { didYouMean, errorFromRecord, nearestNames, TroupeError, toTroupeError, unknownNameError } from './errors.ts'

describe('errors', () => {
  test('ER1 an error has a code, a message, the responsible party, whether a retry helps, and a hint', () => {
    const error = new TroupeError('session_busy', 'it is in use', { hint: 'wait', step: 'a/b' })
    expect(error.toJSON()).toEqual({
      code: 'session_busy',
      message: 'it is in use',
      responsible: 'developer',
      retry: true,
      hint: 'wait',
      alternatives: [],
      step: 'a/b',
    })
    expect(new TroupeError('model_failed', 'x', { retry: false, responsible: 'developer' })).toMatchObject({
      retry: false,
      responsible: 'developer',
    })
  })

  test('ER2 errorFromRecord restores the error that toJSON stored', () => {
    const error = new TroupeError('denied', 'no', {
      alternatives: ['a'],
      hint: 'h',
      retry: true,
      responsible: 'operator',
    })
    expect(errorFromRecord(JSON.parse(JSON.stringify(error)))).toEqual(error)
    expect(errorFromRecord(error as ErrorRecord).toJSON()).toEqual(error.toJSON())
  })

  test('ER3 toTroupeError wraps any thrown value with its message and cause', () => {
    const cause = new TypeError('x is not a function')
    expect(toTroupeError(cause, 'tool_failed')).toMatchObject({ code: 'tool_failed', message: cause.message, cause })
    const own = new TroupeError('denied', 'no')
    expect(toTroupeError(own)).toBe(own)
    for (const odd of ['text', 0, null, undefined, {}, new Error('')])
      expect(toTroupeError(odd)).toMatchObject({ code: 'internal', message: expect.stringMatching(/./) })
  })

  test('ER4 an unknown name error lists the known names, nearest first', () => {
    const known = ['reviewer', 'developer', 'architect']
    const error = unknownNameError('unknown_agent', { kind: 'agent', name: 'architct', known })
    expect(error.message).toBe("no agent 'architct'; known: architect, reviewer, developer")
    expect(error.hint).toBe("did you mean 'architect'?")
    expect(unknownNameError('unknown_agent', { kind: 'agent', name: 'x', known: [] })).toMatchObject({
      hint: 'use the name of a known agent',
      alternatives: [],
    })
    const many = unknownNameError('unknown_agent', {
      kind: 'agent',
      name: 'x',
      known: Array.from({ length: 11 }, (_, index) => `agent${index}`),
    })
    expect(many.message).toMatch(/, agent7 and 3 more$/)
    expect(nearestNames('REVIEW', known)[0]).toBe('reviewer')
    expect(nearestNames('dev', known)[0]).toBe('developer')
    expect(nearestNames('', known)).toHaveLength(3)
  })

  test('ER5 the hint suggests a name only if it is similar, and never an id', () => {
    expect(didYouMean('leats', ['most', 'least'])).toBe("did you mean 'least'?")
    expect(didYouMean('wrter', ['reviewer', 'writer'])).toBe("did you mean 'writer'?")
    expect(didYouMean('moods', ['mood'])).toBe("did you mean 'mood'?")
    for (const [name, known] of [
      ['/foo', '/why'],
      ['foo/bar', 'google'],
      ['nobody', 'writer'],
      ['otherwise', 'supervisor'],
    ] as const)
      expect({ name, hint: didYouMean(name, [known]) }).toEqual({ name, hint: '' })
    const id = 'r_a4bd447091c4'
    expect(unknownNameError('unknown_run', { kind: 'run', name: 'r_a4bd447091c5', known: [id] })).toMatchObject({
      hint: 'list the runs with `troupe runs`',
      alternatives: [id],
    })
    expect(unknownNameError('unknown_gate', { kind: 'question', name: 'g_2', known: ['g_1'] })).toMatchObject({
      hint: 'list the open questions with `troupe inbox`',
    })
  })
})
