import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { createContext, Script } from 'node:vm'
import { codeOf, mistaken } from '../complaint.ts'
import { NO_FOLLOW } from '../files/descend.ts'
import { expressionOf } from './expression.ts'
import { globFilter } from './glob-pattern.ts'
import { matchText } from './match.ts'
import type { FileMatches, Query, SearchEngine } from './query.ts'
import { MOST_BYTES } from './query.ts'
import { walk } from './walk.ts'

/*
 * Searching without ripgrep. An expression that runs away is stopped: JavaScript's backtrack, and one of them would
 * otherwise hold up every session of the process.
 */

const BATCH_CHARS = 512 * 1024
const BATCH_MS = 2000
/** Larger files are left out, and the answer says so. */
const LARGEST_FILE = 64 * 1024 * 1024

export const javascriptEngine: SearchEngine = {
  name: 'javascript',
  async files(root, signal) {
    const found: string[] = []
    await walk({ ...root, above: [], signal }, ({ below }) => void found.push(below))
    return found
  },
  async search(root, query, signal) {
    const batch = new Batch(query)
    const isMeant = fileNameFilter(query.fileNames)
    let incomplete = false
    await walk({ ...root, above: [], signal }, ({ path, below }) => {
      if (!isMeant(below)) return undefined
      const text = textOf(path)
      if (text === undefined) incomplete = true
      else if (text !== '') batch.add(below, text)
      return batch.bytes < MOST_BYTES
    })
    batch.flush()
    return { files: batch.found, incomplete: incomplete || batch.bytes >= MOST_BYTES }
  },
}

export function fileNameFilter(globs: readonly string[]): (path: string) => boolean {
  if (globs.length === 0) return () => true
  const filters = globs.map(globFilter)
  return (path) => filters.some((fits) => fits(path))
}

/** The text of one file that is already open. */
export function searchText(path: string, bytes: Buffer, query: Query): FileMatches | undefined {
  const batch = new Batch(query)
  batch.add(path, decode(bytes))
  batch.flush()
  return batch.found[0]
}

class Batch {
  readonly found: FileMatches[] = []
  bytes = 0
  private readonly query: Query
  private readonly expression: RegExp
  private waiting: { path: string; text: string }[] = []
  private chars = 0
  private readonly run: { context: object; script: Script }

  constructor(query: Query) {
    this.query = query
    this.expression = expressionOf(query.pattern, query)
    this.run = { context: createContext({ work: () => this.work() }), script: new Script('work()') }
  }

  add(path: string, text: string): void {
    this.waiting.push({ path, text })
    this.chars += text.length
    if (this.chars >= BATCH_CHARS) this.flush()
  }

  flush(): void {
    try {
      this.run.script.runInContext(this.run.context, { timeout: BATCH_MS })
    } catch (thrown) {
      if (codeOf(thrown) !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw thrown
      throw mistaken(`the search for '${this.query.pattern}' takes too long`, 'simplify it, or install ripgrep')
    }
    this.waiting = []
    this.chars = 0
  }

  private work(): void {
    for (const { path, text } of this.waiting) {
      const matches = matchText(path, text, this.expression, this.query)
      if (!matches) continue
      this.found.push(matches)
      this.bytes += path.length + matches.lines.reduce((sum, line) => sum + line.text.length, 0)
    }
  }
}

function textOf(path: string): string | undefined {
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | NO_FOLLOW)
    const stat = fstatSync(fd)
    if (!stat.isFile()) return ''
    return stat.size > LARGEST_FILE ? undefined : decode(readFileSync(fd))
  } catch {
    // Gone, swapped for a link, or not ours to read.
    return ''
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** How far ripgrep looks before it takes a file for text. */
const LOOKS_AT = 64 * 1024

/** A binary file is not searched; one that turns out to be binary later is searched up to there. */
function decode(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  const end = bytes.indexOf(0)
  if (end !== -1 && end < LOOKS_AT) return ''
  return new TextDecoder().decode(end === -1 ? bytes : bytes.subarray(0, end))
}
