import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { Tool, ToolCall } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { readFileWithHash } from '../files/file-content.ts'
import { notFoundError, resolveRelativePath, withResolvedPath } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { parseWorkspacePath } from '../files/workspace-path.ts'
import { paginate } from '../search/paginate.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { LanguageServer } from './language-server.ts'
import type { LanguageServerHost } from './language-server-host.ts'
import { formatDiagnostics, formatHover, formatLocations, formatSymbols } from './lsp-responses.ts'

const input = z.object({
  operation: z.enum(['definition', 'references', 'hover', 'symbols', 'diagnostics']),
  file_path: z.string().min(1).optional().describe('The TypeScript or JavaScript file, relative to the workspace.'),
  line: z.number().int().min(1).optional().describe('For definition, references and hover: the line, from 1.'),
  character: z.number().int().min(1).optional().describe('The column of the name, from 1.'),
  symbol: z.string().min(1).optional().describe('Instead of the column: the name as it stands in that line.'),
  query: z.string().optional().describe('For symbols without a file: the name to look for in the whole workspace.'),
})

type Input = z.output<typeof input>

const LANGUAGE_IDS: Readonly<Record<string, string>> = {
  ts: 'typescript',
  mts: 'typescript',
  cts: 'typescript',
  tsx: 'typescriptreact',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  jsx: 'javascriptreact',
}

interface TextDocument {
  uri: string
  path: string
  text: string
  language: string
}

/** What a language server knows about TypeScript and JavaScript. */
export function lspTool(workspace: Workspace, servers: LanguageServerHost): Tool {
  return defineTool<Input>({
    name: 'LSP',
    description:
      'Ask the language server about TypeScript and JavaScript: where a name is defined, where it is used, what it is, ' +
      'the symbols of a file or of the workspace, and the errors of a file.',
    category: 'perception',
    kind: 'read',
    input,
    timeout_ms: 180_000,
    subject: ({ file_path, query }) =>
      file_path === undefined ? (query ?? '') : resolveRelativePath(workspace, file_path),
    async execute(request, call) {
      const document = request.file_path === undefined ? undefined : await readDocument(workspace, request.file_path)
      const server = await servers.ready(call.signal)
      const stop = () => servers.stop()
      call.signal.addEventListener('abort', stop, { once: true })
      try {
        return { success: true, output: await queryServer({ workspace, server, document, call }, request) }
      } finally {
        call.signal.removeEventListener('abort', stop)
      }
    },
  })
}

interface LspQuery {
  workspace: Workspace
  server: LanguageServer
  document: TextDocument | undefined
  call: ToolCall
}

async function queryServer({ workspace, server, document }: LspQuery, request: Input): Promise<string> {
  const paged = (lines: string[], emptyText: string) => paginate(lines, { offset: 0, limit: 1000, emptyText })
  if (request.operation === 'symbols' && !document) {
    const found = await server.request('workspace/symbol', { query: request.query ?? '' })
    return paged(formatSymbols(workspace, found), 'no symbol has such a name')
  }
  if (!document) throw invalidCallError(`${request.operation} needs file_path`)
  server.syncDocument(document.uri, document.language, document.text)
  const textDocument = { uri: document.uri }
  if (request.operation === 'symbols') {
    const found = await server.request('textDocument/documentSymbol', { textDocument })
    return paged(formatSymbols(workspace, found), 'the file has no symbols')
  }
  if (request.operation === 'diagnostics') {
    const found = await server.request('textDocument/diagnostic', { textDocument })
    return paged(formatDiagnostics(document.path, found), 'no problems')
  }
  const about = { textDocument, position: findPosition(document, request) }
  if (request.operation === 'hover') {
    return formatHover(await server.request('textDocument/hover', about)) || '[nothing is known about this place]'
  }
  const context = { includeDeclaration: true }
  const found = await server.request(`textDocument/${request.operation}`, { ...about, context })
  return paged(formatLocations(workspace, found), `no ${request.operation} found; is the column that of a name?`)
}

async function readDocument(workspace: Workspace, file_path: string): Promise<TextDocument> {
  const place = parseWorkspacePath(workspace, file_path)
  return withResolvedPath(workspace, place, { purpose: 'read' }, async (spot) => {
    const path = spot.segments.join('/')
    const language = LANGUAGE_IDS[path.split('.').at(-1) ?? '']
    if (language === undefined) throw invalidCallError(`'${path}' is neither TypeScript nor JavaScript`)
    const file = await readFileWithHash(spot)
    if (!file) throw notFoundError(place)
    return {
      uri: pathToFileURL(join(workspace.realPath, path)).href,
      path,
      text: file.bytes.toString('utf8'),
      language,
    }
  })
}

function findPosition(
  { text, path }: TextDocument,
  { line, character, symbol }: Input,
): { line: number; character: number } {
  if (line === undefined) throw invalidCallError('line is needed, with character or symbol')
  const content = text.split('\n')[line - 1]
  if (content === undefined) throw invalidCallError(`'${path}' has no line ${line}`)
  if (symbol === undefined) return { line: line - 1, character: Math.min((character ?? 1) - 1, content.length) }
  const at = content.indexOf(symbol)
  if (at === -1)
    throw invalidCallError(`'${symbol}' does not stand in line ${line} of '${path}'`, `the line is: ${content.trim()}`)
  return { line: line - 1, character: at }
}
