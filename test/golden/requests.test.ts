import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { normalizeBuild } from './build-scenarios.ts'
import { normalizeWorkspace } from './golden-workspace.ts'
import { recordRequest, scenarios } from './request-scenarios.ts'
import { formatWireRequest } from './wire-recorder.ts'

/* The requests of each kind as they go over the wire: see README.md in this folder. */

const folder = new URL('requests/', import.meta.url)
const isUpdate = process.env.UPDATE_GOLDEN === '1'

test.each(Object.keys(scenarios))('the request %s goes over the wire as committed', async (kind) => {
  const file = new URL(`${kind}.txt`, folder)
  const text = normalizeBuild(normalizeWorkspace(formatWireRequest(await recordRequest(kind))))
  if (isUpdate) writeFileSync(file, text)
  expect(text).toBe(readFileSync(file, 'utf8'))
})

test('every committed request has its scenario', () => {
  expect(readdirSync(folder).sort()).toEqual(
    Object.keys(scenarios)
      .map((kind) => `${kind}.txt`)
      .sort(),
  )
})
