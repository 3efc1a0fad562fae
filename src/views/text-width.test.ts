import { describe, expect, test } from 'vitest'
import {
  displayWidth,
  padToWidth,
  stripControlCharacters,
  toTerminalLine,
  truncateToWidth,
  wrapText,
} from './text-width.ts'

describe('text width', () => {
  test.each([
    ['plain', 5],
    ['naïve', 5],
    ['設計者', 6],
    ['👩‍👩‍👧 ok', 5],
    ['e\u0301', 1],
    ['', 0],
  ])('L5 %j takes %i columns', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })

  test('L5 truncated text ends with an ellipsis and never splits a character', () => {
    expect(truncateToWidth('short', 10)).toBe('short')
    expect(truncateToWidth('rather long', 7)).toBe('rather…')
    expect(truncateToWidth('設計者たち', 6)).toBe('設計…')
    expect(truncateToWidth('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 5)).toBe('👩‍👩‍👧👩‍👩‍👧…')
    expect(truncateToWidth('anything', 0)).toBe('')
    expect(padToWidth('設', 4, 'right')).toBe('  設')
  })

  test('L5 text wraps at word boundaries; only words longer than a line are split', () => {
    expect(wrapText('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrapText('hint: do this or that', 12, 2)).toEqual(['hint: do', '  this or', '  that'])
    expect(wrapText(`a ${'x'.repeat(25)} b`, 10)).toEqual(['a', 'xxxxxxxxxx', 'xxxxxxxxxx', 'xxxxx b'])
    expect(wrapText('two\nlines', 20)).toEqual(['two', 'lines'])
  })

  test('L5 no wrapped line is wider than the limit', () => {
    const text = 'Ünïcödé 設計者 an-extraordinarily-long-unbreakable-word 🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉🎉 end'
    for (const width of [12, 20, 33, 60]) {
      for (const indent of [0, 2, 4]) {
        for (const line of wrapText(text, width, indent)) expect(displayWidth(line)).toBeLessThanOrEqual(width)
      }
    }
  })

  test('L94 terminal control sequences are removed', () => {
    const malicious = '\x1b[2J\x1b]0;title\x07red \x1b[31mtext\x1b[0m\r\nnext\u0000\u009b1m'
    expect(toTerminalLine(malicious)).toBe('red text next')
    expect(stripControlCharacters(malicious)).toBe('red text\nnext')
  })
})
