import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { chunkModel, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { cassetteFixture, rules, runToEnd } from '../../test/support/recorded-run.ts'
import {
  agent,
  agents,
  createTestTroupe,
  functionModel,
  lastMessageText,
  lastResultSessionId,
  modelFromRules,
} from '../../test/support/test-troupe.ts'
import type { TroupeOptions } from '../index.ts'
import { canonicalJournal, defineTool, isEvent } from '../index.ts'

const on = cassetteFixture()

function blockSockets() {
  return vi.spyOn(Socket.prototype, 'connect').mockImplementation(() => {
    throw new Error('a socket was opened')
  })
}

test('CA1 a recorded run replays without a model and without a socket to the same canonical journal', async () => {
  const recorded = await runToEnd({ model: modelFromRules(...rules), cassette: { record: on.file } })
  expect(recorded.result.status).toBe('completed')
  expect(on.lines()[0]).toEqual({ troupe_cassette: 1 })
  const connect = blockSockets()
  const replayed = await runToEnd({ cassette: { replay: on.file } })
  expect(replayed.result.run_id).not.toBe(recorded.result.run_id)
  expect(canonicalJournal(replayed.events)).toEqual(canonicalJournal(recorded.events))
  expect(canonicalJournal(recorded.events).some(({ type }) => type === 'model:error')).toBe(true)
  expect(connect).not.toHaveBeenCalled()
})

test('CA2 agents with the same question, and one that asks twice, get each its own answer', async () => {
  let said = 0
  const model = functionModel(({ session }) => {
    if (session.agent !== 'lead') return { text: `answer ${++said}` }
    const same = { agent: 'coder', instruction: 'same' }
    return session.turn === 1 ? { calls: [same, same].map((input) => ({ name: 'task', input })) } : { text: 'done' }
  })
  const first = await createTestTroupe({ agents, model, cassette: { record: on.file } })
  const recorded = await first.task('lead', 'go')
  const second = await createTestTroupe({ agents, cassette: { replay: on.file } })
  const replayed = await second.task('lead', 'go')
  const texts = async (troupe: typeof first.troupe, run_id: string) =>
    (await troupe.events(run_id)).flatMap((event) => (isEvent(event, 'session:end') ? event.data.text : []))
  expect((await texts(second.troupe, replayed.run_id)).sort()).toEqual(['answer 1', 'answer 2', 'done'])
  expect(canonicalJournal(await second.troupe.events(replayed.run_id))).toEqual(
    canonicalJournal(await first.troupe.events(recorded.run_id)),
  )
  const hashes = on.entries().filter(({ key }) => key.includes('/tool/'))
  expect(new Set(hashes.map(({ hash }) => hash)).size).toBe(1)
})

describe('CA3 what arrives', () => {
  test('CA3 chunks keep their order and breaks, usage and marks are kept', async () => {
    const chunks = [
      { type: 'reasoning' as const, text: 'hm', provider: { signature: 'abc' } },
      { type: 'text' as const, text: 'one ' },
      { type: 'text' as const, text: 'two' },
      {
        type: 'finish' as const,
        stop: 'end' as const,
        mark: 'm',
        usage: { input: 7, output: 3, cache_read: 2, cache_write: 1, reasoning: 1 },
      },
    ]
    const deltas = async (options: TroupeOptions) => {
      const { troupe } = await createTestTroupe({ agents, ...options })
      const handle = await troupe.stream('task', { agent: 'lead', instruction: 'go' })
      const words: string[] = []
      for await (const signal of handle) if ('delta' in signal) words.push(`${signal.delta.offset}${signal.delta.text}`)
      return { words, result: await handle.result, events: await troupe.events(handle.run_id) }
    }
    const recorded = await deltas({ model: chunkModel(() => chunks), cassette: { record: on.file } })
    const replayed = await deltas({ cassette: { replay: on.file } })
    expect(replayed.words).toEqual(['0hm', '2one ', '6two'])
    expect(replayed.words).toEqual(recorded.words)
    expect(replayed.result.usage).toMatchObject({ input: 7, output: 3, cache_read: 2, cache_write: 1 })
    expect(canonicalJournal(replayed.events)).toEqual(canonicalJournal(recorded.events))
  })

  test('CA3 failures keep their status, and are tried again as they were then, without waiting', async () => {
    const model = modelFromRules(
      { when: { turn: 1 }, times: 2, reply: { error: { status: 429, message: 'slow down' } } },
      { reply: { text: 'at last' } },
    )
    let asked = 0
    const patient = {
      ready: () => undefined,
      next: ({ attempts, model: name }: { attempts: number; model: string }) =>
        attempts < 3 && ++asked ? { model: name, delay_ms: 2 } : undefined,
    }
    const first = await createTestTroupe({
      agents,
      model,
      engine: { retryPolicy: patient },
      cassette: { record: on.file },
    })
    const recorded = await first.task('lead', 'go')
    expect([recorded.status, asked]).toEqual(['completed', 2])
    expect(on.lines().filter((line) => 'retry' in line)).toHaveLength(2)
    const never = { ready: () => new Promise<void>(() => {}), next: () => ({ model: 'x', delay_ms: 1e9 }) }
    const second = await createTestTroupe({ agents, engine: { retryPolicy: never }, cassette: { replay: on.file } })
    const replayed = await second.task('lead', 'go')
    expect(canonicalJournal(await second.troupe.events(replayed.run_id))).toEqual(
      canonicalJournal(await first.troupe.events(recorded.run_id)),
    )
  })

  test('CA3 a stream that broke off, garbage, and a model that was not there come back as they were', async () => {
    const staff = [agent('lead', { max_turns: 3 }), agent('coder', { model: 'nobody/none' }), agent('critic')]
    const model = chunkModel(({ session }) => {
      if (session.agent === 'critic') return [{ type: 'text', text: 'half an ans' }]
      return session.turn === 1
        ? toolCallChunks(
            { name: 'task', input: { agent: 'coder', instruction: 'x' } },
            { name: 'task', input: { agent: 'critic', instruction: 'x' } },
          )
        : textChunks('done')
    })
    const none = { ready: () => undefined, next: () => undefined }
    const first = await createTestTroupe({
      agents: staff,
      model,
      engine: { retryPolicy: none },
      cassette: { record: on.file },
    })
    const recorded = await first.task('lead', 'go')
    const second = await createTestTroupe({ agents: staff, cassette: { replay: on.file } })
    const replayed = await second.task('lead', 'go')
    const journal = canonicalJournal(await second.troupe.events(replayed.run_id))
    expect(journal).toEqual(canonicalJournal(await first.troupe.events(recorded.run_id)))
    expect(JSON.stringify(journal)).toMatch(/unknown_model.*stream_interrupted|stream_interrupted.*unknown_model/)
  })

  test('CA3 a call that its time limit broke off is broken off again', async () => {
    const staff = [agent('lead'), agent('coder', { timeout_ms: 30 })]
    const model = chunkModel((request) => {
      if (request.session.agent === 'coder') return new Promise<never>(() => {})
      return request.session.turn === 1
        ? toolCallChunks({ name: 'task', input: { agent: 'coder', instruction: 'x' } })
        : textChunks(lastMessageText(request).includes('timeout') ? 'too slow' : 'odd')
    })
    const first = await createTestTroupe({ agents: staff, model, cassette: { record: on.file } })
    const recorded = await first.task('lead', 'go')
    expect(on.entries().find(({ aborted }) => aborted)?.aborted).toBe('timeout')
    const second = await createTestTroupe({ agents: staff, cassette: { replay: on.file } })
    const replayed = await second.task('lead', 'go')
    expect((replayed.output as { response: string }).response).toBe('too slow')
    expect(canonicalJournal(await second.troupe.events(replayed.run_id))).toEqual(
      canonicalJournal(await first.troupe.events(recorded.run_id)),
    )
  })
})

test('CA4 answers name the ids of the run that plays them, also where one is broken over chunks', async () => {
  const model = chunkModel((request) => {
    if (request.session.agent === 'coder') return textChunks('written')
    if (request.session.turn === 1) return toolCallChunks({ name: 'task', input: { agent: 'coder', instruction: 'x' } })
    const id = lastResultSessionId(request)
    return [
      { type: 'text', text: `see ${id.slice(0, 9)}` },
      { type: 'text', text: id.slice(9, 30) },
      { type: 'text', text: `${id.slice(30)} for ${request.session.run_id}` },
      { type: 'finish', stop: 'end' },
    ]
  })
  const first = await createTestTroupe({ agents, model, cassette: { record: on.file } })
  const recorded = await first.task('lead', 'go')
  const second = await createTestTroupe({ agents, cassette: { replay: on.file } })
  const replayed = await second.task('lead', 'go')
  const [coder] = (await second.troupe.sessions(replayed.run_id)).filter((row) => row.agent === 'coder')
  expect((replayed.output as { response: string }).response).toContain(`see ${coder?.session_id} for`)
  expect((recorded.output as { response: string }).response).not.toContain(coder?.session_id)
})

describe('CA10 secrets', () => {
  const SECRET = 'sk-ant-api03-aaaaBBBBccccDDDD'
  const fetchSecret = defineTool({
    name: 'fetch',
    description: 'Fetches.',
    kind: 'read',
    category: 'perception',
    input: z.looseObject({}),
    execute: () => ({ success: true, output: { note: `use ${SECRET}`, db_password: 'hunter2', pem: 'in-env-value' } }),
  })

  test('CA10 none is in the on.file, wherever it stood, and the cassette still plays', async () => {
    vi.stubEnv('SOME_API_TOKEN', 'in-env-value')
    const chunk = (text: string) => ({ type: 'text' as const, text })
    const model = chunkModel(({ session }) =>
      session.turn === 1
        ? [
            chunk(`the key is ${SECRET.slice(0, 12)}`),
            chunk(SECRET.slice(12)),
            chunk(', I call'),
            ...toolCallChunks({
              name: 'fetch',
              input: { url: `https://ann:hunter2@example.org`, password: 'hunter2' },
            }),
          ]
        : textChunks('all done'),
    )
    const staff = [agent('lead', { instructions: `Use ${SECRET} and in-env-value.` })]
    const first = await createTestTroupe({ agents: staff, tools: [fetchSecret], model, cassette: { record: on.file } })
    await first.task('lead', `password=hunter2 and Authorization: Bearer ${'x'.repeat(20)}`)
    const text = readFileSync(on.file, 'utf8')
    for (const secret of [SECRET.slice(7), 'hunter2', 'in-env-value', 'x'.repeat(20), 'aaaaBBBB', 'ccccDDDD']) {
      expect(text).not.toContain(secret)
    }
    const [entry] = on.entries()
    expect(entry?.chunks.slice(0, 3)).toEqual([chunk('the key is [redacted]'), chunk(''), chunk(', I call')])
    const second = await createTestTroupe({ agents: staff, tools: [fetchSecret], cassette: { replay: on.file } })
    const replayed = await second.task('lead', `password=hunter2 and Authorization: Bearer ${'x'.repeat(20)}`)
    expect(replayed.error).toBeNull()
    vi.unstubAllEnvs()
  })
})
