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
import { INSTRUCTION, INSTRUCTIONS } from './plan.ts'
import type { ResponseEncoder } from './provider-responses.ts'
import { encodeAnthropic, encodeChatCompletions, streamingFetch } from './provider-responses.ts'
import type { Contender } from './rounds.ts'
import { findFigure, measureMs, ratiosTo, runRounds } from './rounds.ts'

/*
 * One streamed answer of 500 pieces. Each contender is given the same bytes by the same package: called by hand, through
 * the model port, and as a session of a run with budget, journal and deltas for those who watch.
 */

const PIECES = Array.from({ length: 500 }, (_, index) => `word ${index} `)
const ANSWER = PIECES.join('')
const KEY = 'none'
const DIRECT = 'doStream, by hand'
const NEVER_ABORTED = new AbortController().signal

interface Provider {
  name: string
  model: string
  variable: string
  encode: ResponseEncoder
  make(fetch: typeof globalThis.fetch): LanguageModelV4
}

const PROVIDERS: readonly Provider[] = [
  {
    name: 'Anthropic',
    model: 'anthropic/claude-haiku-4-5',
    variable: 'ANTHROPIC_API_KEY',
    encode: encodeAnthropic,
    make: (fetch) => createAnthropic({ apiKey: KEY, fetch })('claude-haiku-4-5'),
  },
  {
    name: 'OpenAI chat',
    model: 'openai-chat/gpt-4o',
    variable: 'OPENAI_API_KEY',
    encode: encodeChatCompletions,
    make: (fetch) => createOpenAI({ apiKey: KEY, fetch }).chat('gpt-4o'),
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
  const asked = {
    key: '',
    model: model.name,
    system: INSTRUCTIONS,
    tools: [],
    settings: { max_output: 16_384 },
    session,
  }
  let text = ''
  for await (const chunk of model.stream({ ...asked, messages: [userMessage(INSTRUCTION)] }, NEVER_ABORTED)) {
    if (chunk.type === 'text') text += chunk.text
  }
  return text
}

function repeatedContender(name: string, count: number, talk: () => Promise<string>): Contender {
  return {
    name,
    async round() {
      const ms = await measureMs(async () => {
        for (let index = 0; index < count; index++) assertEqual(await talk(), ANSWER, name)
      })
      return (ms * 1000) / count
    },
  }
}

function troupeContender(model: Model, count: number, where: { store: StoreName; folder: string }): Contender {
  return {
    name: where.store === 'memory' ? 'Troupe in memory' : 'Troupe on SQLite',
    async round() {
      const stage = openBenchEngine({ store: await openStore(where.store, where.folder), model })
      const agent = benchAgent([])
      const ms = await measureMs(() =>
        stage.run(async (context) => {
          for (let index = 0; index < count; index++) {
            const { text } = await context.perform(agent, { instruction: INSTRUCTION }, { key: `s/${index}` })
            assertEqual(text, ANSWER, 'the answer')
          }
        }),
      )
      await stage.close()
      return (ms * 1000) / count
    },
  }
}

async function measure(provider: Provider, { quick, folder }: BenchOptions): Promise<Line[]> {
  const count = quick ? 10 : 40
  const fetch = streamingFetch(provider.encode(PIECES))
  const bare = provider.make(fetch)
  const model = await loadProviderModel(provider.model, { env: { [provider.variable]: KEY }, fetch })
  const contenders = [
    repeatedContender(DIRECT, count, () => readDirectly(bare)),
    repeatedContender('the model port', count, () => readThroughPort(model)),
    troupeContender(model, count, { store: 'memory', folder }),
    troupeContender(model, count, { store: 'sqlite', folder }),
  ]
  const figures = await runRounds(contenders, { rounds: quick ? 5 : 15, warmups: 2 })
  return [...figures.keys()].map((name): Line => {
    const times = ratiosTo(figures, name, [DIRECT])
    const ratio = times[DIRECT]
    return {
      what: `${provider.name}: ${name}`,
      figure: findFigure(figures, name),
      unit: 'µs',
      times,
      ...(ratio === undefined ? undefined : { aim: atMost(ratio, 1.1, '×') }),
    }
  })
}

export const providerOverhead: Bench = {
  name: 'provider',
  title: 'A streamed answer of 500 pieces through a provider package: by hand, and as Troupe calls it',
  async run(options) {
    const lines: Line[] = []
    for (const provider of PROVIDERS) lines.push(...(await measure(provider, options)))
    return lines
  },
}
