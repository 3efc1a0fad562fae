import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { answering, calls, says } from '../../test/by-hand.ts'
import { agent, lastInput, playing, script, sessionIn, stage } from '../../test/stage.ts'
import type { TroupeOptions } from '../index.ts'
import { canonicalJournal, defineTool, isEvent } from '../index.ts'
import type { Entry } from './cassette.ts'

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-cassette-'))
  file = join(folder, 'run.jsonl')
})

afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

const lines = () =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
const entries = () => lines().filter((line) => 'chunks' in line) as Entry[]

function blockSockets() {
  return vi.spyOn(Socket.prototype, 'connect').mockImplementation(() => {
    throw new Error('a socket was opened')
  })
}

const echo = defineTool({
  name: 'echo',
  description: 'Says it again.',
  kind: 'read',
  category: 'perception',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => ({ success: true, output: text }),
})
const agents = [agent('lead'), agent('coder'), agent('critic')]
/** Delegates, resumes the session, meets a failure that is tried again, uses a tool and asks a person. */
const rules = [
  {
    when: { agent: 'lead', turn: 1 },
    reply: {
      text: 'I delegate twice.',
      toolCalls: [
        { name: 'task', input: { agent: 'coder', instruction: 'write' } },
        { name: 'task', input: { agent: 'critic', instruction: 'write' } },
      ],
    },
  },
  {
    when: { agent: 'lead', turn: 2 },
    reply: { toolCalls: [{ name: 'task', input: { session_id: '{{session_id:coder}}', instruction: 'go on' } }] },
  },
  {
    when: { agent: 'lead', turn: 3 },
    reply: { toolCalls: [{ name: 'ask_user', input: { question: 'ship {{session_id:coder}}?' } }] },
  },
  { when: { agent: 'lead' }, reply: { text: 'Shipped what {{session_id:coder}} wrote.' } },
  { when: { agent: 'coder', turn: 1 }, times: 1, reply: { error: { status: 503, message: 'busy' } } },
  { when: { agent: 'coder', turn: 1 }, reply: { toolCalls: [{ name: 'echo', input: { text: 'hello' } }] } },
  { when: { agent: 'coder', says: 'go on' }, reply: { text: 'Gone on, with more words than fit one piece of it.' } },
  { when: { agent: 'coder' }, reply: { text: 'Written.' } },
  { when: { agent: 'critic' }, reply: { text: 'Looks fine to me.' } },
]
const pacing = {
  ready: () => undefined,
  next: ({ model, error }: { model: string; error: { retry: boolean } }) =>
    error.retry ? { model, delay_ms: 3 } : undefined,
}

