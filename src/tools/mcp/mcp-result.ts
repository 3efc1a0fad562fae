import { isDeepStrictEqual } from 'node:util'
import {
  attachmentBytes,
  attachmentMediaType,
  isWithinAttachmentLimits,
} from '../../judgement/attachment/attached-file.ts'
import type { Attachment } from '../../kernel/attachment.ts'
import type { ToolResult } from '../../kernel/tool.ts'
import { isRecord, parseJson } from '../../schema/json-value.ts'
import type { McpToolResult } from './mcp-connection.ts'

/** Converts an MCP result to a tool result: its text or its structured content, and its images. */
export function toolResultFromMcp({ content = [], structuredContent, isError }: McpToolResult): ToolResult {
  const attachments: Attachment[] = []
  const text = content.map((block) => formatContent(block, attachments)).join('\n')
  const images = attachments.length > 0 ? { attachments } : undefined
  if (isError) {
    const error = text === '' ? 'the server reported an error without a message' : text
    return { success: false, error, ...(structuredContent === undefined ? {} : { output: structuredContent }) }
  }
  if (structuredContent === undefined) return { success: true, output: text, ...images }
  switch (needsStructuredContent(text, structuredContent)) {
    case 'instead':
      return { success: true, output: structuredContent, ...images }
    case 'no':
      return { success: true, output: text, ...images }
    case 'too':
      return { success: true, output: `${text}\n${JSON.stringify(structuredContent)}`, ...images }
  }
}

/** One content block as text. An image is added to `attachments`; other data is described by its media type and size. */
function formatContent(block: unknown, attachments: Attachment[]): string {
  if (!isRecord(block)) return JSON.stringify(block) ?? ''
  const { type, text, data, mimeType, resource } = block
  if (type === 'text') return typeof text === 'string' ? text : ''
  if (type === 'image' || type === 'audio') return formatData(type, { mediaType: mimeType, data }, attachments)
  if (type === 'resource' && isRecord(resource)) {
    const { uri, text: content, blob, mimeType: mediaType } = resource
    return typeof content === 'string'
      ? `[${uri}]\n${content}`
      : formatData(String(uri), { mediaType, data: blob }, attachments)
  }
  if (type === 'resource_link')
    return `[link: ${[block.name, block.uri, block.description].filter(Boolean).join(' · ')}]`
  return JSON.stringify(block)
}

/** The smallest limit of an image among the model providers. */
const MAX_IMAGE_BYTES = 5 * 1024 * 1024

function formatData(
  label: string,
  { mediaType, data }: { mediaType: unknown; data: unknown },
  attachments: Attachment[],
): string {
  const base64 = typeof data === 'string' ? data.replaceAll(/\s/g, '') : ''
  const size = attachmentBytes({ data: base64 })
  const typeAndSize = `${typeof mediaType === 'string' ? mediaType : 'unknown type'}, ${size} bytes`
  // The media type by the content: a provider rejects a request whose image is not what it says.
  const detected = attachmentMediaType(Buffer.from(base64.slice(0, 64), 'base64'))
  if (!detected?.startsWith('image/')) return `[${label}: ${typeAndSize}, not shown]`
  const image: Attachment = { name: `image-${attachments.length + 1}`, media_type: detected, data: base64 }
  if (size > MAX_IMAGE_BYTES || !isWithinAttachmentLimits([...attachments, image]))
    return `[${label}: ${typeAndSize}, not shown: too large]`
  attachments.push(image)
  return `[${label}: ${typeAndSize}, attached as ${image.name}]`
}

/*
 * Servers repeat their structured content as text for older clients: as the same JSON, as one of its fields, or in words. The model
 * gets each fact once, and none is lost.
 */

/**
 * Whether a model needs the structured content besides the text of a result. `instead`: the text is only its JSON, or there is none;
 * `no`: the text has all of its values; `too`: it has values that the text lacks.
 */
function needsStructuredContent(text: string, structured: unknown): 'instead' | 'no' | 'too' {
  const parsed = parseJson(text)
  if (text.trim() === '' || isDeepStrictEqual(parsed, structured)) return 'instead'
  const values = leaves(structured)
  if (values.length * text.length > MAX_COMPARED_CHARS) return 'too'
  const isRepeated = values.every((leaf) => isInText(leaf, text, parsed))
  return isRepeated ? 'no' : 'too'
}

/** Bounds the comparison of a long text with many values. */
const MAX_COMPARED_CHARS = 50_000_000

type Leaf = string | number | boolean | null

function leaves(value: unknown): Leaf[] {
  if (Array.isArray(value)) return value.flatMap(leaves)
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leaves)
  return [value as Leaf]
}

function isInText(leaf: Leaf, text: string, parsed: unknown): boolean {
  if (typeof leaf === 'string') {
    // In a text that is JSON, quotes and line breaks of a value are escaped.
    return text.includes(leaf) || (parsed !== undefined && text.includes(JSON.stringify(leaf).slice(1, -1)))
  }
  return new RegExp(`(?<![\\w.])${String(leaf).replaceAll(/[.+]/g, '\\$&')}(?![\\w.]*\\w)`).test(text)
}
