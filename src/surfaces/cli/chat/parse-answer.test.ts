import { describe, expect, test } from 'vitest'
import { parseAnswer } from './parse-answer.ts'

const question = (kind: string, answers?: string[]) => ({
  ...{ gate_id: 'g_1', number: 1, kind, question: '?' },
  ...(answers ? { answers } : undefined),
})

describe('parseAnswer', () => {
  test('CH2 a reply gate and a human member accept any text', () => {
    expect(parseAnswer(question('reply'), 'make it shorter')).toEqual({ answer: 'make it shorter' })
    expect(parseAnswer(question('person'), 'yes')).toEqual({ answer: 'yes' })
  })

  test('CH6 a choice is accepted in any case or by its abbreviation; other text returns the choices', () => {
    const approve = question('approve', ['yes', 'no', 'writer'])
    expect(parseAnswer(approve, 'YES')).toEqual({ answer: 'yes' })
    expect(parseAnswer(approve, 'n')).toEqual({ answer: 'no' })
    expect(parseAnswer(approve, 'Writer')).toEqual({ answer: 'writer' })
    expect(parseAnswer(approve, 'perhaps')).toEqual({ choices: ['yes', 'no', 'writer'] })
    expect(parseAnswer(question('question', ['red', 'blue']), 'y')).toEqual({ choices: ['red', 'blue'] })
  })

  test('CH6 a permission accepts a rule, or free text as the reason of a denial', () => {
    const permission = question('permission', ['allow', 'always', 'deny', 'Bash(pattern)'])
    expect(parseAnswer(permission, 'Allow')).toEqual({ answer: 'allow' })
    expect(parseAnswer(permission, 'Bash(npm test:*)')).toEqual({ answer: 'Bash(npm test:*)' })
    expect(parseAnswer(permission, 'not on a Friday')).toEqual({ answer: 'not on a Friday' })
  })

  test('CH5 free text for a paused team is a message to the team', () => {
    const pause = question('pause', ['continue', 'step', 'writer'])
    expect(parseAnswer(pause, 'c')).toEqual({ answer: 'continue' })
    expect(parseAnswer(pause, 'writer')).toEqual({ answer: 'writer' })
    expect(parseAnswer(pause, 'mind the deadline')).toEqual({ say: 'mind the deadline' })
  })
})
