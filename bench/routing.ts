import { parseArgs } from 'node:util'
import type { Embedder } from '../src/kernel/embedder.ts'
import { localEmbedder } from '../src/knowledge/local-embedder.ts'
import type { LocalMatch } from '../src/patterns/consult/routing/local-match.ts'
import { DEFAULT_MATCH_THRESHOLD, matchScenarios } from '../src/patterns/consult/routing/local-match.ts'
import { resolveScenarios } from '../src/patterns/consult/routing/scenarios.ts'
import type { RoutingQuestion } from './routing-questions.ts'
import { readRoutingQuestions } from './routing-questions.ts'

/*
 * npm run bench:routing [-- --verbose]: how often the local match of a consultation (`consult.routing.local_match`) chooses a specialist that a
 * person would accept, and how many questions it decides. Keywords, weights and threshold were chosen on the first half.
 */

const THRESHOLDS = [0, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8]

const { verbose } = parseArgs({ options: { verbose: { type: 'boolean' } } }).values
const questions = readRoutingQuestions()
const halves = [0, 1].map((parity) => questions.filter((_, index) => index % 2 === parity))
const scenarios = resolveScenarios()
const embedder = localEmbedder()
const { signal } = new AbortController()

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function primaryOf(match: LocalMatch | undefined): string | undefined {
  return scenarios.find(({ name }) => name === match?.scenario)?.primary
}

type MatchedQuestion = RoutingQuestion & { match: LocalMatch | undefined }

function decidedShare(matched: readonly MatchedQuestion[], threshold: number): string {
  const decided = matched.filter(({ match }) => match !== undefined && match.score >= threshold)
  const right = decided.filter(({ agents, match }) => agents.includes(primaryOf(match) ?? ''))
  const precision =
    decided.length === 0 ? '   –  ' : `${((100 * right.length) / decided.length).toFixed(1).padStart(5)} %`
  const coverage = `${((100 * decided.length) / matched.length).toFixed(1).padStart(5)} %`
  return `${coverage} decided, ${precision} right (${right.length} of ${decided.length})`.padEnd(46)
}

async function matchAll(list: readonly RoutingQuestion[], used: Embedder | undefined): Promise<MatchedQuestion[]> {
  const matched: MatchedQuestion[] = []
  for (const each of list) {
    const match = await matchScenarios(each.question, scenarios, { embedder: used, signal })
    matched.push({ ...each, match })
  }
  return matched
}

const outside = questions.filter(({ agents }) => agents.length === 0).length
print(
  `${questions.length} questions, ${outside} of them outside of all fields; default threshold ${DEFAULT_MATCH_THRESHOLD}`,
)
for (const [label, used] of [['keywords only', undefined] as const, ['keywords and meaning', embedder] as const]) {
  const [first = [], heldOut = []] = await Promise.all(halves.map((half) => matchAll(half, used)))
  print(`\n${label.padEnd(22)}${'first half'.padEnd(46)}held-out half`)
  for (const threshold of THRESHOLDS) {
    const mark = threshold === DEFAULT_MATCH_THRESHOLD ? '→ ' : '  '
    print(
      `${mark}from ${threshold.toFixed(2).padEnd(13)}${decidedShare(first, threshold)}${decidedShare(heldOut, threshold)}`.trimEnd(),
    )
  }
  if (!verbose) continue
  for (const { question, scenario, agents, match } of [...first, ...heldOut]) {
    if (!match || match.score < DEFAULT_MATCH_THRESHOLD || agents.includes(primaryOf(match) ?? '')) continue
    print(`  wrong: ${question} (${scenario}) → ${match.scenario} ${match.score} (${match.keywords.join(', ')})`)
  }
}
await embedder.close?.()
