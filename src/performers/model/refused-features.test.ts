import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTroupeWithStore, runToEnd, storeOf } from '../../../test/support/test-troupe.ts'
import { TroupeError } from '../../errors.ts'
import type { Model, ModelRequest, RefusedFeature } from '../../kernel/model.ts'
import { defineTool } from '../../tools/define-tool.ts'

/** Refuses the features, in order, as long as a request has them; then answers with a JSON object. */
function refusingModel(...features: RefusedFeature[]): Model & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  const isIn = (request: ModelRequest, { feature }: RefusedFeature) =>
    feature === 'output' ? request.output !== undefined : request.settings[feature as 'temperature'] !== undefined
  return {
    name: 'refusing',
    requests,
    async *stream(request) {
      requests.push(request)
      const refused = features.find((feature) => isIn(request, feature))
      if (refused) throw Object.assign(new TroupeError('model_unsupported', 'no'), { status: 400, refused })
      yield { type: 'text', text: '{"verdict":"yes"}' }
      yield { type: 'finish', stop: 'end' }
    },
  }
}

const verdict = { type: 'object', properties: { verdict: { type: 'string' } }, required: ['verdict'] }
const input = { agent: 'judge', instruction: 'Decide.', output: verdict }
const judge = agent('judge', { temperature: 0.2 })

test('RE11 each refused part is left out, and a refused schema is told in words', async () => {
  const model = refusingModel({ feature: 'temperature' }, { feature: 'output' })
  await using troupe = await createTroupeWithStore({ model, agents: [judge] })
  const { status, output, run_id } = await troupe.run('task', input)
  expect([status, output?.object]).toEqual(['completed', { verdict: 'yes' }])
  expect(model.requests.map((request) => [request.settings.temperature, request.output !== undefined])).toEqual([
    [0.2, true],
    [undefined, true],
    [undefined, false],
  ])
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('match this JSON Schema')
  const errors = (await troupe.events(run_id).all()).filter(({ type }) => type === 'model:error')
  expect(errors.map(({ data }) => (data as { refused?: unknown }).refused)).toEqual([
    { feature: 'temperature' },
    { feature: 'output' },
  ])
})

test('RE11 a server that takes no images gets the results of tools without them', async () => {
  const data = Buffer.from('\x89PNG\r\n', 'latin1').toString('base64')
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    input: z.object({}),
    kind: 'read',
    category: 'perception',
    execute: () => ({
      success: true,
      output: 'A cat.',
      attachments: [{ name: 'image-1', media_type: 'image/png', data }],
    }),
  })
  const requests: ModelRequest[] = []
  const model: Model = {
    name: 'blind',
    async *stream(request) {
      requests.push(structuredClone(request))
      const last = request.messages.at(-1)
      const refused: RefusedFeature = { feature: 'result_files' }
      if (last?.role === 'tool' && last.content.some(({ files }) => files))
        throw Object.assign(new TroupeError('model_unsupported', 'no'), { status: 400, refused })
      if (last?.role === 'tool') yield { type: 'text', text: 'Done.' }
      else yield { type: 'tool-call', id: 'c', name: 'look', input: {} }
      yield { type: 'finish', stop: last?.role === 'tool' ? 'end' : 'tool_calls' }
    },
  }
  await using troupe = await createTroupeWithStore({ model, agents: [agent('judge')], tools: [look] })
  const { status } = await troupe.run('task', { agent: 'judge', instruction: 'Look.' })
  expect([status, requests.length]).toEqual(['completed', 3])
  expect(requests[1]?.messages.at(-1)).toMatchObject({ content: [{ files: [{ media_type: 'image/png', data }] }] })
  const last = requests.at(-1)?.messages.at(-1)
  const [result] = last?.role === 'tool' ? last.content : []
  expect(result).toMatchObject({
    text: expect.stringMatching(/^A cat\.\n\[not shown: image-1; the model .* does not take/),
  })
  expect(result).not.toHaveProperty('files')
})

