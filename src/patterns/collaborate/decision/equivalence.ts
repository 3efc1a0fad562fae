import type { ErrorRecord } from '../../../errors.ts'
import { toTroupeError } from '../../../errors.ts'
import type { ClusterOptions, Clusters } from '../../../judgement/similarity/clustering.ts'
import { clusterTexts } from '../../../judgement/similarity/clustering.ts'
import { cosineSimilarity, isEmbeddingUnreliable } from '../../../judgement/similarity/similarity.ts'
import type { Context } from '../../../kernel/context.ts'
import type { JudgedPairs, PairJudge } from './pair-judge.ts'
import { judgePairs, knownVerdicts } from './pair-judge.ts'

/** Groups of equivalent recommendations, and the method that found them. */
export interface Equivalence {
  groups: number[][]
  method: 'text' | 'embeddings' | 'model'
  /** Undecided pairs: they count as neither the same nor different. */
  unclear: [number, number][]
  /** The reason if a method could not be used. */
  note?: string
  /** Why the judge left pairs unclear. */
  problem?: string
  /** The embedder may work later and merge groups. */
  embedderFailed?: true
  /** The failure of the judge, which resume can retry. */
  error?: ErrorRecord
}

interface SimilarityMatrix {
  by: string | null
  why?: string
  threshold: number
  scores: number[][]
}

export interface EquivalenceOptions {
  key: string
  /** Decides unclear pairs; without it they stay unclear. */
  judge?: PairJudge
  /** Whether the unclear pairs are worth a request to the judge. Default: always. */
  worthJudging?: (unjudged: Equivalence) => boolean
  /** The wave of each text. */
  wave?: (index: number) => number
}

/** Groups by text, then by embeddings; the judge decides all remaining unclear pairs in one model request. */
export async function groupEquivalent(
  context: Context,
  texts: readonly string[],
  { key, judge, worthJudging = () => true, wave = () => 0 }: EquivalenceOptions,
): Promise<Equivalence> {
  const byText = clusterTexts(texts, { wave })
  if (byText.groups.length < 2) return { groups: byText.groups, method: 'text', unclear: [] }
  const matrix = needsEmbeddings(texts, byText) ? await loadSimilarity(context, texts, key) : NO_SIMILARITY
  const options = { wave, ...(matrix.by === null ? undefined : toSimilarityOptions(matrix)) }
  const byCode = matrix.by === null ? byText : clusterTexts(texts, options)
  const unjudged: Equivalence = {
    ...byCode,
    method: matrix.by === null ? 'text' : 'embeddings',
    ...(matrix.why === undefined ? undefined : { note: matrix.why }),
    ...(matrix !== NO_SIMILARITY && matrix.by === null && context.embedder
      ? { embedderFailed: true as const }
      : undefined),
  }
  if (byCode.unclear.length === 0 || !judge) return unjudged
  const pairs = { texts, unclear: byCode.unclear }
  const known = applyVerdicts(unjudged, { texts, options, judged: { verdicts: knownVerdicts(judge, pairs) } })
  if (known.unclear.length === 0 || !worthJudging(known)) return known
  const judged = await judgePairs(context, judge, { ...pairs, key: `${key}/judge` })
  return applyVerdicts(unjudged, { texts, options, judged })
}

interface Verdicts {
  texts: readonly string[]
  options: ClusterOptions
  judged: JudgedPairs
}

function applyVerdicts(unjudged: Equivalence, { texts, options, judged }: Verdicts): Equivalence {
  const { verdicts, ...failure } = judged
  if (verdicts.length === 0) return { ...unjudged, ...failure }
  const { note: _note, ...base } = unjudged
  return { ...base, ...clusterTexts(texts, { ...options, verdicts }), method: 'model', ...failure }
}

const NO_SIMILARITY: SimilarityMatrix = { by: null, threshold: 1, scores: [] }

/**
 * Whether embeddings could merge any pair. Loading the embedding model takes seconds, and for words or categories its result would
 * be ignored.
 */
function needsEmbeddings(texts: readonly string[], { groups, unclear }: Clusters): boolean {
  const groupWith = (index: number) => groups.find((group) => group.includes(index)) ?? []
  return unclear.some(([a, b]) =>
    groupWith(a).some((one) =>
      groupWith(b).some((other) => !isEmbeddingUnreliable(texts[one] ?? '', texts[other] ?? '')),
    ),
  )
}

function loadSimilarity(context: Context, texts: readonly string[], key: string): Promise<SimilarityMatrix> {
  const compute = (signal: AbortSignal) => computeSimilarity(context.embedder, texts, signal)
  return context.step<SimilarityMatrix>(`${key}/similar`, compute, { input: texts })
}

function toSimilarityOptions({ scores, threshold }: SimilarityMatrix) {
  return { similarity: (a: number, b: number) => scores[a]?.[b] ?? 0, threshold }
}

async function computeSimilarity(
  embedder: Context['embedder'],
  texts: readonly string[],
  signal: AbortSignal,
): Promise<SimilarityMatrix> {
  if (!embedder)
    return { ...NO_SIMILARITY, why: 'no embedder is available, so recommendations were compared as text only' }
  try {
    const vectors = await embedder.embed(texts, signal)
    const scores = vectors.map((one) =>
      vectors.map((other) => Math.round(cosineSimilarity(one, other) * 10_000) / 10_000),
    )
    return { by: embedder.id, threshold: embedder.threshold, scores }
  } catch (thrown) {
    signal.throwIfAborted()
    return {
      ...NO_SIMILARITY,
      why: `the embedder failed, so recommendations were compared as text: ${toTroupeError(thrown).message}`,
    }
  }
}
