import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { unifiedDiff } from './unified-diff.ts'

/** Applies a unified diff, as `patch` does. */
function applyDiff(before: string, diff: string): string {
  const source = before === '' ? [] : before.split(/(?<=\n)/)
  const result: string[] = []
  let place = 0
  const lines = diff === '' ? [] : diff.split('\n')
  lines.forEach((line, index) => {
    if (line.startsWith('\\')) return
    const header = /^@@ -(\d+),(\d+) \+/.exec(line)
    if (header) {
      const start = Number(header[2]) === 0 ? Number(header[1]) : Number(header[1]) - 1
      while (place < start) result.push(source[place++] ?? '')
      return
    }
    const text = line.slice(1) + (lines[index + 1]?.startsWith('\\') ? '' : '\n')
    if (line.startsWith('+')) {
      result.push(text)
      return
    }
    expect(text).toBe(source[place++])
    if (line.startsWith(' ')) result.push(text)
  })
  return [...result, ...source.slice(place)].join('')
}

describe('unifiedDiff', () => {
  test('gives the hunks of diff -u', () => {
    const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', ''].join('\n')
    const after = ['a', 'b', 'c', 'D', 'e', 'f', 'g', 'h'].join('\n')
    expect(unifiedDiff(before, after)).toBe(
      '@@ -1,7 +1,8 @@\n a\n b\n c\n-d\n+D\n e\n f\n g\n+h\n\\ No newline at end of file',
    )
    expect(unifiedDiff('', 'new\n')).toBe('@@ -0,0 +1,1 @@\n+new')
    expect(unifiedDiff('same', 'same')).toBe('')
  })

  test('applied to the text before, gives the text after', () => {
    const text = fc.array(fc.constantFrom('a\n', 'b\n', 'c\n', '\n', 'd', '@@\n', '\\\n'), { maxLength: 40 })
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = unifiedDiff(before.join(''), after.join(''))
        expect(applyDiff(before.join(''), diff)).toBe(after.join(''))
      }),
      { numRuns: 2_000 },
    )
  })

  test('finds a shortest edit script', () => {
    const text = fc.array(fc.constantFrom('a\n', 'b\n', 'c\n'), { maxLength: 12 })
    fc.assert(
      fc.property(text, text, (before, after) => {
        const changed = unifiedDiff(before.join(''), after.join(''))
          .split('\n')
          .filter((line) => /^[+-]/.test(line)).length
        expect(changed).toBe(before.length + after.length - 2 * commonLines(before, after))
      }),
      { numRuns: 1_000 },
    )
  })

  test('stays bounded for long texts that have nothing in common', () => {
    const lines = (prefix: string) => Array.from({ length: 20_000 }, (_, index) => `${prefix}${index}\n`).join('')
    const diff = unifiedDiff(lines('a'), lines('b'))
    expect(diff.split('\n')).toHaveLength(40_001)
    expect(applyDiff(lines('a'), diff)).toBe(lines('b'))
    expect(unifiedDiff('', lines('b'))).toMatch(/^@@ -0,0 \+1,20000 @@\n\+b0\n/)
    expect(unifiedDiff(`${lines('a')}end`, '')).toMatch(/-end\n\\ No newline at end of file$/)
  })
})

/** The length of the longest common subsequence. */
function commonLines(a: readonly string[], b: readonly string[]): number {
  let row = new Array<number>(b.length + 1).fill(0)
  for (const line of a) {
    const next = [0]
    b.forEach((other, index) => {
      next.push(line === other ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0))
    })
    row = next
  }
  return row[b.length] ?? 0
}