async function wholeRun(options: TroupeOptions) {
  const { troupe, task } = await stage({ agents, tools: [echo], engine: { pacing }, ...options })
  const waiting = await task('lead', 'go')
  expect(waiting.status, JSON.stringify(waiting.error)).toBe('waiting')
  const result = await (await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes', { by: 'ann' })).result
  const events = await troupe.events(result.run_id)
  await troupe.close()
  return { result, events }
}

test('CA1 a recorded run replays without a model and without a socket to the same canonical journal', async () => {
  const recorded = await wholeRun({ model: script(...rules), cassette: { record: file } })
  expect(recorded.result.status).toBe('completed')
  expect(lines()[0]).toEqual({ troupe_cassette: 1 })
  const connect = blockSockets()
  const replayed = await wholeRun({ cassette: { replay: file } })
  expect(replayed.result.run_id).not.toBe(recorded.result.run_id)
  expect(canonicalJournal(replayed.events)).toEqual(canonicalJournal(recorded.events))
  expect(canonicalJournal(recorded.events).some(({ type }) => type === 'model:error')).toBe(true)
  expect(connect).not.toHaveBeenCalled()
})

test('CA2 agents with the same question, and one that asks twice, get each its own answer', async () => {
  let said = 0
  const model = playing(({ session }) => {
    if (session.agent !== 'lead') return { text: `answer ${++said}` }
    const same = { agent: 'coder', instruction: 'same' }
    return session.turn === 1 ? { calls: [same, same].map((input) => ({ name: 'task', input })) } : { text: 'done' }
  })
  const first = await stage({ agents, model, cassette: { record: file } })
  const recorded = await first.task('lead', 'go')
  const second = await stage({ agents, cassette: { replay: file } })
  const replayed = await second.task('lead', 'go')
  const texts = async (troupe: typeof first.troupe, run_id: string) =>
    (await troupe.events(run_id)).flatMap((event) => (isEvent(event, 'session:end') ? event.data.text : []))
  expect((await texts(second.troupe, replayed.run_id)).sort()).toEqual(['answer 1', 'answer 2', 'done'])
  expect(canonicalJournal(await second.troupe.events(replayed.run_id))).toEqual(
    canonicalJournal(await first.troupe.events(recorded.run_id)),
  )
  const hashes = entries().filter(({ key }) => key.includes('/tool/'))
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
      const { troupe } = await stage({ agents, ...options })
      const handle = await troupe.stream('task', { agent: 'lead', instruction: 'go' })
      const words: string[] = []
      for await (const signal of handle) if ('delta' in signal) words.push(`${signal.delta.offset}${signal.delta.text}`)
      return { words, result: await handle.result, events: await troupe.events(handle.run_id) }
    }
    const recorded = await deltas({ model: answering(() => chunks), cassette: { record: file } })
    const replayed = await deltas({ cassette: { replay: file } })
    expect(replayed.words).toEqual(['0hm', '2one ', '6two'])
    expect(replayed.words).toEqual(recorded.words)
    expect(replayed.result.usage).toMatchObject({ input: 7, output: 3, cache_read: 2, cache_write: 1 })
    expect(canonicalJournal(replayed.events)).toEqual(canonicalJournal(recorded.events))
  })

  test('CA3 failures keep their status, and are tried again as they were then, without waiting', async () => {
    const model = script(
      { when: { turn: 1 }, times: 2, reply: { error: { status: 429, message: 'slow down' } } },
      { reply: { text: 'at last' } },
    )
    let asked = 0
    const patient = {
      ready: () => undefined,
      next: ({ attempts, model: name }: { attempts: number; model: string }) =>
        attempts < 3 && ++asked ? { model: name, delay_ms: 2 } : undefined,
    }
    const first = await stage({ agents, model, engine: { pacing: patient }, cassette: { record: file } })
    const recorded = await first.task('lead', 'go')
    expect([recorded.status, asked]).toEqual(['completed', 2])
    expect(lines().filter((line) => 'retry' in line)).toHaveLength(2)
    const never = { ready: () => new Promise<void>(() => {}), next: () => ({ model: 'x', delay_ms: 1e9 }) }
    const second = await stage({ agents, engine: { pacing: never }, cassette: { replay: file } })
    const replayed = await second.task('lead', 'go')
    expect(canonicalJournal(await second.troupe.events(replayed.run_id))).toEqual(
      canonicalJournal(await first.troupe.events(recorded.run_id)),
    )
  })

  test('CA3 a stream that broke off, garbage, and a model that was not there come back as they were', async () => {
    const staff = [agent('lead', { max_turns: 3 }), agent('coder', { model: 'nobody/none' }), agent('critic')]
    const model = answering(({ session }) => {
      if (session.agent === 'critic') return [{ type: 'text', text: 'half an ans' }]
      return session.turn === 1
        ? calls(
            { name: 'task', input: { agent: 'coder', instruction: 'x' } },
            { name: 'task', input: { agent: 'critic', instruction: 'x' } },
          )
        : says('done')
    })
    const none = { ready: () => undefined, next: () => undefined }
    const first = await stage({ agents: staff, model, engine: { pacing: none }, cassette: { record: file } })
    const recorded = await first.task('lead', 'go')
    const second = await stage({ agents: staff, cassette: { replay: file } })
    const replayed = await second.task('lead', 'go')
    const journal = canonicalJournal(await second.troupe.events(replayed.run_id))
    expect(journal).toEqual(canonicalJournal(await first.troupe.events(recorded.run_id)))
    expect(JSON.stringify(journal)).toMatch(/unknown_model.*stream_cut|stream_cut.*unknown_model/)
  })

  test('CA3 a call that its time limit broke off is broken off again', async () => {
    const staff = [agent('lead'), agent('coder', { timeout_ms: 30 })]
    const model = answering((request) => {
      if (request.session.agent === 'coder') return new Promise<never>(() => {})
      return request.session.turn === 1
        ? calls({ name: 'task', input: { agent: 'coder', instruction: 'x' } })
        : says(lastInput(request).includes('timeout') ? 'too slow' : 'odd')
    })
    const first = await stage({ agents: staff, model, cassette: { record: file } })
    const recorded = await first.task('lead', 'go')
    expect(entries().find(({ aborted }) => aborted)?.aborted).toBe('timeout')
    const second = await stage({ agents: staff, cassette: { replay: file } })
    const replayed = await second.task('lead', 'go')
    expect((replayed.output as { response: string }).response).toBe('too slow')
    expect(canonicalJournal(await second.troupe.events(replayed.run_id))).toEqual(
      canonicalJournal(await first.troupe.events(recorded.run_id)),
    )
  })
})

