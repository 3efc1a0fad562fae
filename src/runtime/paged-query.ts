import { copyJson } from '../engine/copy-json.ts'
import { TroupeError } from '../errors.ts'
import { canonicalJson, shortHash } from '../kernel/hash.ts'
import { parseJson } from '../schema/json-value.ts'

/** One page of a list. */
export interface Page<T> {
  items: T[]
  /** The `cursor` of the next page; `null` after the last one. */
  next: string | null
}

export interface PageRequest {
  /** Items per page, at most 1000. Default: 100. */
  limit?: number
  /** `next` of the previous page, with the same filter. */
  cursor?: string
}

/** A list that is read page by page: await it for one page, iterate it for the items of all pages. */
export interface PagedQuery<T> extends PromiseLike<Page<T>>, AsyncIterable<T> {
  /** The items of all pages. */
  all(): Promise<T[]>
}

/** Reads a page of at most `limit` items after a position, which is a JSON value; `undefined` means from the start. */
export type ReadPage<T> = (position: unknown, limit: number) => Promise<T[]>

export interface PagedQueryDefinition<T> {
  /** Names the list in cursors: a cursor is valid only for the list, project and filter that it comes from. */
  list: string
  scope: unknown
  read: ReadPage<T>
  positionOf(item: T): unknown
}

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000

/** Nothing is read before the query is awaited or iterated. */
export function pagedQuery<T>(options: PageRequest, definition: PagedQueryDefinition<T>): PagedQuery<T> {
  const scope = shortHash(canonicalJson([definition.list, definition.scope]))
  const readPage = async (cursor: string | undefined, limit: number): Promise<Page<T>> => {
    const position = cursor === undefined ? undefined : parseCursor(cursor, scope)
    // One more than the page holds shows whether there is a next page.
    const found = await definition.read(position, limit + 1)
    const items = found.slice(0, limit)
    const last = items.at(-1)
    return {
      items: copyJson(items),
      next: found.length > limit && last ? toCursor(scope, definition.positionOf(last)) : null,
    }
  }
  async function* iterate(): AsyncGenerator<T, void> {
    const limit = checkLimit(options.limit ?? MAX_LIMIT)
    for (let cursor: string | null | undefined = options.cursor; cursor !== null; ) {
      const page: Page<T> = await readPage(cursor, limit)
      yield* page.items
      cursor = page.next
    }
  }
  return {
    // biome-ignore lint/suspicious/noThenProperty: a query is awaited for its first page, as in other paginated clients
    then: (onPage, onError) =>
      Promise.resolve()
        .then(() => readPage(options.cursor, checkLimit(options.limit ?? DEFAULT_LIMIT)))
        .then(onPage, onError),
    [Symbol.asyncIterator]: iterate,
    async all() {
      const items: T[] = []
      for await (const item of iterate()) items.push(item)
      return items
    },
  }
}

function checkLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new TroupeError('invalid_input', `\`limit\` is ${limit}, not a whole number from 1 to ${MAX_LIMIT}`, {
    hint: 'iterate the query to read all items',
  })
}

function toCursor(scope: string, position: unknown): string {
  return Buffer.from(JSON.stringify([scope, position])).toString('base64url')
}

function parseCursor(cursor: string, scope: string): unknown {
  const [cursorScope, position] = decodeCursor(cursor)
  if (cursorScope === scope) return position
  const problem = cursorScope === undefined ? 'is not a cursor' : 'is a cursor of another list, filter or project'
  throw new TroupeError('invalid_input', `\`cursor\` ${problem}`, {
    hint: 'pass `next` of the previous page, and the same filter',
  })
}

function decodeCursor(cursor: string): [scope?: string, position?: unknown] {
  const decoded = parseJson(Buffer.from(cursor, 'base64url').toString('utf8'))
  const isCursor = Array.isArray(decoded) && decoded.length === 2 && typeof decoded[0] === 'string'
  return isCursor ? (decoded as [string, unknown]) : []
}
