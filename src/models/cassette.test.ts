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
import { canonicalJournal } from '../entries/inspect.ts'
import type { Model } from '../entries/models.ts'
import type { TroupeOptions } from '../index.ts'
import { defineTool, isEvent } from '../index.ts'

const fixture = cassetteFixture()

function blockSockets() {
  return vi.spyOn(Socket.prototype, 'connect').mockImplementation(() => {
    throw new Error('a socket was opened')
  })
}

test('CA1 a recorded run replays without a model and without a socket to the same canonical journal', async () => {
  const recorded = await runToEnd({ model: modelFromRules(...rules), cassette: { record: fixture.file } })
  expect(recorded.result.status).toBe('completed')
  expect(fixture.lines()[0]).toEqual({ troupe_cassette: 1 })
  const connect = blockSockets()
  const replayed = await runToEnd({ cassette: { replay: fixture.file } })
  expect(replayed.result.run_id).not.toBe(recorded.result.run_id)
  expect(canonicalJournal(replayed.events)).toEqual(canonicalJournal(recorded.events))
  expect(canonicalJournal(recorded.events).some(({ type }) => type === 'model:error')).toBe(true)
  expect(connect).not.toHaveBeenCalled()
})

test('CA2 two agents with the same request, and one that repeats it, each get their own response', async () => {
  let responses = 0
  const model = functionModel(({ session }) => {
    if (session.agent !== 'lead') return { text: `answer ${++responses}` }
    const same = { agent: 'coder', instruction: 'same' }
    return session.turn === 1 ? { calls: [same, same].map((input) => ({ name: 'task', input })) } : { text: 'done' }
  })
  const first = await createTestTroupe({ agents, model, cassette: { record: fixture.file } })
  const recorded = await first.task('lead', 'go')
  const second = await createTestTroupe({ agents, cassette: { replay: fixture.file } })
  const replayed = await second.task('lead', 'go')
  const texts = async (troupe: typeof first.troupe, run_id: string) =>
    (await troupe.events(run_id).all()).flatMap((event) => (isEvent(event, 'session:end') ? event.data.text : []))
  expect((await texts(second.troupe, replayed.run_id)).sort()).toEqual(['answer 1', 'answer 2', 'done'])
  expect(canonicalJournal(await second.troupe.events(replayed.run_id).all())).toEqual(
    canonicalJournal(await first.troupe.events(recorded.run_id).all()),
  )
  const hashes = fixture.entries().filter(({ key }) => key.includes('/tool/'))
  expect(new Set(hashes.map(({ hash }) => hash)).size).toBe(1)
})

