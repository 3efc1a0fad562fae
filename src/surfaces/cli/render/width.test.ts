import { describe, expect, test } from 'vitest'
import { clip, harmless, oneLine, sized, widthOf, wrap } from './width.ts'

describe('width', () => {
  test.each([
    ['plain', 5],
    ['naïve', 5],
    ['設計者', 6],
    ['👩‍👩‍👧 ok', 5],
    ['e\u0301', 1],
    ['', 0],
  ])('L5 %j takes %i columns', (text, width) => {
    expect(widthOf(text)).toBe(width)
  })

  test('L5 clipping shows an ellipsis, keeps the width and cuts no character in half', () => {
    expect(clip('short', 10)).toBe('short')
    expect(clip('rather long', 7)).toBe('rather…')
    expect(clip('設計者たち', 6)).toBe('設計…')
    expect(clip('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 5)).toBe('👩‍👩‍👧👩‍👩‍👧…')
    expect(clip('anything', 0)).toBe('')
    expect(sized('設', 4, 'right')).toBe('  設')
  })

  test('L5 wrapping breaks between words, and words only when they are wider than a line', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrap('hint: do this or that', 12, 2)).toEqual(['hint: do', '  this or', '  that'])
    expect(wrap(`a ${'x'.repeat(25)} b`, 10)).toEqual(['a', 'xxxxxxxxxx', 'xxxxxxxxxx', 'xxxxx b'])
    expect(wrap('two\nlines', 20)).toEqual(['two', 'lines'])
  })

  test('L5 no wrapped line is wider than asked, whatever the text', () => {
    const text = 'Ünïcödé 設計者 an-extraordinarily-long-unbreakable-word 🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉 end'
    for (const width of [12, 20, 33, 60]) {
      for (const indent of [0, 2, 4]) {
        for (const line of wrap(text, width, indent)) expect(widthOf(line)).toBeLessThanOrEqual(width)
      }
    }
  })

  test('L22 what a model writes cannot steer the terminal', () => {
    const nasty = '\x1b[2J\x1b]0;title\x07red \x1b[31mtext\x1b[0m\r\nnext\u0000\u009b1m'
    expect(oneLine(nasty)).toBe('red text next')
    expect(harmless(nasty)).toBe('red text\nnext')
  })
})
