import { TroupeError, unknownNameError } from '../../../errors.ts'
import type { KnowledgeDocument, KnowledgeMatch, Troupe } from '../../../index.ts'
import { pluralize } from '../../../views/format-amount.ts'
import { toTerminalLine, wrapText } from '../../../views/text-width.ts'
import { projectFolder } from '../agent-roster.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { confirmDeletion } from '../deletion-report.ts'
import { EXIT } from '../exit-code.ts'
import { withTroupe } from '../open-troupe.ts'

type KnowledgeKind = KnowledgeDocument['kind']

const KINDS: readonly KnowledgeKind[] = ['document', 'agent_collaboration']
const DEFAULT_MATCHES = 5
const SHOWN_TEXT = 300

/** Stores files of the project, and shows how far it is. */
export function addKnowledge(cli: Cli, ...paths: string[]): Promise<number> {
  return withTroupe(cli, 'new', async ({ knowledge }) => {
    const progress = progressLine(cli)
    const report = await knowledge.addFiles(paths, {
      root: projectFolder(cli),
      onProgress: ({ done, total, path }) => progress.show(done, total, path),
    })
    progress.clear()
    if (cli.options.json) {
      printJson(cli, report)
      return EXIT.done
    }
    const { added, unchanged, removed, skipped, redacted, method, reason } = report
    for (const { path, parts } of added) cli.terminal.print(`${toTerminalLine(path)}  ${pluralize(parts, 'part')}`)
    for (const path of removed) cli.terminal.print(`${toTerminalLine(path)}  removed: the file is gone`)
    for (const { path, reason: why } of skipped) note(cli, `skipped ${path}: ${why}`)
    for (const path of redacted) note(cli, `${path}: secrets were replaced before it was stored`)
    if (method === 'lexical' && added.length > 0) noteLexical(cli, reason)
    cli.terminal.print(
      `${pluralize(added.length, 'file')} stored, ${unchanged.length} unchanged, ${removed.length} removed`,
    )
    return EXIT.done
  })
}

type SearchOptions = { kind?: KnowledgeKind; number?: number }

export function searchKnowledge(cli: Cli<SearchOptions>, ...words: string[]): Promise<number> {
  const { kind = 'document', number = DEFAULT_MATCHES } = cli.options
  return withTroupe(cli, 'existing', async ({ knowledge }) => {
    const matches = await knowledge.search({ text: words.join(' '), kind, limit: number })
    const reason = await knowledge.lexicalReason()
    if (cli.options.json) {
      printJson(cli, { query: words.join(' '), kind, matches, ...(reason ? { reason } : undefined) })
      return EXIT.done
    }
    for (const match of matches) printMatch(cli, match)
    if (matches.length === 0) {
      const isEmpty = (await knowledge.list(kind)).length === 0
      cli.terminal.print(isEmpty ? 'nothing is stored yet; add documents with: troupe knowledge add PATH' : 'no match')
    }
    if (matches.some(({ method }) => method === 'lexical')) noteLexical(cli, reason)
    return EXIT.done
  })
}

function printMatch({ terminal }: Cli, { document, score, similarity }: KnowledgeMatch): void {
  const { out } = terminal
  const [title = '', ...rest] = document.text.split('\n')
  const line = (document.data as { line?: number } | null)?.line
  const place = line === undefined ? document.id : `${document.tags?.path}:${line}`
  const isDocument = document.kind === 'document'
  const figures = [`similarity ${similarity.toFixed(2)}`, ...(isDocument ? [] : [ratingText(document)])].join(', ')
  terminal.print(`${out.paint('bold', toTerminalLine(place))}  ${score.toFixed(2)} (${figures})`)
  const { resolution_summary } = (document.data ?? {}) as { resolution_summary?: string }
  const question = [title, ...rest].join('\n')
  const answered = resolution_summary === undefined ? question : `${question}\n→ ${resolution_summary}`
  const text = isDocument ? rest.join('\n') : answered
  for (const shown of wrapText(toTerminalLine(text.slice(0, SHOWN_TEXT)), out.width - 2)) terminal.print(`  ${shown}`)
}

function ratingText({ outcome }: KnowledgeDocument): string {
  return outcome?.rating === undefined ? 'not rated' : `rated ${outcome.rating} of 5`
}

