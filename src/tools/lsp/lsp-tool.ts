import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Tool, ToolCall } from '../../kernel/tool.ts'
import * as z from '../../schema/zod.ts'
import { defineTool } from '../define-tool.ts'
import { readFileWithHash } from '../files/file-content.ts'
import { notFoundError, resolveRelativePath, withResolvedPath } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { parseWorkspacePath } from '../files/workspace.ts'
import { paginate } from '../search/paginate.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { LanguageServer } from './language-server.ts'
import type { LanguageServerHost } from './language-server-host.ts'

const input = z.object({
  operation: z.enum(['definition', 'references', 'hover', 'symbols', 'diagnostics']),
  file_path: z.string().min(1).optional().describe('Relative to the workspace.'),
  line: z.number().int().min(1).optional().describe('For definition, references and hover; from 1.'),
  character: z.number().int().min(1).optional().describe('From 1.'),
  symbol: z.string().min(1).optional().describe('Instead of character: the name as written in that line.'),
  query: z.string().optional().describe('For symbols of the workspace, instead of file_path.'),
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

/** The `LSP` tool: definitions, references, hover, symbols and diagnostics of TypeScript and JavaScript. */
export function lspTool(workspace: Workspace, servers: LanguageServerHost): Tool {
  return defineTool<Input>({
    name: 'LSP',
    description:
      'Query the TypeScript language server: definition, references and hover of a name, symbols of a file or the workspace, ' +
      'diagnostics of a file.',
    category: 'perception',
    kind: 'read',
    input,
    unavailable: () => servers.unavailable(),
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
  const { formatDiagnostics, formatHover, formatLocations, formatSymbols } = await import('./lsp-responses.ts')
  const page = (lines: string[], emptyText: string) => paginate(lines, { offset: 0, limit: 1000, emptyText })
  if (request.operation === 'symbols' && !document) {
    const symbols = await server.request('workspace/symbol', { query: request.query ?? '' })
    return page(formatSymbols(workspace, symbols), 'no symbols match')
  }
  if (!document) throw invalidCallError(`\`file_path\` is required for ${request.operation}`, 'name the file')
  server.syncDocument(document.uri, document.language, document.text)
  const textDocument = { uri: document.uri }
  if (request.operation === 'symbols') {
    const symbols = await server.request('textDocument/documentSymbol', { textDocument })
    return page(formatSymbols(workspace, symbols), 'the file has no symbols')
  }
  if (request.operation === 'diagnostics') {
    const report = await server.request('textDocument/diagnostic', { textDocument })
    return page(formatDiagnostics(document.path, report), 'no diagnostics')
  }
  const params = { textDocument, position: findPosition(document, request) }
  if (request.operation === 'hover') {
    return formatHover(await server.request('textDocument/hover', params)) || '[no information for this position]'
  }
  const context = { includeDeclaration: true }
  const locations = await server.request(`textDocument/${request.operation}`, { ...params, context })
  return page(
    formatLocations(workspace, locations),
    `no ${request.operation} found; check that \`character\` points to a name`,
  )
}

async function readDocument(workspace: Workspace, file_path: string): Promise<TextDocument> {
  const target = parseWorkspacePath(workspace, file_path)
  return withResolvedPath(workspace, { target, purpose: 'read' }, async (resolved) => {
    const path = resolved.segments.join('/')
    const language = LANGUAGE_IDS[path.split('.').at(-1) ?? '']
    if (language === undefined)
      throw invalidCallError(
        `\`file_path\` '${path}' is not a TypeScript or JavaScript file`,
        'search other files with Grep',
      )
    const file = await readFileWithHash(resolved)
    if (!file) throw notFoundError(target.requested)
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
  if (line === undefined)
    throw invalidCallError('`line` is required, with `character` or `symbol`', 'find the line with Grep')
  const content = text.split('\n')[line - 1]
  if (content === undefined)
    throw invalidCallError(`\`line\` ${line} is past the end of '${path}'`, 'find the line with Grep')
  if (symbol === undefined) return { line: line - 1, character: Math.min((character ?? 1) - 1, content.length) }
  const column = content.indexOf(symbol)
  if (column === -1)
    throw invalidCallError(
      `\`symbol\` '${symbol}' is not in line ${line} of '${path}'`,
      `the line is: ${content.trim()}`,
    )
  return { line: line - 1, character: column }
}