test('CA4 answers name the ids of the run that plays them, also where one is broken over chunks', async () => {
  const model = answering((request) => {
    if (request.session.agent === 'coder') return says('written')
    if (request.session.turn === 1) return calls({ name: 'task', input: { agent: 'coder', instruction: 'x' } })
    const id = sessionIn(request)
    return [
      { type: 'text', text: `see ${id.slice(0, 9)}` },
      { type: 'text', text: id.slice(9, 30) },
      { type: 'text', text: `${id.slice(30)} for ${request.session.run_id}` },
      { type: 'finish', stop: 'end' },
    ]
  })
  const first = await stage({ agents, model, cassette: { record: file } })
  const recorded = await first.task('lead', 'go')
  const second = await stage({ agents, cassette: { replay: file } })
  const replayed = await second.task('lead', 'go')
  const [coder] = (await second.troupe.sessions(replayed.run_id)).filter((row) => row.agent === 'coder')
  expect((replayed.output as { response: string }).response).toContain(`see ${coder?.session_id} for`)
  expect((recorded.output as { response: string }).response).not.toContain(coder?.session_id)
})

describe('CA5 a miss', () => {
  const simple = { agents, model: script({ reply: { text: 'fine' } }) }
  async function record(instruction = 'the first words of a long instruction') {
    const { troupe, task } = await stage({ ...simple, cassette: { record: file } })
    await task('lead', instruction)
    await troupe.close()
  }
  async function replay(options: TroupeOptions, instruction = 'the first words of a long instruction') {
    const { task } = await stage({ agents, cassette: { replay: file }, ...options })
    return (await task('lead', instruction)).error
  }

  test('CA5 shows the key and where a message is different', async () => {
    await record()
    const error = await replay({}, 'the first words of a LONG instruction')
    expect(error?.code).toBe('cassette_miss')
    expect(error?.message).toContain("'session/turn/1/model'")
    expect(error?.message).toMatch(/message 1 \(user\): recorded "….* long instruction", now "….* LONG instruction"/)
    expect(error?.message).not.toContain('system:')
  })

  test('CA5 shows a changed system prompt, tools and settings', async () => {
    await record()
    const changed = [agent('lead', { instructions: 'You are someone else.', temperature: 0.5 })]
    const error = await replay({ agents: changed, tools: [echo], limits: { output: 77 } })
    expect(error?.message).toMatch(/system: recorded "You are lead\.", now "You are someone else\."/)
    expect(error?.message).toMatch(/tools: new: echo/)
    expect(error?.message).toMatch(/settings\.max_output: recorded 16384, now 77/)
    expect(error?.message).toMatch(/settings\.temperature: recorded nothing, now 0\.5/)
  })

  test('CA5 says when a call was asked more often than recorded', async () => {
    await record()
    const { task } = await stage({ agents, cassette: { replay: file } })
    const words = 'the first words of a long instruction'
    expect((await task('lead', words)).status).toBe('completed')
    expect((await task('lead', words)).error?.message).toMatch(/asked for the second time; one answer was recorded/)
  })

  test('CA5 takes the nearest entry of another key when this key was never asked for', async () => {
    const staff = [agent('lead'), agent('coder')]
    const toolCalls = [{ name: 'task', input: { agent: 'coder', instruction: 'write it' } }]
    const model = script({ when: { agent: 'lead', turn: 1 }, reply: { toolCalls } }, { reply: { text: 'fine' } })
    const recording = await stage({ agents: staff, model, cassette: { record: file } })
    await recording.task('lead', 'go')
    const { task } = await stage({ agents: staff, cassette: { replay: file } })
    const { error } = await task('coder', 'write it')
    expect(error?.message).toContain('message 1 (user): recorded "go", now "write it"')
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"key":"session/turn/1/model"', '"key":"other"'))
    const again = await stage({ agents: staff, cassette: { replay: file } })
    expect((await again.task('lead', 'go')).error?.message).toMatch(/nearest is 'other', but:/)
  })

  test('CA5 later misses name the first one', async () => {
    const model = script(...rules)
    await wholeRun({ model, cassette: { record: file } })
    const changed = [agent('lead'), agent('coder'), agent('critic', { instructions: 'Be kind.' })]
    const { task } = await stage({ agents: changed, tools: [echo], cassette: { replay: file } })
    const { error } = await task('lead', 'go')
    expect(error?.message).toMatch(/message 3 \(tool\): recorded/)
    expect(error?.message).toMatch(/the first miss of this replay: .*tool\/1.*\n.*system: .*You are critic.*Be kind/)
  })

  test('CA5 a model that was never asked for is named with those that were', async () => {
    await record()
    const error = await replay({ agents: [agent('lead', { model: 'other/model' })] })
    expect(error).toMatchObject({ code: 'cassette_miss', alternatives: ['scripted'] })
  })
})

