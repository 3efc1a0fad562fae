import { describe, expect, test } from 'vitest'
import type { OpenQuestion } from '../../../patterns/team/chat-event.ts'
import { answerableQuestions, findLineTarget, openQuestionsNote } from './shown-questions.ts'

const question = (number: number, kind = 'permission', more: Partial<OpenQuestion> = {}): OpenQuestion => ({
  ...{ gate_id: `g_${number}`, number, kind, question: `Question ${number}?` },
  ...more,
})
const [first, second, reply] = [question(1), question(2), question(3, 'reply')]

describe('findLineTarget', () => {
  test('CH2 a line answers the one question that was open when it was typed and entered', () => {
    const shown = { whenTyped: [first], whenEntered: [first] }
    expect(findLineTarget('yes', shown, [first])).toEqual({ kind: 'answer', question: first, text: 'yes' })
    // A question that came up after the line was entered changes nothing.
    expect(findLineTarget('yes', shown, [first, second])).toMatchObject({ kind: 'answer', question: first })
  })

  test('CH27 the last of several questions still takes its number, and never an answer meant for another', () => {
    const target = (line: string, only: OpenQuestion) =>
      findLineTarget(line, { whenTyped: [only], whenEntered: [only] }, [only])
    expect(target('1 yes', first)).toEqual({ kind: 'answer', question: first, text: 'yes' })
    expect(target('2 yes', first)).toEqual({ kind: 'ambiguous', questions: [first] })
    const asked = question(2, 'question')
    expect(target('2 blue', asked)).toMatchObject({ kind: 'answer', text: 'blue' })
    expect(target('3 apples', asked)).toMatchObject({ kind: 'answer', text: '3 apples' })
    expect(target('1 apple', question(1, 'reply'))).toMatchObject({ kind: 'answer', text: '1 apple' })
    const choice = question(1, 'question', { answers: ['1 day', '2 weeks'] })
    expect(target('2 weeks', choice)).toMatchObject({ kind: 'answer', text: '2 weeks' })
    expect(openQuestionsNote([first])).toContain('1 question is open')
  })

  test('CH26 a line is not sent when its question is gone or another one came up while it was typed', () => {
    for (const [whenTyped, whenEntered, open] of [
      [[first], [first], [second]],
      [[first], [second], [second]],
      [[first], [], []],
      [[], [first], [first]],
      [[], [], [first]],
    ]) {
      expect(findLineTarget('yes', { whenTyped, whenEntered } as never, open as never)).toEqual({ kind: 'stale' })
    }
  })

  test('CH15 a message typed for a running team is a reply when the team has returned meanwhile', () => {
    const target = { kind: 'answer', question: reply }
    expect(findLineTarget('Go on.', { whenTyped: [], whenEntered: [reply] }, [reply])).toMatchObject(target)
    expect(findLineTarget('Go on.', { whenTyped: [], whenEntered: [] }, [reply])).toMatchObject(target)
    expect(findLineTarget('Go on.', { whenTyped: [], whenEntered: [] }, [])).toEqual({ kind: 'message' })
  })

  test('CH27 with several open questions a line has to begin with the number of one', () => {
    const shown = { whenTyped: [first], whenEntered: [first, second] }
    const open = [first, second]
    expect(findLineTarget('yes', shown, open)).toEqual({ kind: 'ambiguous', questions: open })
    expect(findLineTarget('3 yes', shown, open)).toMatchObject({ kind: 'ambiguous' })
    expect(findLineTarget('2', shown, open)).toMatchObject({ kind: 'ambiguous' })
    for (const line of ['2 yes', '2: yes', '2. yes', '2) yes'])
      expect(findLineTarget(line, shown, open)).toEqual({ kind: 'answer', question: second, text: 'yes' })
    expect(findLineTarget('1 no', shown, [second])).toEqual({ kind: 'stale' })
  })

  test('CH27 the list of open questions is short and has no control characters', () => {
    const note = openQuestionsNote([question(1, 'question', { question: `\x1b[2J${'long '.repeat(100)}` }), second])
    expect(note).toContain('2 questions are open; begin your answer with a number, such as "1 yes".')
    expect(note).not.toContain('\x1b')
    expect(note.length).toBeLessThan(300)
  })
})

describe('answerableQuestions', () => {
  const pause = question(4, 'pause', { takes: ['continue', 'step'] })
  const newer = question(5, 'pause', { takes: ['continue', 'step'] })
  const action = { do: 'continue' } as const

  test('CH26 a command answers only a question that was open when it was typed and entered', () => {
    expect(answerableQuestions(action, { whenTyped: [pause], whenEntered: [pause] }, [pause])).toEqual([pause])
    expect(answerableQuestions(action, { whenTyped: [], whenEntered: [] }, [newer])).toEqual([])
    expect(answerableQuestions(action, { whenTyped: [], whenEntered: [newer] }, [newer])).toEqual([])
    expect(answerableQuestions(action, { whenTyped: [pause], whenEntered: [newer] }, [newer])).toBe('stale')
    expect(answerableQuestions(action, { whenTyped: [pause], whenEntered: [pause] }, [newer])).toBe('stale')
    expect(answerableQuestions({ do: 'pause' }, { whenTyped: [pause], whenEntered: [pause] }, [newer])).toEqual([pause])
  })
})
