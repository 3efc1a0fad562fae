import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Agent, TroupeOptions } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { noopTool } from '../support/collaboration.ts'
import { runToEnd } from '../support/test-troupe.ts'
import { MOCK_API_KEY, startServer } from './mock-provider.ts'
import { PROTOCOLS } from './provider-harness.ts'
import type { ProviderResponse } from './provider-responses.ts'
import { RESPONSE_ENCODERS } from './provider-responses.ts'

type Body = Record<string, unknown> & { generationConfig?: Record<string, unknown>; toolConfig?: unknown }

interface Server {
  /** The model, as users name it. */
  model: string
  bodies: Body[]
}

/** A server in the protocol of a provider; the environment leads to it by the name of the model. */
async function startDouble(
  protocol: string,
  respond: (body: Body, turn: number) => ProviderResponse | { refuse: string } = () => ({ text: 'Paris.' }),
): Promise<Server> {
  const bodies: Body[] = []
  const server = await startServer((_request, response, text) => {
    const body = JSON.parse(text) as Body
    bodies.push(body)
    const answer = respond(body, bodies.length)
    if ('refuse' in answer) {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { type: 'invalid_request_error', message: answer.refuse } }))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(RESPONSE_ENCODERS[protocol]?.(answer))
  })
  onTestFinished(server.close)
  const { model, variables } = PROTOCOLS[protocol] as NonNullable<(typeof PROTOCOLS)[string]>
  const before = { ...process.env }
  Object.assign(process.env, { [variables.key]: MOCK_API_KEY, [variables.base]: server.url })
  onTestFinished(() => {
    for (const name of [variables.key, variables.base]) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  })
  return { model, bodies }
}

async function runTask(options: TroupeOptions, agent: Partial<Agent> = {}): Promise<void> {
  const asker: Agent = { name: 'asker', description: '', instructions: 'Answer.', ...agent }
  const troupe = await createTroupe({
    store: 'memory',
    config: false,
    agents: [asker],
    tools: [noopTool('look_up', 'read')],
    ...options,
  })
  onTestFinished(() => troupe.close())
  const { status, error } = await runToEnd(troupe, 'task', {
    agent: 'asker',
    instruction: 'What is the capital of France?',
  })
  expect(error).toBeNull()
  expect(status).toBe('completed')
}

const SETTINGS = { top_p: 0.9, seed: 7, tool_choice: 'required' } as const

/** What each protocol calls the settings; `undefined` where it has none. */
const ON_THE_WIRE: Readonly<Record<string, (body: Body) => Record<string, unknown>>> = {
  Anthropic: ({ top_p, tool_choice }) => ({ top_p, tool_choice }),
  'OpenAI chat': ({ top_p, seed, tool_choice }) => ({ top_p, seed, tool_choice }),
  'OpenAI responses': ({ top_p, tool_choice }) => ({ top_p, tool_choice }),
  Gemini: ({ generationConfig, toolConfig }) => ({
    top_p: generationConfig?.topP,
    seed: generationConfig?.seed,
    tool_choice: toolConfig,
  }),
  'OpenAI-compatible': ({ top_p, seed, tool_choice }) => ({ top_p, seed, tool_choice }),
}

const EXPECTED: Readonly<Record<string, object>> = {
  Anthropic: { top_p: 0.9, tool_choice: { type: 'any' } },
  'OpenAI chat': { top_p: 0.9, seed: 7, tool_choice: 'required' },
  'OpenAI responses': { top_p: 0.9, tool_choice: 'required' },
  Gemini: { top_p: 0.9, seed: 7, tool_choice: { functionCallingConfig: { mode: 'ANY' } } },
  'OpenAI-compatible': { top_p: 0.9, seed: 7, tool_choice: 'required' },
}

const OPTIONS: Readonly<Record<string, { provider_options: Record<string, Record<string, unknown>>; sent: object }>> = {
  Anthropic: { provider_options: { anthropic: { metadata: { userId: 'u1' } } }, sent: { metadata: { user_id: 'u1' } } },
  'OpenAI chat': { provider_options: { openai: { user: 'u1' } }, sent: { user: 'u1' } },
  'OpenAI responses': { provider_options: { openai: { user: 'u1' } }, sent: { user: 'u1' } },
  Gemini: { provider_options: { google: { cachedContent: 'c/1' } }, sent: { cachedContent: 'c/1' } },
  'OpenAI-compatible': { provider_options: { compatible: { mirostat: 2 } }, sent: { mirostat: 2 } },
}

