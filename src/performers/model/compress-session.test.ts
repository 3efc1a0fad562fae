import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTestTroupe, functionModel } from '../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../entries/models.ts'
import { defineTool } from '../../index.ts'
import { isEvent } from '../../kernel/event.ts'

const read = defineTool({
  name: 'read',
  description: 'reads a long page',
  kind: 'read',
  category: 'perception',
  input: z.object({ page: z.number() }),
  execute: ({ page }) => ({ success: true, output: `page ${page}: ${'lorem ipsum '.repeat(100)}` }),
})

const size = (request: ModelRequest) => JSON.stringify(request.messages).length
const tokens = (request: ModelRequest) => Math.ceil(size(request) / 4)

/** A model that reads page after page, then writes its final text. */
function readerModel(pages: number, context: number) {
  const model = functionModel((request) => {
    if (request.session.agent === 'summary') return { text: `so far: ${size(request)} characters were read` }
    const { turn } = request.session
    return turn > pages
      ? { text: 'read it all' }
      : { text: `turning to ${turn}`, calls: [{ name: 'read', input: { page: turn } }] }
  }, tokens)
  return { ...model, limits: { context } }
}

async function readPages(pages: number, context = 2000) {
  const model = readerModel(pages, context)
  const options = { model, agents: [agent('reader', { tools: ['read'] })], tools: [read], limits: { turns: 100 } }
  const { troupe, task } = await createTestTroupe(options)
  const result = await task('reader', 'The code word is heliotrope. Read everything.')
  return { model, troupe, result, events: await troupe.events(result.run_id).all() }
}

test('CX1 a conversation of ten times the context window is compacted to fit and keeps its first instruction', async () => {
  const { model, result } = await readPages(60)
  expect(result.status).toBe('completed')
  const requests = model.requests.filter(({ session }) => session.agent === 'reader')
  expect(requests).toHaveLength(61)
  for (const request of requests) expect(tokens(request)).toBeLessThanOrEqual(2000)
  const last = JSON.stringify(requests.at(-1)?.messages)
  expect(last).toContain('heliotrope')
  expect(last).toContain('so far:')
})

test('CX2 compaction omits old tool results first, keeps recent messages, and records session:compress', async () => {
  const { model, events } = await readPages(12, 4000)
  const compressions = events.flatMap((event) => (isEvent(event, 'session:compress') ? event.data : []))
  expect(compressions[0]).toMatchObject({ truncated_messages: [2, 4, 6, 8], summary: null })
  const request = model.requests.at(-1)
  expect(JSON.stringify(request?.messages.at(-1))).toContain('page 12: lorem')
  expect(JSON.stringify(request?.messages)).toContain('omitted to save context')
  const originals = events.filter(
    (event) => isEvent(event, 'tool:post') && JSON.stringify(event.data).includes('lorem'),
  )
  expect(originals).toHaveLength(12)
})

test('CX3 a summary is a model request with its own phase: it counts in usage, but is no turn', async () => {
  const { result, events } = await readPages(60)
  const summaries = events.filter((event) => isEvent(event, 'model:end') && event.data.phase === 'summary')
  expect(summaries.length).toBeGreaterThan(0)
  expect(result.usage.calls).toBe(61 + summaries.length)
  expect(result.output).toMatchObject({ usage: { calls: result.usage.calls } })
})

test('CX4 a compacted session that is resumed continues with the compacted conversation', async () => {
  const { model, troupe, result } = await readPages(60)
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

test('CX5 after context_too_long the conversation is compacted once and the call is repeated', async () => {
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
  const types = (await troupe.events(result.run_id).all()).map((event) => event.type)
  expect(types.filter((type) => type === 'session:compress')).toHaveLength(1)
})