describe('CA3 replayed responses', () => {
  test('CA3 chunks keep their order and boundaries, with usage and marks', async () => {
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
      const texts: string[] = []
      for await (const signal of handle) if ('delta' in signal) texts.push(`${signal.delta.offset}${signal.delta.text}`)
      return { texts, result: await handle.result, events: await troupe.events(handle.run_id).all() }
    }
    const recorded = await deltas({ model: chunkModel(() => chunks), cassette: { record: fixture.file } })
    const replayed = await deltas({ cassette: { replay: fixture.file } })
    expect(replayed.texts).toEqual(['0hm', '2one ', '6two'])
    expect(replayed.texts).toEqual(recorded.texts)
    expect(replayed.result.usage).toMatchObject({ input: 7, output: 3, cache_read: 2, cache_write: 1 })
    expect(canonicalJournal(replayed.events)).toEqual(canonicalJournal(recorded.events))
  })

  test('CA3 failures keep their status and are retried as recorded, without delay', async () => {
    const model = modelFromRules(
      { when: { turn: 1 }, times: 2, reply: { error: { status: 429, message: 'slow down' } } },
      { reply: { text: 'at last' } },
    )
    let retries = 0
    const retrying = {
      ready: () => undefined,
      next: ({ attempts, model: name }: { attempts: number; model: string }) =>
        attempts < 3 && ++retries ? { model: name, delay_ms: 2 } : undefined,
    }
    const first = await createTestTroupe({
      agents,
      model,
      engine: { retryPolicy: retrying },
      cassette: { record: fixture.file },
    })
    const recorded = await first.task('lead', 'go')
    expect([recorded.status, retries]).toEqual(['completed', 2])
    expect(fixture.lines().filter((line) => 'retry' in line)).toHaveLength(2)
    const blocking = { ready: () => new Promise<void>(() => {}), next: () => ({ model: 'x', delay_ms: 1e9 }) }
    const second = await createTestTroupe({
      agents,
      engine: { retryPolicy: blocking },
      cassette: { replay: fixture.file },
    })
    const replayed = await second.task('lead', 'go')
    expect(canonicalJournal(await second.troupe.events(replayed.run_id).all())).toEqual(
      canonicalJournal(await first.troupe.events(recorded.run_id).all()),
    )
  })

  test('CA3 a request that a server refused in part is sent again in the replay, too', async () => {
    const model: Model = {
      name: 'strict',
      async *stream({ settings }) {
        if (settings.temperature !== undefined)
          throw Object.assign(new Error('no temperature'), { status: 400, refused: { feature: 'temperature' } })
        yield { type: 'text', text: 'done' }
        yield { type: 'finish', stop: 'end' }
      },
    }
    const warm = [agent('lead', { temperature: 0.2 })]
    const first = await createTestTroupe({ agents: warm, model, cassette: { record: fixture.file } })
    const recorded = await first.task('lead', 'go')
    const second = await createTestTroupe({ agents: warm, cassette: { replay: fixture.file } })
    const replayed = await second.task('lead', 'go')
    expect([recorded.status, replayed.status]).toEqual(['completed', 'completed'])
    expect(canonicalJournal(await second.troupe.events(replayed.run_id).all())).toEqual(
      canonicalJournal(await first.troupe.events(recorded.run_id).all()),
    )
  })

  test('CA3 an interrupted stream and an unknown model are replayed as recorded', async () => {
    const team = [agent('lead', { max_turns: 3 }), agent('coder', { model: 'unknown/model' }), agent('critic')]
    const model = chunkModel(({ session }) => {
      if (session.agent === 'critic') return [{ type: 'text', text: 'half an ans' }]
      return session.turn === 1
        ? toolCallChunks(
            { name: 'task', input: { agent: 'coder', instruction: 'x' } },
            { name: 'task', input: { agent: 'critic', instruction: 'x' } },
          )
        : textChunks('done')
    })
    const noRetries = { ready: () => undefined, next: () => undefined }
    const first = await createTestTroupe({
      agents: team,
      model,
      engine: { retryPolicy: noRetries },
      cassette: { record: fixture.file },
    })
    const recorded = await first.task('lead', 'go')
    const second = await createTestTroupe({ agents: team, cassette: { replay: fixture.file } })
    const replayed = await second.task('lead', 'go')
    const journal = canonicalJournal(await second.troupe.events(replayed.run_id).all())
    expect(journal).toEqual(canonicalJournal(await first.troupe.events(recorded.run_id).all()))
    expect(JSON.stringify(journal)).toMatch(/unknown_model.*stream_interrupted|stream_interrupted.*unknown_model/)
  })

  test('CA3 a request aborted by its timeout is aborted again', async () => {
    const team = [agent('lead'), agent('coder', { timeout_ms: 30 })]
    const model = chunkModel((request) => {
      if (request.session.agent === 'coder') return new Promise<never>(() => {})
      return request.session.turn === 1
        ? toolCallChunks({ name: 'task', input: { agent: 'coder', instruction: 'x' } })
        : textChunks(lastMessageText(request).includes('timeout') ? 'too slow' : 'odd')
    })
    const first = await createTestTroupe({ agents: team, model, cassette: { record: fixture.file } })
    const recorded = await first.task('lead', 'go')
    expect(fixture.entries().find(({ aborted }) => aborted)?.aborted).toBe('timeout')
    const second = await createTestTroupe({ agents: team, cassette: { replay: fixture.file } })
    const replayed = await second.task('lead', 'go')
    expect((replayed.output as { response: string }).response).toBe('too slow')
    expect(canonicalJournal(await second.troupe.events(replayed.run_id).all())).toEqual(
      canonicalJournal(await first.troupe.events(recorded.run_id).all()),
    )
  })
})

test('CA4 replayed responses contain the ids of the replaying run, even when an id is split across chunks', async () => {
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
  const first = await createTestTroupe({ agents, model, cassette: { record: fixture.file } })
  const recorded = await first.task('lead', 'go')
  const second = await createTestTroupe({ agents, cassette: { replay: fixture.file } })
  const replayed = await second.task('lead', 'go')
  const [coder] = (await second.troupe.sessions({ run_id: replayed.run_id }).all()).filter(
    (row) => row.agent === 'coder',
  )
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

  test('CA10 no secret is written to the file, and the cassette still replays', async () => {
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
    const team = [agent('lead', { instructions: `Use ${SECRET} and in-env-value.` })]
    const first = await createTestTroupe({
      agents: team,
      tools: [fetchSecret],
      model,
      cassette: { record: fixture.file },
    })
    await first.task('lead', `password=hunter2 and Authorization: Bearer ${'x'.repeat(20)}`)
    const text = readFileSync(fixture.file, 'utf8')
    for (const secret of [SECRET.slice(7), 'hunter2', 'in-env-value', 'x'.repeat(20), 'aaaaBBBB', 'ccccDDDD']) {
      expect(text).not.toContain(secret)
    }
    const [entry] = fixture.entries()
    expect(entry?.chunks.slice(0, 3)).toEqual([chunk('the key is [redacted: api-key]'), chunk(''), chunk(', I call')])
    const second = await createTestTroupe({ agents: team, tools: [fetchSecret], cassette: { replay: fixture.file } })
    const replayed = await second.task('lead', `password=hunter2 and Authorization: Bearer ${'x'.repeat(20)}`)
    expect(replayed.error).toBeNull()
    vi.unstubAllEnvs()
  })
})
