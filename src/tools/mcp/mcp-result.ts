import { isDeepStrictEqual } from 'node:util'
import type { ToolResult } from '../../kernel/tool.ts'
import type { McpToolResult } from './mcp-connection.ts'

/** Converts an MCP result to a tool result: text, or the structured content. */
export function toolResultFromMcp({ content = [], structuredContent, isError }: McpToolResult): ToolResult {
  const text = content.map(formatContent).join('\n')
  if (isError) {
    const error = text === '' ? 'the server reported an error without a message' : text
    return { success: false, error, ...(structuredContent === undefined ? {} : { output: structuredContent }) }
  }
  if (structuredContent === undefined) return { success: true, output: text }
  // Many servers repeat the structured content as text for older clients.
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

/** One content block as text; a block that is not text is described by its media type and size. */
function formatContent(block: unknown): string {
  if (!isBlock(block)) return JSON.stringify(block) ?? ''
  const { type, text, data, mimeType, resource } = block
  if (type === 'text') return typeof text === 'string' ? text : ''
  if (type === 'image' || type === 'audio') return `[${type}: ${formatTypeAndSize(mimeType, data)}]`
  if (type === 'resource' && isBlock(resource)) {
    const { uri, text: content, blob, mimeType: mediaType } = resource
    return typeof content === 'string' ? `[${uri}]\n${content}` : `[${uri}: ${formatTypeAndSize(mediaType, blob)}]`
  }
  if (type === 'resource_link')
    return `[link: ${[block.name, block.uri, block.description].filter(Boolean).join(' · ')}]`
  return JSON.stringify(block)
}

function formatTypeAndSize(mediaType: unknown, base64: unknown): string {
  const bytes = typeof base64 === 'string' ? Math.floor((base64.length * 3) / 4) : 0
  return `${typeof mediaType === 'string' ? mediaType : 'unknown type'}, ${bytes} bytes, not shown`
}

function isBlock(value: unknown): value is ContentBlock {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
