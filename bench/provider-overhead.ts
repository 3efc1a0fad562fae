import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Model } from '../src/kernel/model.ts'
import { userMessage } from '../src/kernel/model.ts'
import { loadProviderModel } from '../src/models/providers.ts'
import type { Bench, BenchOptions, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import type { StoreName } from './bench-engine.ts'
import { benchAgent, openBenchEngine, openStore } from './bench-engine.ts'
import { sequentialContender } from './conversation-rounds.ts'
import { INSTRUCTION, INSTRUCTIONS } from './plan.ts'
import type { ResponseEncoder } from './provider-responses.ts'
import { encodeAnthropic, encodeChatCompletions, streamingFetch } from './provider-responses.ts'
import type { Contender } from './rounds.ts'
import { findFigure, measureMs, ratiosTo, runRounds } from './rounds.ts'

/*
 * One streamed response of 500 chunks. Each contender gets the same bytes from the same provider package: called directly,
 * through the model port, and in a session with budget, journal and streaming.
 */

const TEXT_CHUNKS = Array.from({ length: 500 }, (_, index) => `word ${index} `)
const RESPONSE = TEXT_CHUNKS.join('')
const KEY = 'none'
const DIRECT = 'doStream, called directly'
const NEVER_ABORTED = new AbortController().signal

interface Provider {
  name: string
  model: string
  variable: string
  encode: ResponseEncoder
  createModel(fetch: typeof globalThis.fetch): LanguageModelV4
}

const PROVIDERS: readonly Provider[] = [
  {
    name: 'Anthropic',
    model: 'anthropic/claude-haiku-4-5',
    variable: 'ANTHROPIC_API_KEY',
    encode: encodeAnthropic,
    createModel: (fetch) => createAnthropic({ apiKey: KEY, fetch })('claude-haiku-4-5'),
  },
  {
    name: 'OpenAI chat',
    model: 'openai-chat/gpt-4o',
    variable: 'OPENAI_API_KEY',
    encode: encodeChatCompletions,
    createModel: (fetch) => createOpenAI({ apiKey: KEY, fetch }).chat('gpt-4o'),
  },
]

async function readDirectly(model: LanguageModelV4): Promise<string> {
  const { stream } = await model.doStream({
    prompt: [
      { role: 'system', content: INSTRUCTIONS },
      { role: 'user', content: [{ type: 'text', text: INSTRUCTION }] },
    ],
    maxOutputTokens: 16_384,
    abortSignal: NEVER_ABORTED,
    includeRawChunks: false,
  })
  let text = ''
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    if (value.type === 'text-delta') text += value.delta
  }
}

async function readThroughPort(model: Model): Promise<string> {
  const session = { run_id: '', session_id: '', agent: 'bench', turn: 1, marks: [] }
  const request = {
    key: '',
    model: model.name,
    system: INSTRUCTIONS,
    tools: [],
    settings: { max_output: 16_384 },
    session,
  }
  let text = ''
  for await (const chunk of model.stream({ ...request, messages: [userMessage(INSTRUCTION)] }, NEVER_ABORTED)) {
    if (chunk.type === 'text') text += chunk.text
  }
  return text
}

function troupeContender(model: Model, count: number, options: { store: StoreName; folder: string }): Contender {
  return {
    name: options.store === 'memory' ? 'Troupe in memory' : 'Troupe on SQLite',
    async round() {
      const benchEngine = openBenchEngine({ store: await openStore(options.store, options.folder), model })
      const agent = benchAgent([])
      const ms = await measureMs(() =>
        benchEngine.run(async (context) => {
          for (let index = 0; index < count; index++) {
            const { text } = await context.perform(agent, { instruction: INSTRUCTION }, { key: `s/${index}` })
            assertEqual(text, RESPONSE, 'the response')
          }
        }),
      )
      await benchEngine.close()
      return (ms * 1000) / count
    },
  }
}

async function measure(provider: Provider, { quick, folder }: BenchOptions): Promise<Line[]> {
  const count = quick ? 10 : 40
  const fetch = streamingFetch(provider.encode(TEXT_CHUNKS))
  const direct = provider.createModel(fetch)
  const model = await loadProviderModel(provider.model, { env: { [provider.variable]: KEY }, fetch })
  const contenders = [
    sequentialContender(DIRECT, { count, expected: RESPONSE, respond: () => readDirectly(direct) }),
    sequentialContender('the model port', { count, expected: RESPONSE, respond: () => readThroughPort(model) }),
    troupeContender(model, count, { store: 'memory', folder }),
    troupeContender(model, count, { store: 'sqlite', folder }),
  ]
  const figures = await runRounds(contenders, { rounds: quick ? 5 : 15, warmups: 2 })
  return [...figures.keys()].map((name): Line => {
    const ratios = ratiosTo(figures, name, [DIRECT])
    const ratio = ratios[DIRECT]
    return {
      label: `${provider.name}: ${name}`,
      figure: findFigure(figures, name),
      unit: 'µs',
      ratios,
      ...(ratio === undefined ? undefined : { target: atMost(ratio, 1.1, '×') }),
    }
  })
}

export const providerOverhead: Bench = {
  name: 'provider',
  title: 'A streamed response of 500 chunks through a provider package: called directly, and through Troupe',
  async run(options) {
    const lines: Line[] = []
    for (const provider of PROVIDERS) lines.push(...(await measure(provider, options)))
    return lines
  },
}
