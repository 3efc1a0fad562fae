import { describe, expect, test } from 'vitest'
import { meaningOf } from './answer-line.ts'

const about = (kind: string, answers?: string[]) => ({
  ...{ gate_id: 'g_1', kind, question: '?' },
  ...(answers ? { answers } : undefined),
})

describe('what a line means for a question', () => {
  test('CH2 the team that waits for the user takes any words', () => {
    expect(meaningOf(about('reply'), 'make it shorter')).toEqual({ answer: 'make it shorter' })
    expect(meaningOf(about('person'), 'yes')).toEqual({ answer: 'yes' })
  })

  test('CH6 a choice is taken in any case, or by its first letter, and what is none is refused with what there is', () => {
    const approve = about('approve', ['yes', 'no', 'writer'])
    expect(meaningOf(approve, 'YES')).toEqual({ answer: 'yes' })
    expect(meaningOf(approve, 'n')).toEqual({ answer: 'no' })
    expect(meaningOf(approve, 'Writer')).toEqual({ answer: 'writer' })
    expect(meaningOf(approve, 'perhaps')).toEqual({ unfit: ['yes', 'no', 'writer'] })
    expect(meaningOf(about('question', ['red', 'blue']), 'y')).toEqual({ unfit: ['red', 'blue'] })
  })

  test('CH6 a permission may be refused in words, or granted by a rule', () => {
    const permission = about('permission', ['allow', 'always', 'deny', 'Bash(pattern)'])
    expect(meaningOf(permission, 'Allow')).toEqual({ answer: 'allow' })
    expect(meaningOf(permission, 'Bash(npm test:*)')).toEqual({ answer: 'Bash(npm test:*)' })
    expect(meaningOf(permission, 'not on a Friday')).toEqual({ answer: 'not on a Friday' })
  })

  test('CH5 words for a team that is paused are for the team', () => {
    const pause = about('pause', ['continue', 'step', 'writer'])
    expect(meaningOf(pause, 'c')).toEqual({ answer: 'continue' })
    expect(meaningOf(pause, 'writer')).toEqual({ answer: 'writer' })
    expect(meaningOf(pause, 'mind the deadline')).toEqual({ say: 'mind the deadline' })
  })
})
