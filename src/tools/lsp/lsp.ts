import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import type { Tool, ToolCall } from '../../kernel/tool.ts'
import { defineTool } from '../../kernel/tool.ts'
import { mistaken } from '../complaint.ts'
import { wholeFile } from '../files/content.ts'
import { atPlace, missing, whereTo } from '../files/descend.ts'
import { placeOf } from '../files/place.ts'
import type { Workspace } from '../files/workspace.ts'
import { page } from '../search/page.ts'
import { diagnostics, hoverText, locations, symbols } from './answers.ts'
import type { LanguageServer } from './language-server.ts'
import type { Servers } from './servers.ts'

const input = z.object({
  operation: z.enum(['definition', 'references', 'hover', 'symbols', 'diagnostics']),
  file_path: z.string().min(1).optional().describe('The TypeScript or JavaScript file, relative to the workspace.'),
  line: z.number().int().min(1).optional().describe('For definition, references and hover: the line, from 1.'),
  character: z.number().int().min(1).optional().describe('The column of the name, from 1.'),
  symbol: z.string().min(1).optional().describe('Instead of the column: the name as it stands in that line.'),
  query: z.string().optional().describe('For symbols without a file: the name to look for in the whole workspace.'),
})

type Input = z.output<typeof input>

const LANGUAGES: Readonly<Record<string, string>> = {
  ts: 'typescript',
  mts: 'typescript',
  cts: 'typescript',
  tsx: 'typescriptreact',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  jsx: 'javascriptreact',
}

interface Document {
  uri: string
  path: string
  text: string
  language: string
}

/** What a language server knows about TypeScript and JavaScript. */
export function lspTool(workspace: Workspace, servers: Servers): Tool {
  return defineTool<Input>({
    name: 'LSP',
    description:
      'Ask the language server about TypeScript and JavaScript: where a name is defined, where it is used, what it is, ' +
      'the symbols of a file or of the workspace, and the errors of a file.',
    category: 'perception',
    kind: 'read',
    input,
    timeout_ms: 180_000,
    subject: ({ file_path, query }) => (file_path === undefined ? (query ?? '') : whereTo(workspace, file_path)),
    async execute(request, call) {
      const document = request.file_path === undefined ? undefined : await documentAt(workspace, request.file_path)
      const server = await servers.ready(call.signal)
      const stop = () => servers.stop()
      call.signal.addEventListener('abort', stop, { once: true })
      try {
        return { success: true, output: await ask({ workspace, server, document, call }, request) }
      } finally {
        call.signal.removeEventListener('abort', stop)
      }
    },
  })
}

interface Question {
  workspace: Workspace
  server: LanguageServer
  document: Document | undefined
  call: ToolCall
}

async function ask({ workspace, server, document }: Question, request: Input): Promise<string> {
  const paged = (lines: string[], nothing: string) => page(lines, { offset: 0, limit: 1000, nothing })
  if (request.operation === 'symbols' && !document) {
    const found = await server.request('workspace/symbol', { query: request.query ?? '' })
    return paged(symbols(workspace, found), 'no symbol has such a name')
  }
  if (!document) throw mistaken(`${request.operation} needs file_path`)
  server.show(document.uri, document.language, document.text)
  const textDocument = { uri: document.uri }
  if (request.operation === 'symbols') {
    const found = await server.request('textDocument/documentSymbol', { textDocument })
    return paged(symbols(workspace, found), 'the file has no symbols')
  }
  if (request.operation === 'diagnostics') {
    const found = await server.request('textDocument/diagnostic', { textDocument })
    return paged(diagnostics(document.path, found), 'no problems')
  }
  const about = { textDocument, position: positionIn(document, request) }
  if (request.operation === 'hover') {
    return hoverText(await server.request('textDocument/hover', about)) || '[nothing is known about this place]'
  }
  const context = { includeDeclaration: true }
  const found = await server.request(`textDocument/${request.operation}`, { ...about, context })
  return paged(locations(workspace, found), `no ${request.operation} found; is the column that of a name?`)
}

async function documentAt(workspace: Workspace, file_path: string): Promise<Document> {
  const place = placeOf(workspace, file_path)
  return atPlace(workspace, place, { purpose: 'read' }, async (spot) => {
    const path = spot.names.join('/')
    const language = LANGUAGES[path.split('.').at(-1) ?? '']
    if (language === undefined) throw mistaken(`'${path}' is neither TypeScript nor JavaScript`)
    const file = await wholeFile(spot)
    if (!file) throw missing(place)
    return { uri: pathToFileURL(join(workspace.real, path)).href, path, text: file.bytes.toString('utf8'), language }
  })
}

function positionIn({ text, path }: Document, { line, character, symbol }: Input): { line: number; character: number } {
  if (line === undefined) throw mistaken('line is needed, with character or symbol')
  const content = text.split('\n')[line - 1]
  if (content === undefined) throw mistaken(`'${path}' has no line ${line}`)
  if (symbol === undefined) return { line: line - 1, character: Math.min((character ?? 1) - 1, content.length) }
  const at = content.indexOf(symbol)
  if (at === -1)
    throw mistaken(`'${symbol}' does not stand in line ${line} of '${path}'`, `the line is: ${content.trim()}`)
  return { line: line - 1, character: at }
}
