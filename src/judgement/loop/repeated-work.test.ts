import { describe, expect, test } from 'vitest'
import { createRepeatedWorkDetector } from './repeated-work.ts'

const SEARCH = 'Please search the web for the opening hours of the city library in March'
const NOTHING = 'I searched the web.\nThe page shows no opening hours of the library.'

function fresh(ordinal: number): string {
  return `Result ${ordinal}: ${Array.from({ length: 20 }, (_, index) => `word${ordinal}x${index}`).join(' ')}`
}

describe('LP8 repeated work', () => {
  test('LP8 the same instruction with the same result is a loop once it resembles three earlier ones', () => {
    const detector = createRepeatedWorkDetector()
    const loops = Array.from({ length: 6 }, (_, index) =>
      detector.add({ instruction: SEARCH, results: index === 0 ? [] : [NOTHING], freshStart: index === 0 }),
    )
    expect(loops.map(({ isLoop }) => isLoop)).toEqual([false, false, true, true, true, true])
    expect(loops[3]).toMatchObject({ similar: [0, 1, 2], newWords: 0, repeatedLine: 'I searched the web.' })
  })

  test('LP8 similar instructions that bring new results are progress', () => {
    const detector = createRepeatedWorkDetector()
    const verdicts = Array.from({ length: 30 }, (_, index) =>
      detector.add({
        instruction: `Please review the file src/part-${index}.ts and report problems`,
        results: [fresh(index)],
      }),
    )
    expect(verdicts.some(({ isLoop }) => isLoop)).toBe(false)
  })

  test('LP8 new instructions that bring familiar results are no loop', () => {
    const detector = createRepeatedWorkDetector()
    const verdicts = Array.from({ length: 12 }, (_, index) =>
      detector.add({ instruction: fresh(index), results: [`Answer ${index}: the hours of the library are unknown`] }),
    )
    expect(verdicts.some(({ isLoop }) => isLoop)).toBe(false)
  })

  test('LP8 instructions without any result are a loop', () => {
    const detector = createRepeatedWorkDetector()
    const verdicts = Array.from({ length: 5 }, () => detector.add({ instruction: SEARCH, results: [] }))
    expect(verdicts.at(-1)).toMatchObject({ isLoop: true, withoutResult: true })
  })
})

test('LP9 a new plan gives two instructions of grace and forgets nothing', () => {
  const detector = createRepeatedWorkDetector()
  for (let index = 0; index < 5; index++) detector.add({ instruction: SEARCH, results: [NOTHING] })
  const after = [true, false, false].map((freshStart) =>
    detector.add({ instruction: SEARCH, results: [NOTHING], freshStart }),
  )
  expect(after.map(({ isLoop }) => isLoop)).toEqual([false, false, true])
  expect(after[0]?.similar).toEqual([0, 1, 2, 3, 4])
})

test('LP12 only the latest instructions are compared, and a huge result is cut', () => {
  const detector = createRepeatedWorkDetector()
  for (let index = 0; index < 300; index++) detector.add({ instruction: SEARCH, results: [] })
  expect(detector.add({ instruction: SEARCH, results: ['word '.repeat(1_000_000)] }).similar).toHaveLength(200)
})
