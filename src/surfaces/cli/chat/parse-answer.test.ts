import { describe, expect, test } from 'vitest'
import { parseAnswer } from './parse-answer.ts'

const about = (kind: string, answers?: string[]) => ({
  ...{ gate_id: 'g_1', kind, question: '?' },
  ...(answers ? { answers } : undefined),
})

describe('what a line means for a question', () => {
  test('CH2 the team that waits for the user takes any words', () => {
    expect(parseAnswer(about('reply'), 'make it shorter')).toEqual({ answer: 'make it shorter' })
    expect(parseAnswer(about('person'), 'yes')).toEqual({ answer: 'yes' })
  })

  test('CH6 a choice is taken in any case, or by its first letter, and what is none is refused with what there is', () => {
    const approve = about('approve', ['yes', 'no', 'writer'])
    expect(parseAnswer(approve, 'YES')).toEqual({ answer: 'yes' })
    expect(parseAnswer(approve, 'n')).toEqual({ answer: 'no' })
    expect(parseAnswer(approve, 'Writer')).toEqual({ answer: 'writer' })
    expect(parseAnswer(approve, 'perhaps')).toEqual({ choices: ['yes', 'no', 'writer'] })
    expect(parseAnswer(about('question', ['red', 'blue']), 'y')).toEqual({ choices: ['red', 'blue'] })
  })

  test('CH6 a permission may be refused in words, or granted by a rule', () => {
    const permission = about('permission', ['allow', 'always', 'deny', 'Bash(pattern)'])
    expect(parseAnswer(permission, 'Allow')).toEqual({ answer: 'allow' })
    expect(parseAnswer(permission, 'Bash(npm test:*)')).toEqual({ answer: 'Bash(npm test:*)' })
    expect(parseAnswer(permission, 'not on a Friday')).toEqual({ answer: 'not on a Friday' })
  })

  test('CH5 words for a team that is paused are for the team', () => {
    const pause = about('pause', ['continue', 'step', 'writer'])
    expect(parseAnswer(pause, 'c')).toEqual({ answer: 'continue' })
    expect(parseAnswer(pause, 'writer')).toEqual({ answer: 'writer' })
    expect(parseAnswer(pause, 'mind the deadline')).toEqual({ say: 'mind the deadline' })
  })
})
