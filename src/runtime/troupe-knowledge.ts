import type {
  Knowledge,
  KnowledgeDocument,
  KnowledgeKind,
  KnowledgeMatch,
  KnowledgeQuery,
  KnowledgeSelection,
} from '../kernel/knowledge.ts'
import type { Redactor } from '../kernel/redactor.ts'
import type { AddFilesOptions, AddFilesReport } from '../knowledge/add-documents.ts'
import type { EmbeddedKnowledge, KnowledgeProgress, ReindexReport } from '../knowledge/embedded-knowledge.ts'
import type { Lazy } from './lazy.ts'
import { lazyPort } from './lazy.ts'

export interface ReindexOptions {
  onProgress?: (progress: KnowledgeProgress) => void
  signal?: AbortSignal
}

/** What the project has learned: its documents, and its resolved consultations. Deleting runs does not change it. */
export interface TroupeKnowledge {
  /** Stores documents, all or none; one with the same id is replaced. */
  add(documents: readonly KnowledgeDocument[], signal?: AbortSignal): Promise<void>
  /** Stores text files, and the Markdown and text files of folders, in parts. A changed file is replaced, an unchanged one skipped. */
  addFiles(paths: readonly string[], options?: AddFilesOptions): Promise<AddFilesReport>
  /** The best matches first. Rejects with `invalid_input` if the vectors come from another embedder. */
  search(query: Omit<KnowledgeQuery, 'now'> & { now?: number }, signal?: AbortSignal): Promise<KnowledgeMatch[]>
  list(kind: KnowledgeKind): Promise<KnowledgeDocument[]>
  /** Removes documents and returns how many there were. An empty selection removes all. */
  forget(selection: KnowledgeSelection): Promise<number>
  /** Makes the vectors of all documents anew that another embedder made, or none. */
  reindex(options?: ReindexOptions): Promise<ReindexReport>
  /** Why texts are compared by words instead of meaning; `undefined` if they are not, or if nothing was compared so far. */
  lexicalReason(): Promise<string | undefined>
}

interface KnowledgeDeps {
  knowledge: Lazy<(project: string) => EmbeddedKnowledge>
  project: string
  redactor: Redactor | undefined
  now: () => number
}

/** Loads the knowledge of the project when it is first used. */
export function createTroupeKnowledge({ knowledge, project, redactor, now }: KnowledgeDeps): TroupeKnowledge {
  const open = async () => (await knowledge.get())(project)
  return {
    add: async (documents, signal) => (await open()).add(documents, signal),
    async addFiles(paths, options) {
      const { addFiles } = await import('../knowledge/add-documents.ts')
      return addFiles({ knowledge: await open(), redactor, now }, paths, options)
    },
    search: async (query, signal) => (await open()).search({ ...query, now: query.now ?? now() }, signal),
    list: async (kind) => (await open()).list(kind),
    forget: async (selection) => (await open()).forget(selection),
    reindex: async ({ onProgress, signal } = {}) => (await open()).reindex(onProgress, signal),
    lexicalReason: async () => (await open()).lexicalReason(),
  }
}

/** The knowledge of a project for patterns, loaded when one first uses it. */
export function lazyKnowledge(knowledge: KnowledgeDeps['knowledge'], project: string): Knowledge {
  return lazyPort(async () => (await knowledge.get())(project))
}