export function listKnowledge(cli: Cli<{ kind?: KnowledgeKind }>): Promise<number> {
  const { kind } = cli.options
  return withTroupe(cli, 'existing', async ({ knowledge }) => {
    const documents: KnowledgeDocument[] = []
    for (const listed of kind ? [kind] : KINDS) documents.push(...(await knowledge.list(listed)))
    if (cli.options.json) {
      printJson(cli, documents)
      return EXIT.done
    }
    const parts = new Map<string, number>()
    for (const { tags } of documents) if (tags?.path) parts.set(tags.path, (parts.get(tags.path) ?? 0) + 1)
    for (const [path, count] of parts) cli.terminal.print(`${toTerminalLine(path)}  ${pluralize(count, 'part')}`)
    const others = documents.filter(({ tags }) => !tags?.path)
    for (const document of others) {
      const shown = toTerminalLine(document.text.slice(0, SHOWN_TEXT)).slice(0, 100)
      cli.terminal.print(`${document.id}  ${ratingText(document)}  ${shown}`)
    }
    if (documents.length === 0) cli.terminal.print('nothing is stored; add documents with: troupe knowledge add PATH')
    return EXIT.done
  })
}

type ForgetOptions = { all?: boolean; yes?: boolean }

export function forgetKnowledge(cli: Cli<ForgetOptions>, ...names: string[]): Promise<number> {
  const { all = false } = cli.options
  if (all === names.length > 0) {
    throw new TroupeError(
      'invalid_input',
      all ? '--all and names cannot be combined' : 'the argument NAME is missing',
      {
        hint: 'pass paths or ids that `troupe knowledge list` prints, or --all',
      },
    )
  }
  return withTroupe(cli, 'existing', async (troupe) => {
    const selected = all ? await everything(troupe) : await documentsNamed(troupe, names)
    const question = `Forget everything that the project knows (${pluralize(selected.length, 'document')})? This cannot be undone.`
    if (all && selected.length > 0 && !(await confirmDeletion(cli, question))) return EXIT.failed
    const forgotten = await troupe.knowledge.forget({ ids: selected })
    if (cli.options.json) printJson(cli, { forgotten })
    else cli.terminal.print(`${pluralize(forgotten, 'document')} forgotten`)
    return EXIT.done
  })
}

async function everything({ knowledge }: Troupe): Promise<string[]> {
  const lists = await Promise.all(KINDS.map((kind) => knowledge.list(kind)))
  return lists.flat().map(({ id }) => id)
}

/** The ids of entries with these ids or paths. A folder names the files in it. */
async function documentsNamed({ knowledge }: Troupe, names: readonly string[]): Promise<string[]> {
  const documents = (await Promise.all(KINDS.map((kind) => knowledge.list(kind)))).flat()
  return names.flatMap((name) => {
    const path = name.replace(/^\.\//, '').replace(/\/+$/, '')
    const found = documents.filter(
      ({ id, tags }) => id === name || tags?.path === path || tags?.path?.startsWith(`${path}/`),
    )
    if (found.length > 0) return found.map(({ id }) => id)
    const known = [...new Set(documents.map(({ id, tags }) => tags?.path ?? id))]
    throw unknownNameError('invalid_input', { kind: 'file or entry', name, known })
  })
}

export function reindexKnowledge(cli: Cli): Promise<number> {
  return withTroupe(cli, 'existing', async ({ knowledge }) => {
    const progress = progressLine(cli)
    const report = await knowledge.reindex({ onProgress: ({ done, total }) => progress.show(done, total, '') })
    progress.clear()
    if (cli.options.json) printJson(cli, report)
    else if (report.documents === 0) cli.terminal.print('all vectors are up to date')
    else cli.terminal.print(`${pluralize(report.documents, 'document')} indexed with ${report.embedder}`)
    return EXIT.done
  })
}

function note(cli: Cli, text: string): void {
  if (cli.options.quiet) return
  for (const line of wrapText(toTerminalLine(text), cli.terminal.err.width)) cli.terminal.note(line)
}

function noteLexical(cli: Cli, reason: string | undefined): void {
  note(
    cli,
    `compared by words, not by meaning: ${reason ?? 'some entries have no vectors; run: troupe knowledge reindex'}`,
  )
}

/** A line on a terminal that is drawn again, and nothing elsewhere. */
function progressLine({ terminal, options }: Cli): {
  show(done: number, total: number, name: string): void
  clear(): void
} {
  const isShown = terminal.live && !options.quiet && !options.json
  return {
    show(done, total, name) {
      const text = toTerminalLine(`${done} of ${total}  ${name}`).slice(0, terminal.err.width - 1)
      if (isShown) terminal.draw(`\r\u001b[2K${text}`)
    },
    clear() {
      if (isShown) terminal.draw('\r\u001b[2K')
    },
  }
}
