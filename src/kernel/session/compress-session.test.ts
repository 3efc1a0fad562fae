import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTestTroupe, functionModel } from '../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../index.ts'
import { defineTool } from '../../index.ts'
import { isEvent } from '../event.ts'

const read = defineTool({
  name: 'read',
  description: 'reads much',
  kind: 'read',
  category: 'perception',
  input: z.object({ page: z.number() }),
  execute: ({ page }) => ({ success: true, output: `page ${page}: ${'lorem ipsum '.repeat(100)}` }),
})

const size = (request: ModelRequest) => JSON.stringify(request.messages).length
const tokens = (request: ModelRequest) => Math.ceil(size(request) / 4)

/** Reads page after page with a small window, then answers. */
function reader(pages: number, context: number) {
  const model = functionModel((request) => {
    if (request.session.agent === 'summary') return { text: `so far: ${size(request)} characters were read` }
    const { turn } = request.session
    return turn > pages
      ? { text: 'read it all' }
      : { text: `turning to ${turn}`, calls: [{ name: 'read', input: { page: turn } }] }
  }, tokens)
  return { ...model, limits: { context } }
}

async function reading(pages: number, context = 2000) {
  const model = reader(pages, context)
  const options = { model, agents: [agent('reader', { tools: ['read'] })], tools: [read], limits: { turns: 100 } }
  const { troupe, task } = await createTestTroupe(options)
  const result = await task('reader', 'The code word is heliotrope. Read everything.')
  return { model, troupe, result, events: await troupe.events(result.run_id) }
}

test('CX1 a session ten times its window stays within it and still has its pinned first instruction', async () => {
  const { model, result } = await reading(60)
  expect(result.status).toBe('completed')
  const asked = model.requests.filter(({ session }) => session.agent === 'reader')
  expect(asked).toHaveLength(61)
  for (const request of asked) expect(tokens(request)).toBeLessThanOrEqual(2000)
  const last = JSON.stringify(asked.at(-1)?.messages)
  expect(last).toContain('heliotrope')
  expect(last).toContain('so far:')
})

test('CX2 old tool results go first; recent messages stay whole; what was dropped is an event', async () => {
  const { model, events } = await reading(12, 4000)
  const dropped = events.flatMap((event) => (isEvent(event, 'session:compress') ? event.data : []))
  expect(dropped[0]).toMatchObject({ truncated_messages: [2, 4, 6, 8], summary: null })
  const request = model.requests.at(-1)
  expect(JSON.stringify(request?.messages.at(-1))).toContain('page 12: lorem')
  expect(JSON.stringify(request?.messages)).toContain('omitted to save context')
  const originals = events.filter(
    (event) => isEvent(event, 'tool:post') && JSON.stringify(event.data).includes('lorem'),
  )
  expect(originals).toHaveLength(12)
})

test('CX3 a summary is a call of its own phase: it is paid for, and no turn of the conversation', async () => {
  const { result, events } = await reading(60)
  const summaries = events.filter((event) => isEvent(event, 'model:end') && event.data.phase === 'summary')
  expect(summaries.length).toBeGreaterThan(0)
  expect(result.usage.calls).toBe(61 + summaries.length)
  expect(result.output).toMatchObject({ usage: { calls: result.usage.calls } })
})

test('CX4 a compressed session that is resumed later goes on with the same conversation', async () => {
  const { model, troupe, result } = await reading(60)
  const { session_id } = result.output as { session_id: string }
  await troupe.run('task', { session_id, instruction: 'What was the code word?' })
  const messages = model.requests.at(-1)?.messages ?? []
  expect(JSON.stringify(messages[0])).toContain('heliotrope')
  expect(JSON.stringify(messages)).toContain('so far:')
  expect(messages.slice(-2).map(({ content }) => content)).toMatchObject([
    [{ text: 'read it all' }],
    [{ text: 'What was the code word?' }],
  ])
})

test('CX5 a provider that says the context is too long makes room once, by force, and is asked again', async () => {
  const { TroupeError } = await import('../../errors.ts')
  const model = functionModel((request) => {
    if (request.session.agent === 'summary') return { text: 'short' }
    const { turn } = request.session
    if (turn <= 10) return { calls: [{ name: 'read', input: { page: turn } }] }
    if (size(request) > 9000) throw Object.assign(new TroupeError('context_too_long', 'too long'), { status: 400 })
    return { text: 'made it' }
  }, tokens)
  const { troupe, task } = await createTestTroupe({
    model,
    agents: [agent('reader', { tools: ['read'] })],
    tools: [read],
    limits: { turns: 100 },
  })
  const result = await task('reader', 'go')
  expect(result.output).toMatchObject({ response: 'made it' })
  const types = (await troupe.events(result.run_id)).map((event) => event.type)
  expect(types.filter((type) => type === 'session:compress')).toHaveLength(1)
})