test('RE11 later requests of the run to the same model are sent without it', async () => {
  const model = refusingModel({ feature: 'temperature' })
  await using troupe = await createTroupeWithStore({ model, agents: [judge, agent('other', { temperature: 0.5 })] })
  await troupe.run('collaborate' as string, {
    task: 'Which?',
    agents: [{ name: 'judge' }, { name: 'other' }],
    mode: 'sequential',
    synthesis: 'merge',
  })
  const [first, ...later] = model.requests.map(({ settings }) => settings.temperature)
  expect([first, new Set(later)]).toEqual([0.2, new Set([undefined])])
  expect(model.requests.some(({ session }) => session.agent === 'other')).toBe(true)
})

test('RE11 a server that refuses what the request does not have is asked once', async () => {
  const model: Model = {
    name: 'confused',
    // biome-ignore lint/correctness/useYield: it fails before its first chunk
    async *stream() {
      throw Object.assign(new TroupeError('model_unsupported', 'no tools'), {
        status: 400,
        refused: { feature: 'tools' },
      })
    },
  }
  await using troupe = await createTroupeWithStore({ model, agents: [agent('judge', { tools: [] })] })
  const { status, error, run_id } = await runToEnd(troupe, 'task', { agent: 'judge', instruction: 'Decide.' })
  expect([status, error?.code]).toEqual(['failed', 'model_unsupported'])
  const events = await storeOf(troupe).events(run_id)
  expect(events.filter(({ type }) => type === 'model:begin')).toHaveLength(1)
  expect(events.find(({ type }) => type === 'model:error')?.data).not.toHaveProperty('refused')
})

/** A window of 1,000 tokens: each word of the messages takes one of them. The judge delegates once. */
function windowModel(): Model & { accepted: string[] } {
  const accepted: string[] = []
  return {
    name: 'small',
    accepted,
    async *stream({ settings, session, messages }) {
      const input = JSON.stringify(messages).split(' ').length
      const { max_output = 0 } = settings
      if (input + max_output > 1000) {
        const refused: RefusedFeature = { feature: 'window', tokens: 1000, input }
        throw Object.assign(new TroupeError('model_unsupported', 'too much'), { status: 400, refused })
      }
      accepted.push(`${session.agent} ${max_output < 100 ? 'short' : 'long'}`)
      const delegates = session.agent === 'judge' && session.turn === 1
      if (delegates)
        yield { type: 'tool-call', id: 'c', name: 'task', input: { agent: 'other', instruction: 'Go on.' } }
      else yield { type: 'text', text: 'Done.' }
      yield { type: 'finish', stop: delegates ? 'tool_calls' : 'end' }
    },
  }
}

test('RE11 a window that is nearly full for one request leaves others their room', async () => {
  const model = windowModel()
  await using troupe = await createTroupeWithStore({ model, agents: [judge, agent('other')] })
  const { status } = await troupe.run('task', { agent: 'judge', instruction: 'word '.repeat(900) })
  expect(status).toBe('completed')
  expect(model.accepted).toEqual(['judge short', 'other long', 'judge short'])
})

test('RE11 a refusal does not count as a failure for the retry policy', async () => {
  const model = refusingModel({ feature: 'temperature' }, { feature: 'output' })
  const failures: number[] = []
  const flaky: Model = {
    name: 'flaky',
    async *stream(request, signal) {
      const isComplete = request.settings.temperature !== undefined || request.output !== undefined
      if (!isComplete && failures.length < 2)
        throw Object.assign(new TroupeError('model_failed', 'busy', { retry: true }), { status: 503 })
      yield* model.stream(request, signal)
    },
  }
  const retryPolicy = {
    ready: () => undefined,
    next: ({ attempts, model: name }: { attempts: number; model: string }) => {
      failures.push(attempts)
      return { model: name, delay_ms: 0 }
    },
  }
  await using troupe = await createTroupeWithStore({ model: flaky, agents: [judge], engine: { retryPolicy } })
  expect((await troupe.run('task', input)).status).toBe('completed')
  expect(failures).toEqual([1, 2])
})
