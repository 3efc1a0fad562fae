import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Model } from '../src/kernel/model.ts'
import { userText } from '../src/kernel/model.ts'
import { providerModel } from '../src/models/providers.ts'
import type { Bench, BenchOptions, Line } from './bench.ts'
import { atMost, mustEqual } from './bench.ts'
import { INSTRUCTION, INSTRUCTIONS } from './plan.ts'
import type { Wire } from './provider-wire.ts'
import { anthropicWire, chatWire, streaming } from './provider-wire.ts'
import type { Contender } from './rounds.ts'
import { clocked, figureFor, takeTurns, timesOf } from './rounds.ts'
import type { StoreName } from './stage.ts'
import { agentWith, openStage, openStore } from './stage.ts'

/*
 * One streamed answer of 500 pieces. Each contender is given the same bytes by the same package: called by hand, through
 * the model port, and as a session of a run with budget, journal and deltas for those who watch.
 */

const PIECES = Array.from({ length: 500 }, (_, index) => `word ${index} `)
const ANSWER = PIECES.join('')
const KEY = 'none'
const DIRECT = 'doStream, by hand'
const NOBODY = new AbortController().signal

interface Provider {
  name: string
  model: string
  variable: string
  wire: Wire
  make(fetch: typeof globalThis.fetch): LanguageModelV4
}

const PROVIDERS: readonly Provider[] = [
  {
    name: 'Anthropic',
    model: 'anthropic/claude-haiku-4-5',
    variable: 'ANTHROPIC_API_KEY',
    wire: anthropicWire,
    make: (fetch) => createAnthropic({ apiKey: KEY, fetch })('claude-haiku-4-5'),
  },
  {
    name: 'OpenAI chat',
    model: 'openai-chat/gpt-4o',
    variable: 'OPENAI_API_KEY',
    wire: chatWire,
    make: (fetch) => createOpenAI({ apiKey: KEY, fetch }).chat('gpt-4o'),
  },
]

async function byHand(model: LanguageModelV4): Promise<string> {
  const { stream } = await model.doStream({
    prompt: [
      { role: 'system', content: INSTRUCTIONS },
      { role: 'user', content: [{ type: 'text', text: INSTRUCTION }] },
    ],
    maxOutputTokens: 16_384,
    abortSignal: NOBODY,
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

async function throughThePort(model: Model): Promise<string> {
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
  for await (const chunk of model.stream({ ...asked, messages: [userText(INSTRUCTION)] }, NOBODY)) {
    if (chunk.type === 'text') text += chunk.text
  }
  return text
}

function repeated(name: string, count: number, talk: () => Promise<string>): Contender {
  return {
    name,
    async round() {
      const ms = await clocked(async () => {
        for (let index = 0; index < count; index++) mustEqual(await talk(), ANSWER, name)
      })
      return (ms * 1000) / count
    },
  }
}

function troupe(model: Model, count: number, where: { store: StoreName; folder: string }): Contender {
  return {
    name: where.store === 'memory' ? 'Troupe in memory' : 'Troupe on SQLite',
    async round() {
      const stage = openStage({ store: await openStore(where.store, where.folder), model })
      const agent = agentWith([])
      const ms = await clocked(() =>
        stage.play(async (context) => {
          for (let index = 0; index < count; index++) {
            const { text } = await context.perform(agent, { instruction: INSTRUCTION }, { key: `s/${index}` })
            mustEqual(text, ANSWER, 'the answer')
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
  const fetch = streaming(provider.wire(PIECES))
  const bare = provider.make(fetch)
  const model = await providerModel(provider.model, { env: { [provider.variable]: KEY }, fetch })
  const contenders = [
    repeated(DIRECT, count, () => byHand(bare)),
    repeated('the model port', count, () => throughThePort(model)),
    troupe(model, count, { store: 'memory', folder }),
    troupe(model, count, { store: 'sqlite', folder }),
  ]
  const figures = await takeTurns(contenders, { rounds: quick ? 5 : 15, warmups: 2 })
  return [...figures.keys()].map((name): Line => {
    const times = timesOf(figures, name, [DIRECT])
    const ratio = times[DIRECT]
    return {
      what: `${provider.name}: ${name}`,
      figure: figureFor(figures, name),
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
