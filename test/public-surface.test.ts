import { existsSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { apiReference } from './public-surface/api-reference.ts'
import { entrySources, publicNames } from './public-surface/surface.ts'
import { readSource } from './support/source-file.ts'

const page = 'docs/reference/api.md'
const file = new URL(`../${page}`, import.meta.url)

test(`the exported names and their types equal ${page} (UPDATE_SURFACE=1 updates it)`, () => {
  const { exports: field } = JSON.parse(readSource('package.json')) as { exports: Record<string, unknown> }
  const entries = entrySources(field).map(({ entry, source }) => ({ entry, names: publicNames(source, readSource) }))
  const reference = apiReference(entries, readSource)
  if (process.env.UPDATE_SURFACE === '1') writeFileSync(file, reference)
  expect(existsSync(file), 'the page is missing: create it with UPDATE_SURFACE=1').toBe(true)
  expect(reference).toBe(readSource(page))
})
