import { toTroupeError } from '../errors.ts'
import type { KnowledgeDocument } from '../kernel/knowledge.ts'
import type { Redactor } from '../kernel/redactor.ts'
import { splitDocument } from './document-chunks.ts'
import type { DocumentFile, UnreadableFile } from './document-files.ts'
import { documentExists, findDocuments, readDocument } from './document-files.ts'
import type { EmbeddedKnowledge, KnowledgeProgress } from './embedded-knowledge.ts'

export interface AddFilesOptions {
  /** The folder of the project: files outside of it are refused, and paths are stored relative to it. Default: the working folder. */
  root?: string
  onProgress?: (progress: KnowledgeProgress & { path: string }) => void
  signal?: AbortSignal
}

export interface AddFilesReport {
  /** Files that were stored, new or changed, with the number of their parts. */
  added: { path: string; parts: number }[]
  /** Files that are stored as they are. */
  unchanged: string[]
  /** Files of the folders that were stored before and are gone. */
  removed: string[]
  /** Files of the folders that could not be read. */
  skipped: UnreadableFile[]
  /** Files in which secrets were replaced before they were stored. */
  redacted: string[]
  /** How the stored parts will be found: by meaning, or by words because there is no embedder. */
  method: 'embedding' | 'lexical'
  /** Why by words. */
  reason?: string
}

interface AddScope {
  knowledge: EmbeddedKnowledge
  redactor: Redactor | undefined
  now: () => number
}

/** Stores files and the documents of folders, each file at once: an interrupted call has stored whole files, and the next one continues. */
export async function addFiles(
  { knowledge, redactor, now }: AddScope,
  paths: readonly string[],
  { root = process.cwd(), onProgress, signal }: AddFilesOptions = {},
): Promise<AddFilesReport> {
  await knowledge.checkEmbedder('document')
  const found = await findDocuments(root, paths)
  const known = groupByPath(await knowledge.list('document'))
  const report: Omit<AddFilesReport, 'method'> = {
    added: [],
    unchanged: [],
    removed: [],
    skipped: found.skipped,
    redacted: [],
  }
  for (const [position, path] of found.files.entries()) {
    signal?.throwIfAborted()
    onProgress?.({ done: position, total: found.files.length, path })
    const stored = known.get(path) ?? []
    const file = await readDocument(root, path).catch((error: unknown) => {
      // A folder may hold anything; a file that was named has to be stored.
      if (!found.folders.some((folder) => isUnder(folder, path))) throw error
      report.skipped.push({ path, reason: toTroupeError(error).message })
      return undefined
    })
    if (!file) continue
    if (stored.some(({ data }) => (data as FileData).hash === file.hash)) {
      report.unchanged.push(path)
      continue
    }
    const { documents, isRedacted } = toDocuments(file, { redactor, at: now() })
    const kept = new Set(documents.map(({ id }) => id))
    const remove = stored.map(({ id }) => id).filter((id) => !kept.has(id))
    await knowledge.replace('document', { put: documents, remove }, signal)
    report.added.push({ path, parts: documents.length })
    if (isRedacted) report.redacted.push(path)
  }
  onProgress?.({ done: found.files.length, total: found.files.length, path: '' })
  for (const path of await goneFiles(root, known, found.folders)) {
    await knowledge.forget({ kind: 'document', tags: { path } })
    report.removed.push(path)
  }
  const reason = knowledge.lexicalReason()
  return { ...report, method: reason === undefined ? 'embedding' : 'lexical', ...(reason ? { reason } : undefined) }
}

/** What a match in a file returns. */
export interface FileData {
  path: string
  headings: readonly string[]
  /** Of the first line of the part, from 1. */
  line: number
  /** Of the file. */
  hash: string
}

function toDocuments(
  { path, text, hash }: DocumentFile,
  { redactor, at }: { redactor: Redactor | undefined; at: number },
): { documents: KnowledgeDocument[]; isRedacted: boolean } {
  const redacted = redactor ? redactor.redact(text, '') : text
  const chunks = splitDocument(redacted)
  const documents = (chunks.length > 0 ? chunks : [{ headings: [], text: '', line: 1 }]).map(
    ({ headings, text: part, line }, index): KnowledgeDocument => ({
      id: `${path}#${index + 1}`,
      kind: 'document',
      text: [[path, ...headings].join(' > '), part].join('\n'),
      data: { path, headings, line, hash } satisfies FileData,
      tags: { path },
      at,
    }),
  )
  return { documents, isRedacted: redacted !== text }
}

function groupByPath(documents: readonly KnowledgeDocument[]): Map<string, KnowledgeDocument[]> {
  const groups = new Map<string, KnowledgeDocument[]>()
  for (const document of documents) {
    const path = document.tags?.path
    if (path === undefined) continue
    const group = groups.get(path)
    if (group) group.push(document)
    else groups.set(path, [document])
  }
  return groups
}

/** Files of the folders that are stored and exist no more. */
async function goneFiles(
  root: string,
  known: ReadonlyMap<string, unknown>,
  folders: readonly string[],
): Promise<string[]> {
  const gone: string[] = []
  for (const path of known.keys()) {
    const isSearched = folders.some((folder) => isUnder(folder, path))
    if (isSearched && !(await documentExists(root, path))) gone.push(path)
  }
  return gone
}

function isUnder(folder: string, path: string): boolean {
  return folder === '' || path.startsWith(`${folder}/`)
}
