import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { Redactor } from '../../kernel/redactor.ts'
import type { ToolResult } from '../../kernel/tool.ts'
import { defineTool } from '../../tools/define-tool.ts'
import { MAX_TOOL_OUTPUT_CHARS } from './tool-result.ts'

const TOKEN = 'ghp_0123456789abcdefghijABCDEFGHIJ012345'

/** Runs one call of a tool with this result; returns what the model got of it. */
async function resultFor(result: ToolResult, redact?: Redactor) {
  const tool = defineTool({
    name: 'look',
    description: 'Looks.',
    input: z.object({}),
    kind: 'read',
    category: 'perception',
    execute: () => result,
  })
  const model = functionModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? { text: 'done' } : { calls: [{ name: 'look', input: {} }] },
  )
  const { troupe, task } = await createTestTroupe({
    agents: [agent('lead')],
    tools: [tool],
    model,
    ...(redact ? { redact } : undefined),
  })
  const { run_id } = await task('lead', 'go')
  const events = await troupe.events(run_id).all()
  await troupe.close()
  const request = model.requests[1]
  return { text: request ? lastMessageText(request) : '', journal: JSON.stringify(events) }
}

test('RD3 a structured result keeps its structure; its texts and the fields with secret names are redacted', async () => {
  const output = { url: 'postgres://ann:hunter2@db', password: 'x1', list: [{ api_key: 'abc', count: 3 }, null, ''] }
  const { text } = await resultFor({ success: true, output })
  expect(JSON.parse(text)).toEqual({
    url: 'postgres://ann:[redacted: password]@db',
    password: '[redacted: secret]',
    list: [{ api_key: '[redacted: secret]', count: 3 }, null, ''],
  })
})

test('RD3 a secret across the truncation limit of a long result is redacted before the result is truncated', async () => {
  const output = `${'x '.repeat(MAX_TOOL_OUTPUT_CHARS / 2 - 10)} ${TOKEN}${' y'.repeat(50_000)}`
  const { text, journal } = await resultFor({ success: true, output })
  expect(text).toContain('[redacted')
  expect(text).toContain('[truncated: ')
  expect(text).not.toContain(TOKEN.slice(0, 12))
  expect(journal).not.toContain(TOKEN.slice(0, 12))
})

test('RD4 a `redact` of the program replaces the built-in rules and gets the name of the field', async () => {
  const redact: Redactor = { redact: (text, field) => (field === 'name' ? 'N.N.' : text) }
  const { text } = await resultFor({ success: true, output: { name: 'Ann', token: TOKEN } }, redact)
  expect(JSON.parse(text)).toEqual({ name: 'N.N.', token: TOKEN })
})

test('RD5 when `redact` throws, the output and the error message are withheld', async () => {
  const redact: Redactor = {
    redact: (text) => {
      throw new Error(`cannot redact ${text}`)
    },
  }
  for (const result of [
    { success: true, output: TOKEN },
    { success: false, error: `no: ${TOKEN}` },
  ]) {
    const { text, journal } = await resultFor(result, redact)
    expect(text).toContain('withheld')
    expect(journal).not.toContain(TOKEN)
  }
})
