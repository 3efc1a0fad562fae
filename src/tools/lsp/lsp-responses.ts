import { fileURLToPath } from 'node:url'
import type { Workspace } from '../files/workspace.ts'

/* Formats responses of language servers for a model. Positions are 1-based. */

interface Position {
  line: number
  character: number
}

interface Range {
  start: Position
  end: Position
}

export interface Location {
  uri: string
  range: Range
}

export interface Diagnostic {
  range: Range
  severity?: number
  code?: string | number
  message: string
}

export interface DocumentSymbol {
  name: string
  kind: number
  range?: Range
  selectionRange?: Range
  location?: Location
  containerName?: string
  children?: DocumentSymbol[]
}

const SEVERITIES = ['', 'error', 'warning', 'information', 'hint']
const KINDS =
  '? file module namespace package class method property field constructor enum interface function variable constant string number boolean array object key null enum-member struct event operator type-parameter'.split(
    ' ',
  )

/** Relative to the workspace; absolute for files outside of it, such as type libraries. */
export function toDisplayPath(workspace: Workspace, uri: string): string {
  if (!uri.startsWith('file:')) return uri
  const path = fileURLToPath(uri)
  return path.startsWith(`${workspace.realPath}/`) ? path.slice(workspace.realPath.length + 1) : path
}

function formatPosition({ line, character }: Position): string {
  return `${line + 1}:${character + 1}`
}

export function formatLocations(workspace: Workspace, response: unknown): string[] {
  const list = Array.isArray(response) ? response : response ? [response] : []
  return (list as (Location & { targetUri?: string; targetSelectionRange?: Range })[]).map((location) => {
    const range = location.range ?? location.targetSelectionRange
    return `${toDisplayPath(workspace, location.uri ?? location.targetUri ?? '')}:${formatPosition(range.start)}`
  })
}

export function formatHover(response: unknown): string {
  const contents = (response as { contents?: unknown } | null)?.contents
  const parts = Array.isArray(contents) ? contents : contents === undefined ? [] : [contents]
  return parts
    .map((part) => (typeof part === 'string' ? part : String((part as { value?: string }).value ?? '')))
    .join('\n')
    .trim()
}

export function formatDiagnostics(path: string, response: unknown): string[] {
  const items = (response as { items?: Diagnostic[] } | null)?.items ?? []
  return items.map(({ range, severity, code, message }) => {
    const kind = SEVERITIES[severity ?? 1] ?? 'error'
    return `${path}:${formatPosition(range.start)} ${kind}${code === undefined ? '' : ` ${code}`}: ${message}`
  })
}

export function formatSymbols(workspace: Workspace, response: unknown, depth = 0): string[] {
  return ((response ?? []) as DocumentSymbol[]).flatMap((symbol) => {
    const kind = KINDS[symbol.kind] ?? '?'
    const range = symbol.selectionRange ?? symbol.range ?? symbol.location?.range
    const position = range ? formatPosition(range.start) : '?'
    const file = symbol.location ? `${toDisplayPath(workspace, symbol.location.uri)}:` : ''
    const line = `${'  '.repeat(depth)}${file}${position} ${kind} ${symbol.name}`
    return [line, ...formatSymbols(workspace, symbol.children, depth + 1)]
  })
}
