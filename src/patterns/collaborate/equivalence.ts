import type { ErrorRecord } from '../../errors.ts'
import { toTroupeError } from '../../errors.ts'
import { clusterTexts } from '../../judgement/similarity/clustering.ts'
import {
  contentStemSet,
  cosineSimilarity,
  diceCoefficient,
  findContradiction,
} from '../../judgement/similarity/similarity.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import * as z from '../../schema/zod.ts'
import { runInternalCall } from './internal-call.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import { sameMeaningPrompt } from './prompts.ts'

/** Groups of equivalent recommendations, and the method that found them. */
export interface Equivalence {
  groups: number[][]
  method: 'text' | 'embeddings' | 'model'
  /** Undecided pairs; they count as different. */
  unclear: [number, number][]
  /** The reason if a method could not be used. */
  note?: string
  /** The limit of the run that stopped the judge; resume retries it. */
  limitError?: ErrorRecord
}

interface SimilarityMatrix {
  by: string | null
  why?: string
  threshold: number
  scores: number[][]
}

export interface EquivalenceOptions {
  key: string
  /** The agent that decides unclear pairs; without it they count as different. */
  judge?: Agent
  /** The wave of each text. */
  wave?: (index: number) => number
}

/** Groups by text, then by embeddings; the judge decides all remaining unclear pairs in one model request. */
export async function groupEquivalent(
  context: Context,
  texts: readonly string[],
  { key, judge, wave = () => 0 }: EquivalenceOptions,
): Promise<Equivalence> {
  const byText = clusterTexts(texts, { wave })
  if (byText.groups.length < 2) return { groups: byText.groups, method: 'text', unclear: [] }
  const matrix = await loadSimilarity(context, texts, key)
  const options = { wave, ...(matrix.by === null ? undefined : toSimilarityOptions(matrix)) }
  const { groups, unclear } = matrix.by === null ? byText : clusterTexts(texts, options)
  const method = matrix.by === null ? 'text' : 'embeddings'
  const note = matrix.why === undefined ? undefined : { note: matrix.why }
  if (unclear.length === 0 || !judge) return { groups, method, unclear, ...note }
  const verdicts = await judgeUnclearPairs(context, { texts, unclear, judge, key: `${key}/judge` })
  if (!Array.isArray(verdicts)) {
    const { reason, limitError } = verdicts
    const unjudged = { groups, method, unclear, note: `unclear pairs count as different: ${reason}` } as const
    return limitError ? { ...unjudged, limitError } : unjudged
  }
  return { ...clusterTexts(texts, { ...options, verdicts }), method: 'model', ...note }
}

function loadSimilarity(context: Context, texts: readonly string[], key: string): Promise<SimilarityMatrix> {
  const compute = (signal: AbortSignal) => computeSimilarity(context.embedder, texts, signal)
  return context.step<SimilarityMatrix>(`${key}/similar`, compute, { input: texts })
}

export type EquivalenceVerdict = 'same' | 'different' | 'unclear'

/** Compares each text with the reference, independently of the other texts. */
export async function compareToReference(
  context: Context,
  [reference, ...texts]: readonly [string, ...string[]],
  { key, judge }: Pick<EquivalenceOptions, 'key' | 'judge'>,
): Promise<EquivalenceVerdict[]> {
  const allTexts = [reference, ...texts]
  const matrix = await loadSimilarity(context, allTexts, key)
  const verdicts = texts.map((text, index) => {
    const score = matrix.scores[0]?.[index + 1] ?? 0
    const options = matrix.by === null ? {} : { similarity: () => score, threshold: matrix.threshold }
    const { groups, unclear } = clusterTexts([reference, text], options)
    if (groups.length === 1) return 'same'
    return unclear.length > 0 || (matrix.by === null && sharesWords(reference, text)) ? 'unclear' : 'different'
  })
  const unclear = verdicts.flatMap((verdict, index) => (verdict === 'unclear' ? [[0, index + 1] as const] : []))
  if (unclear.length === 0 || !judge) return verdicts
  const judged = await judgeUnclearPairs(context, { texts: allTexts, unclear, judge, key: `${key}/judge` })
  const sameByIndex = new Map(Array.isArray(judged) ? judged.map(({ b, same }) => [b, same] as const) : [])
  return verdicts.map((verdict, index) => {
    const same = verdict === 'unclear' ? sameByIndex.get(index + 1) : undefined
    return same === undefined ? verdict : same ? 'same' : 'different'
  })
}

/** Without embeddings one common word makes a pair unclear: a wrong `different` would mark an agent as wrong. */
function sharesWords(one: string, other: string): boolean {
  return findContradiction(one, other) === undefined && diceCoefficient(contentStemSet(one), contentStemSet(other)) > 0
}

function toSimilarityOptions({ scores, threshold }: SimilarityMatrix) {
  return { similarity: (a: number, b: number) => scores[a]?.[b] ?? 0, threshold }
}

async function computeSimilarity(
  embedder: Context['embedder'],
  texts: readonly string[],
  signal: AbortSignal,
): Promise<SimilarityMatrix> {
  const unavailable = { by: null, threshold: 1, scores: [] }
  if (!embedder)
    return { ...unavailable, why: 'no embedder is available, so recommendations were compared as text only' }
  try {
    const vectors = await embedder.embed(texts, signal)
    const scores = vectors.map((one) =>
      vectors.map((other) => Math.round(cosineSimilarity(one, other) * 10_000) / 10_000),
    )
    return { by: embedder.id, threshold: embedder.threshold, scores }
  } catch (thrown) {
    signal.throwIfAborted()
    return {
      ...unavailable,
      why: `the embedder failed, so recommendations were compared as text: ${toTroupeError(thrown).message}`,
    }
  }
}

const pairVerdictsSchema = z.object({ pairs: z.array(z.object({ number: z.int(), same: z.boolean() })) })

interface UnclearPairs {
  texts: readonly string[]
  unclear: readonly (readonly [number, number])[]
  judge: Agent
  key: string
}

type JudgedPairs = { a: number; b: number; same: boolean }[] | { reason: string; limitError?: ErrorRecord }

async function judgeUnclearPairs(context: Context, { texts, unclear, judge, key }: UnclearPairs): Promise<JudgedPairs> {
  const pairs = unclear.map(([a, b]) => [texts[a] ?? '', texts[b] ?? ''] as const)
  const request = { instruction: sameMeaningPrompt(pairs), output: pairVerdictsSchema, internal: true as const }
  const session = await runInternalCall(context, { agent: judge, request, key })
  if ('failure' in session) return { reason: session.failure }
  const { error } = session
  if (error && isOutOfBudget({ error })) return { reason: error.message, limitError: error }
  if (!session.object) return { reason: error?.message ?? 'no verdict' }
  const { pairs: verdicts } = session.object as z.output<typeof pairVerdictsSchema>
  return unclear.flatMap(([a, b], index) => {
    const verdict = verdicts.find(({ number }) => number === index + 1)
    return verdict ? [{ a, b, same: verdict.same }] : []
  })
}
