import { isDeepStrictEqual } from 'node:util'
import type { ToolResult } from '../../kernel/tool.ts'
import type { McpToolResult } from './mcp-connection.ts'

/** What a server answered, as a tool's result: words, or what it gave as data. */
export function toolResultFromMcp({ content = [], structuredContent, isError }: McpToolResult): ToolResult {
  const text = content.map(formatPart).join('\n')
  if (isError) {
    const error = text === '' ? 'the server reported an error and did not say which' : text
    return { success: false, error, ...(structuredContent === undefined ? {} : { output: structuredContent }) }
  }
  if (structuredContent === undefined) return { success: true, output: text }
  // Servers repeat their data as text for clients that know no better.
  if (text === '' || isDeepStrictEqual(parseJson(text), structuredContent)) {
    return { success: true, output: structuredContent }
  }
  return { success: true, output: `${text}\n${JSON.stringify(structuredContent)}` }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type ContentBlock = Record<string, unknown>

/** One part of an answer in words; what is not text is named, with its kind and size. */
function formatPart(part: unknown): string {
  if (!isBlock(part)) return JSON.stringify(part) ?? ''
  const { type, text, data, mimeType, resource } = part
  if (type === 'text') return typeof text === 'string' ? text : ''
  if (type === 'image' || type === 'audio') return `[${type}: ${formatKindAndSize(mimeType, data)}]`
  if (type === 'resource' && isBlock(resource)) {
    const { uri, text: words, blob, mimeType: kind } = resource
    return typeof words === 'string' ? `[${uri}]\n${words}` : `[${uri}: ${formatKindAndSize(kind, blob)}]`
  }
  if (type === 'resource_link') return `[link: ${[part.name, part.uri, part.description].filter(Boolean).join(' · ')}]`
  return JSON.stringify(part)
}

function formatKindAndSize(kind: unknown, base64: unknown): string {
  const bytes = typeof base64 === 'string' ? Math.floor((base64.length * 3) / 4) : 0
  return `${typeof kind === 'string' ? kind : 'unknown kind'}, ${bytes} bytes, not shown`
}

function isBlock(value: unknown): value is ContentBlock {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
