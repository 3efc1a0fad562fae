import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { canonicalJournal } from '../../src/entries/inspect.ts'
import type { Model } from '../../src/entries/models.ts'
import { createTroupe, defineTool, isEvent } from '../../src/index.ts'
import type { Fixture, MockProvider } from './mock-provider.ts'
import { MOCK_API_KEY, startMockProvider } from './mock-provider.ts'
import { loadModelAt, PROTOCOLS, usageFixture } from './provider-harness.ts'

/*
 * Records a run with parallel and background delegation and a human question over every provider protocol with the mock,
 * and replays it with blocked sockets.
 */

let mock: MockProvider
let folder: string
beforeAll(async () => {
  mock = await startMockProvider()
  folder = mkdtempSync(join(tmpdir(), 'troupe-cassette-mock-'))
})
afterAll(async () => {
  await mock.stop()
  rmSync(folder, { recursive: true, force: true })
})

const protocols = Object.values(PROTOCOLS)
const modelFor = (index: number) => protocols[index % protocols.length]?.model ?? ''
const agents = ['lead', 'alpha', 'beta', 'gamma', 'delta'].map((name, index) => ({
  name,
  description: name,
  instructions: `You are ${name}.`,
  model: modelFor(index),
}))
const look = defineTool({
  name: 'look',
  description: 'Inspects a part.',
  kind: 'read',
  category: 'perception',
  input: z.object({ part: z.string() }),
  execute: ({ part }) => ({ success: true, output: `${part} is fine` }),
})

function fixtures(): Fixture[] {
  const call = (name: string, input: object) => ({ name, arguments: JSON.stringify(input) })
  const task = (agent: string, more = {}) => call('task', { agent, instruction: `work, ${agent}`, ...more })
  const textResponse = (content: string, tokens: number) => ({ content, ...usageFixture({ input: tokens, output: 5 }) })
  const first = [
    task('alpha'),
    task('delta'),
    task('beta'),
    task('gamma', { background: true }),
    call('ask_user', { question: 'Why?' }),
  ]
  const failing = {
    response: { status: 503, error: { message: 'internal error' } },
    match: { userMessage: 'work, beta', sequenceIndex: 0 },
  }
  return [
    {
      match: { userMessage: 'Go.', hasToolResult: false },
      response: { toolCalls: first, ...usageFixture({ input: 90, output: 9 }) },
    },
    { match: { userMessage: 'Go.', hasToolResult: true }, response: textResponse('Almost.', 91) },
    { match: { userMessage: 'Results of your background' }, response: textResponse('All is done.', 92) },
    {
      match: { userMessage: 'work, alpha', hasToolResult: false },
      response: { toolCalls: [call('look', { part: 'roof' })] },
    },
    {
      match: { userMessage: 'work, alpha', hasToolResult: true },
      response: textResponse('The roof is fine, as far as one can see.', 93),
    },
    failing as Fixture,
    { match: { userMessage: 'work, beta' }, response: textResponse('Beta did it at the second try.', 94) },
    { match: { userMessage: 'work, delta' }, response: textResponse('Delta did it.', 96) },
    { match: { userMessage: 'work, gamma' }, response: textResponse('Gamma did it in the background.', 95) },
  ]
}

async function runWithCassette(options: { cassette: { record: string } | { replay: string }; models: Model[] }) {
  const { models: custom, cassette } = options
  const retryPolicy = {
    ready: () => undefined,
    next: ({ model, error, attempts }: { model: string; error: { retry: boolean }; attempts: number }) =>
      error.retry && attempts < 3 ? { model, delay_ms: 1 } : undefined,
  }
  await using troupe = await createTroupe({
    store: 'memory',
    agents,
    tools: [look],
    cassette,
    models: { custom },
    engine: { retryPolicy },
  })
  const parked = await troupe.run('task', { agent: 'lead', instruction: 'Go.' })
  expect(parked.status, JSON.stringify(parked.error)).toBe('waiting')
  const result = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'because', { by: 'ann' })).result
  return { result, events: await troupe.events(result.run_id).all() }
}

test('CA1 a run recorded over every protocol replays offline to the same journal', async () => {
  await mock.setFixtures(fixtures())
  const models = await Promise.all(protocols.map((protocol) => loadModelAt(protocol, mock.url)))
  const record = join(folder, 'every.jsonl')
  const recorded = await runWithCassette({ models, cassette: { record } })
  expect(recorded.result, JSON.stringify(recorded.result.error)).toMatchObject({ status: 'completed' })
  expect(recorded.events.some((event) => isEvent(event, 'model:error'))).toBe(true)
  const requestCount = (await mock.requests()).length
  await mock.setFixtures([])
  const connect = vi.spyOn(Socket.prototype, 'connect').mockImplementation(() => {
    throw new Error('unexpected socket')
  })
  const replayed = await runWithCassette({ models: [], cassette: { replay: record } })
  expect(connect).not.toHaveBeenCalled()
  connect.mockRestore()
  expect(await mock.requests()).toHaveLength(0)
  expect(requestCount).toBeGreaterThan(6)
  expect(canonicalJournal(replayed.events)).toEqual(canonicalJournal(recorded.events))
  expect(replayed.result.usage).toEqual(recorded.result.usage)
  expect(readFileSync(record, 'utf8')).not.toContain(MOCK_API_KEY)
})