describe('CA6 files that cannot be played', () => {
  const entry = { key: 'k', hash: 'h', n: 1, model: 'm', ids: [], chunks: [] }
  const request = { model: 'm', system: '', messages: [], tools: [], settings: {} }
  test.each([
    ['a newer version', '{"troupe_cassette":2}\n', /newer version \(2\); this one reads 1/],
    ['something else', '# notes\n', /:1 is no header/],
    ['JSON that is no cassette', '{"rules":[]}\n', /:1 is no header/],
    ['nothing', '', /:1 is empty/],
    ['a garbled line', '{"troupe_cassette":1}\n{"key":\n{}\n', /:2 is not JSON/],
    ['a line that does not fit', `{"troupe_cassette":1}\n${JSON.stringify(entry)}\n`, /:2 does not fit: request/],
    [
      'a chunk nobody knows',
      `{"troupe_cassette":1}\n${JSON.stringify({ ...entry, request, chunks: [{ type: 'video' }] })}\n`,
      /:2 does not fit: chunks\.0/,
    ],
  ])('CA6 %s is refused with its place', async (_what, text, message) => {
    writeFileSync(file, text)
    const playing = stage({ agents, cassette: { replay: file } })
    await expect(playing).rejects.toMatchObject({ code: 'invalid_cassette', message: expect.stringMatching(message) })
    await expect(playing).rejects.toMatchObject({ message: expect.stringContaining(file) })
  })

  test('CA6 a file that is not there is refused by name', async () => {
    const playing = stage({ agents, cassette: { replay: join(folder, 'none.jsonl') } })
    await expect(playing).rejects.toMatchObject({
      code: 'invalid_cassette',
      message: expect.stringContaining('none.jsonl'),
    })
  })
})

