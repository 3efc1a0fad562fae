import { z } from 'zod'
import { asTroupeError } from '../../errors.ts'
import { clustered } from '../../judgement/agreement.ts'
import { cosine } from '../../judgement/similarity.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import { errand } from './errand.ts'
import { sameMeaningPrompt } from './prompts.ts'

/** Which recommendations come to the same, and how that was found out. */
export interface Equivalence {
  groups: number[][]
  method: 'text' | 'embeddings' | 'model'
  /** Pairs of which nobody has said whether they come to the same; they count as different. */
  unclear: [number, number][]
  /** What could not be looked at, and why. */
  note?: string
}

interface Similar {
  by: string | null
  why?: string
  threshold: number
  /** Row by row. */
  scores: number[][]
}

export interface Judging {
  key: string
  /** Who settles pairs that neither text nor vectors can; without it they count as different. */
  judge?: Agent
}

/** Groups by text first, then by meaning, and asks a model, once, only for what is still unclear. */
export async function equivalent(
  context: Context,
  texts: readonly string[],
  { key, judge }: Judging,
): Promise<Equivalence> {
  const plain = clustered(texts)
  if (plain.groups.length < 2) return { groups: plain.groups, method: 'text', unclear: [] }
  const similar = await context.step<Similar>(
    `${key}/similar`,
    (signal) => similarityOf(context.embedder, texts, signal),
    {
      input: texts,
    },
  )
  const known = similar.by === null ? {} : knownFrom(similar)
  const near = similar.by === null ? plain : clustered(texts, known)
  const method = similar.by === null ? 'text' : 'embeddings'
  const note = similar.why === undefined ? undefined : { note: similar.why }
  const { groups, unclear } = near
  if (unclear.length === 0 || !judge) return { groups, method, unclear, ...note }
  const judged = await settle(context, { texts, unclear, judge, key: `${key}/judge` })
  if (typeof judged === 'string') {
    return { groups, method, unclear, note: `unclear pairs count as different: ${judged}` }
  }
  return { ...clustered(texts, { ...known, judged }), method: 'model', ...note }
}

function knownFrom({ scores, threshold }: Similar) {
  return { similarity: (a: number, b: number) => scores[a]?.[b] ?? 0, threshold }
}

async function similarityOf(
  embedder: Context['embedder'],
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Similar> {
  const unknown = { by: null, threshold: 1, scores: [] }
  if (!embedder) return { ...unknown, why: 'no embedder is there, so recommendations were compared as text only' }
  try {
    const vectors = await embedder.embed(texts, signal)
    const scores = vectors.map((one) => vectors.map((other) => Math.round(cosine(one, other) * 10_000) / 10_000))
    return { by: embedder.id, threshold: embedder.threshold, scores }
  } catch (thrown) {
    signal.throwIfAborted()
    return {
      ...unknown,
      why: `the embedder failed, so recommendations were compared as text: ${asTroupeError(thrown).message}`,
    }
  }
}

const verdicts = z.object({ pairs: z.array(z.object({ number: z.int(), same: z.boolean() })) })

interface Unclear {
  texts: readonly string[]
  unclear: readonly (readonly [number, number])[]
  judge: Agent
  key: string
}

async function settle(context: Context, { texts, unclear, judge, key }: Unclear) {
  const pairs = unclear.map(([a, b]) => [texts[a] ?? '', texts[b] ?? ''] as const)
  const request = { instruction: sameMeaningPrompt(pairs), output: verdicts, errand: true as const }
  const result = await errand(context, { agent: judge, request, key })
  if ('why' in result) return result.why
  if (!result.object) return result.error?.message ?? 'no verdict'
  const { pairs: said } = result.object as z.output<typeof verdicts>
  return unclear.flatMap(([a, b], index) => {
    const verdict = said.find(({ number }) => number === index + 1)
    return verdict ? [{ a, b, same: verdict.same }] : []
  })
}
