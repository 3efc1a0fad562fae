import type { ErrorRecord } from '../../../errors.ts'
import type { PairVerdict } from '../../../judgement/similarity/clustering.ts'
import { normalizeStatement } from '../../../judgement/similarity/similarity.ts'
import type { Agent } from '../../../kernel/agent.ts'
import type { Context } from '../../../kernel/context.ts'
import { canonicalJson, sha256 } from '../../../kernel/hash.ts'
import { agreedValues } from '../../../requests/read-answer.ts'
import { answerForm } from '../../../requests/request-answer.ts'
import { pairsAnswer, sameMeaningPrompt } from '../prompts/judge-prompt.ts'

/*
 * The judge: a model that decides whether two recommendations mean the same.
 * 1. At most one model request per decision, whatever the number of pairs.
 * 2. A pair is paid for once: verdicts are remembered by content in this collaboration, and identical requests are answered
 *    from earlier runs of the project.
 * 3. A pair without a verdict stays unclear. It never counts as different.
 */

export interface PairJudge {
  agent: Agent
  /** Verdicts of this collaboration, by content. */
  verdicts: Map<string, boolean>
}

export function createPairJudge(agent: Agent): PairJudge {
  return { agent, verdicts: new Map() }
}

export interface UnclearPairs {
  texts: readonly string[]
  unclear: readonly (readonly [number, number])[]
}

export interface JudgedPairs {
  verdicts: PairVerdict[]
  /** Why pairs stayed unclear. */
  problem?: string
  /** The failure of the judge, which resume can retry. */
  error?: ErrorRecord
}

/** Bounds one request: a vote of twenty agents in twenty wordings has 190 pairs. */
const MAX_PAIRS_PER_REQUEST = 60

/** Verdicts that are known without a request. */
export function knownVerdicts({ verdicts }: PairJudge, { texts, unclear }: UnclearPairs): PairVerdict[] {
  return unclear.flatMap(([a, b]) => {
    const same = verdicts.get(contentKey(texts, [a, b]))
    return same === undefined ? [] : [{ a, b, same }]
  })
}

/** Decides the pairs in one model request, except those that were decided before. */
export async function judgePairs(
  context: Context,
  judge: PairJudge,
  { texts, unclear, key }: UnclearPairs & { key: string },
): Promise<JudgedPairs> {
  const keys = unclear.map((pair) => contentKey(texts, pair))
  const open = unclear.filter((_, index) => {
    const pairKey = keys[index] ?? ''
    return !judge.verdicts.has(pairKey) && keys.indexOf(pairKey) === index
  })
  const asked = open.slice(0, MAX_PAIRS_PER_REQUEST)
  const response =
    asked.length === 0 ? { pairs: new Map() } : await requestVerdicts(context, judge, { texts, asked, key })
  if ('problem' in response) return { verdicts: knownVerdicts(judge, { texts, unclear }), ...response }
  asked.forEach((pair, index) => {
    const same = response.pairs.get(index + 1)
    if (same !== undefined) judge.verdicts.set(contentKey(texts, pair), same)
  })
  const verdicts = knownVerdicts(judge, { texts, unclear })
  const missing = unclear.length - verdicts.length
  if (missing === 0) return { verdicts }
  return { verdicts, problem: `the judge gave no verdict on ${missing} of ${unclear.length} pairs of recommendations` }
}

interface VerdictRequest {
  texts: readonly string[]
  asked: readonly (readonly [number, number])[]
  key: string
}

async function requestVerdicts(
  context: Context,
  judge: PairJudge,
  { texts, asked, key }: VerdictRequest,
): Promise<{ pairs: Map<number | null, boolean> } | (Omit<JudgedPairs, 'verdicts'> & { problem: string })> {
  const pairs = pairsAnswer(asked.length)
  const prompt = sameMeaningPrompt(asked.map(([a, b]) => [texts[a] ?? '', texts[b] ?? ''] as const))
  const { instruction } = answerForm(pairs, prompt)
  const { value, error } = await context.request({
    key,
    agent: judge.agent,
    prompt,
    answer: pairs,
    internal: true,
    cache_key: sha256(canonicalJson({ judge: 2, model: judge.agent.model ?? null, instruction })),
    cachedAs: `${key}/known`,
  })
  if (error) return { problem: `the judge failed: ${error.message}`, error }
  const verdicts = value?.pairs.flatMap(({ number, same }) => (same === null ? [] : [[number, same] as const])) ?? []
  // Two answers that contradict each other are no verdict.
  return { pairs: agreedValues(verdicts) }
}

function contentKey(texts: readonly string[], [a, b]: readonly [number, number]): string {
  return [normalizeStatement(texts[a] ?? ''), normalizeStatement(texts[b] ?? '')].sort().join('\n')
}