test('CA7 a last line that was cut off costs only that call, and is said', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const { task } = await stage({ agents, model: script({ reply: { text: 'fine' } }), cassette: { record: file } })
  await task('lead', 'one')
  await task('lead', 'two')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.slice(0, -25))
  const second = await stage({ agents, cassette: { replay: file } })
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('was cut off in line 4'))
  expect((await second.task('lead', 'one')).status).toBe('completed')
  expect((await second.task('lead', 'two')).error?.message).toContain('the cassette was cut off in line 4')
})

describe('CA8 recording', () => {
  test('CA8 each call is in the file when it has ended, before the next one is made', async () => {
    const seen: number[] = []
    const model = answering(({ session }) => {
      seen.push(existsSync(file) ? entries().length : -1)
      return session.turn < 3 ? calls({ name: 'echo', input: { text: 'x' } }) : says('done')
    })
    const { task } = await stage({ agents, tools: [echo], model, cassette: { record: file } })
    await task('lead', 'go')
    expect(seen).toEqual([0, 1, 2])
  })

  test('CA8 goes on behind what is there, counts on, and drops a line that was cut off', async () => {
    const options = { agents, model: script({ reply: { text: 'fine' } }), cassette: { record: file } }
    const first = await stage(options)
    await first.task('lead', 'go')
    writeFileSync(file, `${readFileSync(file, 'utf8')}{"key":"sess`)
    const second = await stage(options)
    await second.task('lead', 'go')
    expect(entries().map(({ n }) => n)).toEqual([1, 2])
    expect(lines().filter((line) => 'troupe_cassette' in line)).toHaveLength(1)
    expect(lines().filter((line) => 'resolved' in line)).toHaveLength(1)
  })

  test('CA8 a file that is something else is left alone', async () => {
    writeFileSync(file, '# my notes\n')
    const recording = stage({ agents, model: script({ reply: { text: 'x' } }), cassette: { record: file } })
    await expect(recording).rejects.toMatchObject({ code: 'invalid_cassette' })
    expect(readFileSync(file, 'utf8')).toBe('# my notes\n')
  })

  test('CA8 a recording that fails costs the cassette, not the run', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const model = answering(() => {
      rmSync(folder, { recursive: true, force: true })
      return says('fine')
    })
    const { task } = await stage({ agents, model, cassette: { record: file } })
    expect((await task('lead', 'go')).status).toBe('completed')
    expect(warn).toHaveBeenCalledWith(expect.stringMatching(/nothing more is recorded/))
  })
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

  test('CA10 none is in the file, wherever it stood, and the cassette still plays', async () => {
    vi.stubEnv('SOME_API_TOKEN', 'in-env-value')
    const chunk = (text: string) => ({ type: 'text' as const, text })
    const model = answering(({ session }) =>
      session.turn === 1
        ? [
            chunk(`the key is ${SECRET.slice(0, 12)}`),
            chunk(SECRET.slice(12)),
            chunk(', I call'),
            ...calls({ name: 'fetch', input: { url: `https://ann:hunter2@example.org`, password: 'hunter2' } }),
          ]
        : says('all done'),
    )
    const staff = [agent('lead', { instructions: `Use ${SECRET} and in-env-value.` })]
    const first = await stage({ agents: staff, tools: [fetchSecret], model, cassette: { record: file } })
    await first.task('lead', `password=hunter2 and Authorization: Bearer ${'x'.repeat(20)}`)
    const text = readFileSync(file, 'utf8')
    for (const secret of [SECRET.slice(7), 'hunter2', 'in-env-value', 'x'.repeat(20), 'aaaaBBBB', 'ccccDDDD']) {
      expect(text).not.toContain(secret)
    }
    const [entry] = entries()
    expect(entry?.chunks.slice(0, 3)).toEqual([chunk('the key is [redacted]'), chunk(''), chunk(', I call')])
    const second = await stage({ agents: staff, tools: [fetchSecret], cassette: { replay: file } })
    const replayed = await second.task('lead', `password=hunter2 and Authorization: Bearer ${'x'.repeat(20)}`)
    expect(replayed.error).toBeNull()
    vi.unstubAllEnvs()
  })
})
