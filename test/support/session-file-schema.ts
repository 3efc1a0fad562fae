import { readFileSync } from 'node:fs'
import { Ajv } from '@modelcontextprotocol/client/validators/ajv'
import { expect } from 'vitest'
import type { AgentSession, MultiAgentSession } from '../../src/entries/inspect.ts'
import { isMultiAgentSession, validateSession } from '../../src/entries/inspect.ts'
import type { Troupe } from '../../src/index.ts'

/** The published schema, in the hands of an independent validator. */
function compileSchema() {
  const text = readFileSync(new URL('../../schemas/session.schema.json', import.meta.url), 'utf8')
  const { $schema: _dialect, ...schema } = JSON.parse(text)
  return new Ajv({ strict: false, validateFormats: false, logger: false }).compile(schema)
}

export function schemaErrors(value: unknown): unknown[] {
  const validate = compileSchema()
  return validate(value) ? [] : (validate.errors ?? ['invalid'])
}

/** Exports a run and checks the file with the schema and with `validateSession`. */
export async function exportValid(troupe: Troupe, run_id: string): Promise<AgentSession | MultiAgentSession> {
  const session = await troupe.exportSession(run_id)
  const stored = JSON.parse(JSON.stringify(session))
  expect(schemaErrors(stored)).toEqual([])
  expect(await validateSession(stored)).toEqual([])
  return stored
}

export async function exportMulti(troupe: Troupe, run_id: string): Promise<MultiAgentSession> {
  const session = await exportValid(troupe, run_id)
  if (!isMultiAgentSession(session)) throw new Error('not a session of several agents')
  return session
}