describe.each(Object.keys(PROTOCOLS))('%s', (protocol) => {
  test('MO78 settings of a model by name go over the wire', async () => {
    const { model, bodies } = await startDouble(protocol)
    const { provider_options, sent } = OPTIONS[protocol] as NonNullable<(typeof OPTIONS)[string]>
    await runTask({ model, models: { settings: { [model]: { ...SETTINGS, provider_options } } } })
    expect(ON_THE_WIRE[protocol]?.(bodies[0] as Body)).toEqual(EXPECTED[protocol])
    expect(bodies[0]).toMatchObject(sent)
  })

  test('MO78 settings of an agent take precedence over those of its provider', async () => {
    const { model, bodies } = await startDouble(protocol)
    const provider = model.split('/')[0] ?? ''
    const settings = { [provider]: { top_p: 0.1, tool_choice: 'required' as const } }
    await runTask({ model, models: { settings } }, { top_p: 0.9, seed: 7, tool_choice: { tool: 'look_up' } })
    const { tool_choice, ...others } = ON_THE_WIRE[protocol]?.(bodies[0] as Body) ?? {}
    expect(others).toEqual({ ...EXPECTED[protocol], tool_choice: undefined })
    expect(JSON.stringify(tool_choice)).toContain('look_up')
  })
})

test('MO76 a model that has to call a tool may answer once it has called one', async () => {
  const { model, bodies } = await startDouble('OpenAI chat', (_body, turn) =>
    turn === 1 ? { call: { name: 'look_up', arguments: '{}' } } : { text: 'Paris.' },
  )
  await runTask({ model }, { tool_choice: 'required' })
  expect(bodies.map(({ tool_choice }) => tool_choice)).toEqual(['required', 'auto'])
})

test.each([
  { name: 'top_p', refuse: 'Unsupported parameter: top_p is not supported with this model.' },
  { name: 'seed', refuse: 'Extra inputs are not permitted: seed' },
  { name: 'tool_choice', refuse: 'tool_choice "required" is not supported by this server' },
])('MO72 a refused $name is left out, and nothing else', async ({ name, refuse }) => {
  const isSent = (body: Body) => (name === 'tool_choice' ? body.tool_choice === 'required' : body[name] !== undefined)
  const { model, bodies } = await startDouble('OpenAI-compatible', (body) =>
    isSent(body) ? { refuse } : { text: 'Paris.' },
  )
  await runTask({ model, models: { settings: { [model]: SETTINGS } } })
  const sent = bodies.map(({ top_p, seed, tool_choice }) => ({ top_p, seed, tool_choice }))
  const all = { top_p: 0.9, seed: 7, tool_choice: 'required' }
  expect(sent).toEqual([all, { ...all, [name]: name === 'tool_choice' ? 'auto' : undefined }])
})

test('MO77 invalid settings of a model are rejected with the name of the setting', async () => {
  const create = (settings: object) =>
    createTroupe({ store: 'memory', config: false, models: { settings: settings as never } })
  await expect(create({ openai: { topP: 1 } })).rejects.toThrow("`models.settings`: topP of 'openai' is unknown")
  await expect(create({ openai: { top_p: 2 } })).rejects.toThrow("top_p of 'openai' is not a number from 0 to 1")
  await expect(create({ openai: { tool_choice: 'always' } })).rejects.toThrow('is not auto, required, none or')
})

test('MO78 a recording is found with the same settings, and not with others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-settings-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'run.cassette')
  const { model, bodies } = await startDouble('OpenAI chat')
  const settings = (top_p: number) => ({ model, models: { settings: { [model]: { top_p } } } })
  await runTask({ ...settings(0.5), cassette: { record: file } })
  await runTask({ ...settings(0.5), cassette: { replay: file } })
  expect(bodies).toHaveLength(1)
  await expect(runTask({ ...settings(0.6), cassette: { replay: file } })).rejects.toThrow()
})
