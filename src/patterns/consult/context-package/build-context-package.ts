import { toTroupeError } from '../../../errors.ts'
import type { ProjectProfile } from '../../../formats/project-profile/project-profile.ts'
import { UNKNOWN_PROFILE } from '../../../formats/project-profile/project-profile.ts'
import type { Context } from '../../../kernel/context.ts'
import type { Knowledge } from '../../../kernel/knowledge.ts'
import { composePackage, MAX_QUERY_CHARACTERS } from './compose-package.ts'
import type { ContextPackage, LeftOutItem } from './context-package.ts'
import type { ContextPackageConfig } from './package-settings.ts'
import { DEFAULT_BUDGET_TOKENS, MIN_BUDGET_TOKENS } from './package-settings.ts'
import type { FoundDocument } from './project-candidates.ts'
import type { PackageRequest } from './request-candidates.ts'

export interface ContextPackageOptions {
  request: PackageRequest
  /** The specialist. */
  agent: string
  reason: string
  similar: readonly FoundDocument[]
  config: { context?: ContextPackageConfig | undefined }
  key: string
}

const MAX_DOCUMENTS = 6

/**
 * Builds the context of a specialist, in one step: profile, documents and embeddings are outside of the run, and a replay has to send the same
 * package.
 */
export async function buildContextPackage(
  context: Context,
  { request, agent, reason, similar, config, key }: ContextPackageOptions,
): Promise<ContextPackage> {
  const now = await context.now(`${key}/now`)
  return context.step(`${key}/package`, async (signal) => {
    const { redactor } = context
    const { documents, problem } = await findDocuments(context.knowledge, { text: request.question, now, signal })
    const built = await composePackage({
      request,
      agent,
      reason,
      similar,
      messages: context.caller?.messages ?? [],
      profile: ((await context.projectProfile()) as ProjectProfile | undefined) ?? UNKNOWN_PROFILE,
      documents,
      budget_tokens: Math.max(MIN_BUDGET_TOKENS, config.context?.budget_tokens ?? DEFAULT_BUDGET_TOKENS),
      redact: redactor && ((text) => redactor.redact(text, '')),
      embedder: context.embedder,
      signal,
    })
    return problem === undefined ? built : { ...built, left_out: [...built.left_out, problem] }
  })
}

interface DocumentQuery {
  text: string
  now: number
  signal: AbortSignal
}

/** The indexed documents for a question. A knowledge store that refuses the search must not end the consultation: the package says so. */
async function findDocuments(
  knowledge: Knowledge | undefined,
  { text, now, signal }: DocumentQuery,
): Promise<{ documents: readonly FoundDocument[]; problem?: LeftOutItem }> {
  if (!knowledge) return { documents: [] }
  try {
    const query = { text: text.slice(0, MAX_QUERY_CHARACTERS), kind: 'document' as const, limit: MAX_DOCUMENTS, now }
    return { documents: await knowledge.search(query, signal) }
  } catch (thrown) {
    signal.throwIfAborted()
    const reason = toTroupeError(thrown).message
    return { documents: [], problem: { source: 'document', origin: 'indexed documents', reason, tokens: 0 } }
  }
}
