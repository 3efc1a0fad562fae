import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { createContext, Script } from 'node:vm'
import { NO_FOLLOW } from '../files/resolve-path.ts'
import { errorCode, invalidCallError } from '../tool-errors.ts'
import { globFilter } from './glob-filter.ts'
import { matchText } from './match-text.ts'
import type { FileMatches, SearchEngine, SearchQuery } from './search-query.ts'
import { MAX_SEARCH_BYTES } from './search-query.ts'
import { compileSearchRegex } from './search-regex.ts'
import { walkFiles } from './walk-files.ts'

/*
 * Search without ripgrep. Prevents ReDoS: JavaScript's regular expressions backtrack, and one catastrophic pattern would
 * block the event loop for every session, so matching runs in `node:vm` with a time limit.
 */

const BATCH_CHARS = 512 * 1024
const BATCH_MS = 2000
/** Larger files are skipped and the result is marked as incomplete. */
const MAX_FILE_BYTES = 64 * 1024 * 1024

export const javascriptEngine: SearchEngine = {
  name: 'javascript',
  async files(root, signal) {
    const files: string[] = []
    await walkFiles({ ...root, ignoreRules: [], signal }, ({ relativePath }) => void files.push(relativePath))
    return files
  },
  async search(root, query, signal) {
    const batch = new Batch(query)
    const matchesGlobs = fileNameFilter(query.fileGlobs)
    let incomplete = false
    await walkFiles({ ...root, ignoreRules: [], signal }, ({ path, relativePath }) => {
      if (!matchesGlobs(relativePath)) return undefined
      const text = readText(path)
      if (text === undefined) incomplete = true
      else if (text !== '') batch.add(relativePath, text)
      return batch.bytes < MAX_SEARCH_BYTES
    })
    batch.flush()
    return { files: batch.matches, incomplete: incomplete || batch.bytes >= MAX_SEARCH_BYTES }
  },
}

export function fileNameFilter(globs: readonly string[]): (path: string) => boolean {
  if (globs.length === 0) return () => true
  const filters = globs.map(globFilter)
  return (path) => filters.some((matches) => matches(path))
}

/** Searches the content of one file. */
export function searchText(path: string, bytes: Buffer, query: SearchQuery): FileMatches | undefined {
  const batch = new Batch(query)
  batch.add(path, decode(bytes))
  batch.flush()
  return batch.matches[0]
}

class Batch {
  readonly matches: FileMatches[] = []
  bytes = 0
  private readonly query: SearchQuery
  private readonly expression: RegExp
  private pending: { path: string; text: string }[] = []
  private chars = 0
  private readonly run: { context: object; script: Script }

  constructor(query: SearchQuery) {
    this.query = query
    this.expression = compileSearchRegex(query.pattern, query)
    this.run = {
      context: createContext({ matchPending: () => this.matchPending() }),
      script: new Script('matchPending()'),
    }
  }

  add(path: string, text: string): void {
    this.pending.push({ path, text })
    this.chars += text.length
    if (this.chars >= BATCH_CHARS) this.flush()
  }

  flush(): void {
    try {
      this.run.script.runInContext(this.run.context, { timeout: BATCH_MS })
    } catch (thrown) {
      if (errorCode(thrown) !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw thrown
      throw invalidCallError(
        `the search for \`pattern\` '${this.query.pattern}' takes too long`,
        'simplify the pattern, or install ripgrep',
      )
    }
    this.pending = []
    this.chars = 0
  }

  private matchPending(): void {
    for (const { path, text } of this.pending) {
      const matches = matchText({ path, text }, this.expression, this.query)
      if (!matches) continue
      this.matches.push(matches)
      this.bytes += path.length + matches.lines.reduce((sum, line) => sum + line.text.length, 0)
    }
  }
}

function readText(path: string): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | NO_FOLLOW)
    const stat = fstatSync(fd)
    if (!stat.isFile()) return ''
    return stat.size > MAX_FILE_BYTES ? undefined : decode(readFileSync(fd))
  } catch {
    // Deleted, replaced by a symlink, or not readable.
    return ''
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** As ripgrep: a file without a NUL byte in its first 64 KB counts as text. */
const BINARY_PROBE_BYTES = 64 * 1024

/** A binary file decodes to nothing; a text file with a later NUL byte is searched up to that byte. */
function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  const end = bytes.indexOf(0)
  if (end !== -1 && end < BINARY_PROBE_BYTES) return ''
  return new TextDecoder().decode(end === -1 ? bytes : bytes.subarray(0, end))
}
