import { existsSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { entrySources, publicNames, surfaceReport } from './public-surface/surface.ts'
import { readSource } from './support/source-file.ts'

const reportFile = new URL('./public-surface.report.md', import.meta.url)

test('the exported names equal test/public-surface.report.md (UPDATE_SURFACE=1 updates it)', () => {
  const { exports: field } = JSON.parse(readSource('package.json')) as { exports: Record<string, unknown> }
  const entries = entrySources(field).map(({ entry, source }) => ({ entry, names: publicNames(source, readSource) }))
  const report = surfaceReport(entries)
  if (process.env.UPDATE_SURFACE === '1') writeFileSync(reportFile, report)
  expect(existsSync(reportFile), 'the report is missing: create it with UPDATE_SURFACE=1').toBe(true)
  expect(report).toBe(readSource('test/public-surface.report.md'))
})
