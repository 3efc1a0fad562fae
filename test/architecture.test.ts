import { expect, test } from 'vitest'
import { allowedDatabaseWriters } from './architecture/database-files.ts'
import { allowedErrorTexts } from './architecture/error-texts.ts'
import { allowedRuntimeFiles } from './architecture/import-boundaries.ts'
import { allowedPatternMentions } from './architecture/pattern-mentions.ts'
import { architectureViolations } from './architecture/rules.ts'
import { sizeReport } from './architecture/size.ts'
import { describeViolation } from './architecture/violation.ts'
import { allowedWideInterfaces } from './architecture/wide-interfaces.ts'
import { readSources } from './support/source-file.ts'

const files = readSources('src', '.ts')
const violations = architectureViolations(files, {
  wideInterfaces: allowedWideInterfaces,
  databaseWriters: allowedDatabaseWriters,
  errorTexts: allowedErrorTexts,
  patternMentions: allowedPatternMentions,
  runtimeFiles: allowedRuntimeFiles,
})

test('src follows the import boundaries, the layout and the house rules', () => {
  expect(files.length).toBeGreaterThan(0)
  expect(violations.map(describeViolation)).toEqual([])
})

test('reports sizes', () => {
  const [totals, ...long] = sizeReport(files)
  console.log([`size of src: ${totals}`, ...long.map((line) => `  warning: ${line}`)].join('\n'))
})
