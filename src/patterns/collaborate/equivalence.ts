import { z } from 'zod'
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
import { runInternalCall } from './internal-call.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import { sameMeaningPrompt } from './prompts.ts'

/** Which recommendations come to the same, and how that was found out. */
export interface Equivalence {
  groups: number[][]
  method: 'text' | 'embeddings' | 'model'
  /** Pairs of which nobody has said whether they come to the same; they count as different. */
  unclear: [number, number][]
  /** What could not be looked at, and why. */
  note?: string
  /** A limit of the run that kept the model from being asked: a resumed one tries again. */
  limitError?: ErrorRecord
}

interface SimilarityMatrix {
  by: string | null
  why?: string
  threshold: number
  /** Row by row. */
  scores: number[][]
}

export interface EquivalenceOptions {
  key: string
  /** Who settles pairs that neither text nor vectors can; without it they count as different. */
  judge?: Agent
  /** In which wave each text came. */
  wave?: (index: number) => number
}

/** Groups by text first, then by meaning, and asks a model, once, only for what is still unclear. */
export async function groupEquivalent(
  context: Context,
  texts: readonly string[],
  { key, judge, wave = () => 0 }: EquivalenceOptions,
): Promise<Equivalence> {
  const plain = clusterTexts(texts, { wave })
  if (plain.groups.length < 2) return { groups: plain.groups, method: 'text', unclear: [] }
  const look = (signal: AbortSignal) => computeSimilarity(context.embedder, texts, signal)
  const similar = await context.step<SimilarityMatrix>(`${key}/similar`, look, { input: texts })
  const known = { wave, ...(similar.by === null ? undefined : toSimilarityOptions(similar)) }
  const near = similar.by === null ? plain : clusterTexts(texts, known)
  const method = similar.by === null ? 'text' : 'embeddings'
  const note = similar.why === undefined ? undefined : { note: similar.why }
  const { groups, unclear } = near
  if (unclear.length === 0 || !judge) return { groups, method, unclear, ...note }
  const verdicts = await judgeUnclearPairs(context, { texts, unclear, judge, key: `${key}/judge` })
  if (!Array.isArray(verdicts)) {
    const { why, stopped: limitError } = verdicts
    const left = { groups, method, unclear, note: `unclear pairs count as different: ${why}` } as const
    return limitError ? { ...left, limitError } : left
  }
  return { ...clusterTexts(texts, { ...known, verdicts }), method: 'model', ...note }
}

export type EquivalenceVerdict = 'same' | 'different' | 'unclear'

/** Whether each of the texts comes to the same as the one, each for itself. */
export async function compareToReference(
  context: Context,
  [one, ...texts]: readonly [string, ...string[]],
  { key, judge }: Pick<EquivalenceOptions, 'key' | 'judge'>,
): Promise<EquivalenceVerdict[]> {
  const all = [one, ...texts]
  const look = (signal: AbortSignal) => computeSimilarity(context.embedder, all, signal)
  const similar = await context.step<SimilarityMatrix>(`${key}/similar`, look, { input: all })
  const seen = texts.map((text, index) => {
    const score = similar.scores[0]?.[index + 1] ?? 0
    const known = similar.by === null ? {} : { similarity: () => score, threshold: similar.threshold }
    const { groups, unclear } = clusterTexts([one, text], known)
    if (groups.length === 1) return 'same'
    return unclear.length > 0 || (similar.by === null && mightBeSame(one, text)) ? 'unclear' : 'different'
  })
  const unclear = seen.flatMap((each, index) => (each === 'unclear' ? [[0, index + 1] as const] : []))
  if (unclear.length === 0 || !judge) return seen
  const judged = await judgeUnclearPairs(context, { texts: all, unclear, judge, key: `${key}/judge` })
  const word = new Map(Array.isArray(judged) ? judged.map(({ b, same }) => [b, same] as const) : [])
  return seen.map((each, index) => {
    const same = each === 'unclear' ? word.get(index + 1) : undefined
    return same === undefined ? each : same ? 'same' : 'different'
  })
}

/** By words alone a single one in common is enough to doubt: somebody is about to be called wrong. */
function mightBeSame(one: string, other: string): boolean {
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
  const unknown = { by: null, threshold: 1, scores: [] }
  if (!embedder) return { ...unknown, why: 'no embedder is there, so recommendations were compared as text only' }
  try {
    const vectors = await embedder.embed(texts, signal)
    const scores = vectors.map((one) =>
      vectors.map((other) => Math.round(cosineSimilarity(one, other) * 10_000) / 10_000),
    )
    return { by: embedder.id, threshold: embedder.threshold, scores }
  } catch (thrown) {
    signal.throwIfAborted()
    return {
      ...unknown,
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

type JudgedPairs = { a: number; b: number; same: boolean }[] | { why: string; stopped?: ErrorRecord }

async function judgeUnclearPairs(context: Context, { texts, unclear, judge, key }: UnclearPairs): Promise<JudgedPairs> {
  const pairs = unclear.map(([a, b]) => [texts[a] ?? '', texts[b] ?? ''] as const)
  const request = { instruction: sameMeaningPrompt(pairs), output: pairVerdictsSchema, internal: true as const }
  const result = await runInternalCall(context, { agent: judge, request, key })
  if ('why' in result) return { why: result.why }
  const { error } = result
  if (error && isOutOfBudget({ error })) return { why: error.message, stopped: error }
  if (!result.object) return { why: error?.message ?? 'no verdict' }
  const { pairs: said } = result.object as z.output<typeof pairVerdictsSchema>
  return unclear.flatMap(([a, b], index) => {
    const verdict = said.find(({ number }) => number === index + 1)
    return verdict ? [{ a, b, same: verdict.same }] : []
  })
}
