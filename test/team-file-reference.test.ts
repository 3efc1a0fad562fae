import { existsSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { teamJsonSchema } from '../src/judgement/team/team-schema.ts'
import { teamFileReference } from './public-surface/team-file-reference.ts'
import { readSource } from './support/source-file.ts'

const page = 'docs/reference/team-file.md'
const file = new URL(`../${page}`, import.meta.url)

test(`the keys of team files equal ${page} (UPDATE_SURFACE=1 updates it)`, () => {
  const reference = teamFileReference(teamJsonSchema())
  if (process.env.UPDATE_SURFACE === '1') writeFileSync(file, reference)
  expect(existsSync(file), 'the page is missing: create it with UPDATE_SURFACE=1').toBe(true)
  expect(reference).toBe(readSource(page))
})
