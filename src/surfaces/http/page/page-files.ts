import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { TroupeError, UNBUNDLED_HINT } from '../../../errors.ts'

/** A file of the page. */
export interface PageFile {
  type: string
  content: string
}

const TYPES = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
} as const

type PageFileName = keyof typeof TYPES

/** In a checkout, a reload of the page shows what has changed. */
const REBUILD_MS = 1000

/** Reads the files of the page: those of the package, or, in a checkout, built from the sources in `web`. */
export function createPageReader(): (name: string) => Promise<PageFile | undefined> {
  const readAll = import.meta.url.endsWith('.ts') ? buildFromSources() : readFromPackage()
  return async (name) => {
    if (!Object.hasOwn(TYPES, name)) return undefined
    const known = name as PageFileName
    return { type: TYPES[known], content: (await readAll(known))[known] }
  }
}

type PageContent = Record<PageFileName, string>

function readFromPackage(): () => Promise<PageContent> {
  if (!existsSync(new URL('../../../web/app.js', import.meta.url)))
    // In the message: Next.js prints nothing else of an error.
    throw new TroupeError('invalid_input', `\`page\`: the files of the viewer are missing: ${UNBUNDLED_HINT}`, {
      hint: 'or leave `page` out: the API needs no files',
      responsible: 'operator',
    })
  let files: Promise<PageContent> | undefined
  const read = async () => {
    const names = Object.keys(TYPES) as PageFileName[]
    const contents = await Promise.all(
      names.map((name) => readFile(new URL(`../../../web/${name}`, import.meta.url), 'utf8')),
    )
    return Object.fromEntries(names.map((name, index) => [name, contents[index]])) as PageContent
  }
  return () => {
    files ??= read()
    return files
  }
}

function buildFromSources(): (name: PageFileName) => Promise<PageContent> {
  // Computed: `web` is no part of the package, and the compiler must not follow it.
  const builder = new URL('../../../../web/build.ts', import.meta.url).href
  let files: Promise<PageContent> | undefined
  let builtAt = 0
  return async (name) => {
    if (!files || (name === 'index.html' && Date.now() - builtAt > REBUILD_MS)) {
      builtAt = Date.now()
      files = import(builder).then(({ buildPage }: { buildPage(): Promise<PageContent> }) => buildPage())
      files.catch(() => {
        files = undefined
      })
    }
    return files
  }
}
