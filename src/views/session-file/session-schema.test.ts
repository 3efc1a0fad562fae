import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { sessionJsonSchema } from './session-schema.ts'

test('SF12 the published schema is up to date', async () => {
  const file = new URL('../../../schemas/session.schema.json', import.meta.url)
  const schema = sessionJsonSchema()
  if (process.env.UPDATE_SCHEMA) await writeFile(file, `${JSON.stringify(schema, null, 2)}\n`)
  const published = JSON.parse(await readFile(file, 'utf8'))
  expect(published, 'renew it with UPDATE_SCHEMA=1, then npm run format').toEqual(schema)
})
