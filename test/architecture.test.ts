import { expect, test } from 'vitest'
import { architectureViolations } from './architecture/rules.ts'
import { sizeReport } from './architecture/size.ts'
import { describeViolation } from './architecture/violation.ts'
import { readSources } from './source-file.ts'

const files = readSources('src', '.ts')

test('src keeps to the arrows, the layout and the house rules', () => {
  expect(files.length).toBeGreaterThan(0)
  expect(architectureViolations(files).map(describeViolation)).toEqual([])
})

test('the size report', () => {
  const [totals, ...long] = sizeReport(files)
  console.log([`size of src: ${totals}`, ...long.map((line) => `  warning: ${line}`)].join('\n'))
})
