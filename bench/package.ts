import { parseArgs } from 'node:util'
import { UNKNOWN_PROFILE } from '../src/formats/project-profile/project-profile.ts'
import type { Embedder } from '../src/kernel/embedder.ts'
import type { Message } from '../src/kernel/model.ts'
import { localEmbedder } from '../src/knowledge/local-embedder.ts'
import { estimateTokens } from '../src/patterns/consult/context-package/candidate.ts'
import { composePackage } from '../src/patterns/consult/context-package/compose-package.ts'
import { formatContextPackage } from '../src/patterns/consult/context-package/package-prompt.ts'
import { DEFAULT_BUDGET_TOKENS } from '../src/patterns/consult/context-package/package-settings.ts'
import { createHistory, readFiller } from './package-histories.ts'
import type { PackageScenario } from './package-scenarios.ts'
import { packageScenarios } from './package-scenarios.ts'

/*
 * npm run bench:package [-- TRANSCRIPTS] [--budget N] [--seeds N] [--misses] [--words]: how often a context package holds the fact that answers the question, and how much of
 * the history it sends. TRANSCRIPTS is a folder with recorded coding sessions that the histories are mixed with. --words skips the embedder.
 */

/** The text that a specialist would get. */
type Method = (scenario: PackageScenario, history: readonly Message[]) => Promise<string>

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    budget: { type: 'string', default: String(DEFAULT_BUDGET_TOKENS) },
    seeds: { type: 'string', default: '2' },
    misses: { type: 'boolean', default: false },
    words: { type: 'boolean', default: false },
  },
})
const budget_tokens = Number(values.budget)

function contextPackage(embedder: Embedder | undefined): Method {
  return async ({ name, reason, question, concern, task }, messages) => {
    const context = { current_task: task, ...(concern === undefined ? undefined : { specific_concern: concern }) }
    const built = await composePackage({
      request: { collaboration_id: name, requesting_agent: 'asker', question, context },
      agent: 'specialist',
      reason,
      messages,
      profile: UNKNOWN_PROFILE,
      documents: [],
      similar: [],
      budget_tokens,
      embedder,
    })
    return formatContextPackage(built)
  }
}

/** The newest messages that fit the budget. */
const lastMessages: Method = async ({ question }, messages) => {
  const texts: string[] = [question]
  let tokens = estimateTokens(question)
  for (const message of messages.toReversed()) {
    const text = historyText([message])
    tokens += estimateTokens(text)
    if (tokens > budget_tokens) break
    texts.push(text)
  }
  return texts.join('\n')
}

const wholeHistory: Method = async ({ question }, messages) => `${question}\n${historyText(messages)}`

function historyText(messages: readonly Message[]): string {
  return messages
    .flatMap(({ role, content }) =>
      content.map((part) => {
        if (part.type === 'text' || part.type === 'tool-result' || part.type === 'reasoning')
          return `${role}: ${part.text}`
        return part.type === 'tool-call' ? `${role}: ${part.name} ${inputText(part.input)}` : ''
      }),
    )
    .join('\n')
}

function inputText(input: unknown): string {
  return typeof input === 'object' && input !== null ? Object.values(input).join('\n') : String(input)
}

/** Histories share most of their texts: each is embedded once. */
function rememberVectors(inner: Embedder): Embedder {
  const vectors = new Map<string, Float32Array>()
  return {
    ...inner,
    async embed(texts, signal) {
      const missing = [...new Set(texts)].filter((text) => !vectors.has(text))
      const computed = missing.length === 0 ? [] : await inner.embed(missing, signal)
      for (const [index, text] of missing.entries()) vectors.set(text, computed[index] ?? new Float32Array())
      return texts.map((text) => vectors.get(text) ?? new Float32Array())
    },
    close: async () => inner.close?.(),
  }
}

const embedder = values.words ? undefined : rememberVectors(localEmbedder())
const methods: Readonly<Record<string, Method>> = {
  'whole history': wholeHistory,
  'last messages, same budget': lastMessages,
  'package, words only': contextPackage(undefined),
  ...(embedder ? { 'package, as shipped': contextPackage(embedder) } : undefined),
}
const filler = readFiller(positionals[0])
const seeds = Number(values.seeds)
const histories = packageScenarios.flatMap((scenario, index) =>
  Array.from({ length: seeds }, (_, seed) => ({
    scenario,
    half: index % 2 === 0 ? ('tuning' as const) : ('held out' as const),
    history: createHistory(scenario, packageScenarios, { filler, seed: 1000 * (seed + 1) + index }),
  })),
)
const meanTokens =
  histories.reduce((sum, { history }) => sum + estimateTokens(historyText(history)), 0) / histories.length
console.log(
  `${packageScenarios.length} scenarios, ${histories.length} histories of ${Math.round(meanTokens)} tokens on average` +
    `${filler.recorded.length > 0 ? `, mixed with ${filler.recorded.length} recorded messages` : ''}; budget ${budget_tokens}`,
)
console.log(
  `${''.padEnd(28)}${'tuning: recall'.padStart(16)}${'tokens'.padStart(9)}${'held out: recall'.padStart(18)}${'tokens'.padStart(9)}${'largest share'.padStart(15)}`,
)
for (const [name, method] of Object.entries(methods)) {
  const result = { tuning: { found: 0, count: 0, share: 0 }, 'held out': { found: 0, count: 0, share: 0 } }
  let largest = 0
  for (const { scenario, half, history } of histories) {
    const text = await method(scenario, history)
    const share = estimateTokens(text) / estimateTokens(historyText(history))
    const isFound = text.includes(scenario.answer)
    result[half].count++
    result[half].share += share
    result[half].found += Number(isFound)
    largest = Math.max(largest, share)
    if (!isFound && values.misses && name.startsWith('package'))
      console.log(`  ${name}: ${scenario.name} (${half}) not found`)
  }
  const percent = (value: number) => `${(100 * value).toFixed(1)} %`
  const columns = ([half, width]: readonly ['tuning' | 'held out', number]) => {
    const { found, count, share } = result[half]
    return percent(found / count).padStart(width) + percent(share / count).padStart(9)
  }
  console.log(
    `${name.padEnd(28)}${columns(['tuning', 16])}${columns(['held out', 18])}${percent(largest).padStart(15)}`,
  )
}
await embedder?.close?.()
