import type { AssistantMessage, FilePart, Message } from '../../kernel/model.ts'
import { isNestedDeeper } from '../../schema/json-value.ts'
import { formatIdentifier } from '../format-amount.ts'
import type { PanelBlock, PanelFact, PanelMessage, PanelValue } from '../panel.ts'

/*
 * Values as blocks: short fields as facts, long texts as they are, lists of flat objects as tables, everything else as JSON. Figures have the
 * unit `code`: they are shown as they are, not rounded.
 */

const SHORT_TEXT = 160

/** An object with its short fields first; texts and lists keep their own form. */
export function valueBlocks(value: unknown, title?: string): PanelBlock[] {
  const named = title === undefined ? undefined : { title }
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return value === '' ? [] : [{ kind: 'code', ...named, text: value }]
  if (!isObject(value)) return [jsonBlock(value, named)]
  const entries = Object.entries(value).filter(([, field]) => field !== undefined)
  const facts = entries.flatMap(([label, field]) => toFact(label, field))
  const rest = entries.filter(([label, field]) => toFact(label, field).length === 0)
  return [
    ...(facts.length > 0 ? [{ kind: 'facts' as const, ...named, facts }] : []),
    ...rest.map(([label, field]) => fieldBlock(label, field)),
  ]
}

function fieldBlock(title: string, value: unknown): PanelBlock {
  if (typeof value === 'string') return { kind: 'code', title, text: value }
  return listTable(title, value) ?? jsonBlock(value, { title })
}

/** Levels of a tree that a page can still show beside each other. */
const MAX_TREE_DEPTH = 64

/** A tree, or the text of one that is too deep. */
function jsonBlock(value: unknown, named: { title: string } | undefined): PanelBlock {
  if (!isNestedDeeper(value, MAX_TREE_DEPTH)) return { kind: 'json', ...named, value }
  return { kind: 'code', ...named, text: JSON.stringify(value), language: 'json' }
}

const MAX_COLUMNS = 12

/** A list of objects with the same flat fields is a table; fields that are empty in all of them have no column. */
function listTable(title: string, value: unknown): PanelBlock | undefined {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isObject)) return undefined
  const names = [...new Set(value.flatMap(Object.keys))].filter((name) => value.some((item) => !isEmpty(item[name])))
  if (names.length === 0 || names.length > MAX_COLUMNS) return undefined
  if (!names.every((name) => value.every((item) => cellText(item[name]) !== undefined))) return undefined
  return {
    kind: 'table',
    title,
    columns: names.map((name) => ({
      key: name,
      title: formatIdentifier(name),
      ...(value.every((item) => isWords(item[name])) ? undefined : { unit: 'code' as const }),
    })),
    rows: value.map((item) => Object.fromEntries(names.map((name) => [name, cellText(item[name]) ?? null]))),
  }
}

function isWords(value: unknown): boolean {
  return typeof value !== 'number' && typeof value !== 'boolean'
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

/** A field as the text of a cell; `undefined` if a table would hide what it has. */
function cellText(value: unknown): PanelValue | undefined {
  if (value === undefined || value === null) return null
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  if (!Array.isArray(value)) return undefined
  if (value.length === 0) return null
  if (value.every((item) => typeof item === 'string')) return value.join('\n')
  // Objects with one or two plain fields, such as a reference with its kind.
  const texts = value.map((item) => (isObject(item) ? flatText(item) : undefined))
  return texts.every((text) => text !== undefined) ? texts.join('\n') : undefined
}

function flatText(item: Record<string, unknown>): string | undefined {
  const values = Object.values(item)
  if (values.length === 0 || values.length > 2 || !values.every((each) => typeof each === 'string')) return undefined
  return values.join(', ')
}

function toFact(label: string, value: unknown): PanelFact[] {
  if (typeof value === 'string')
    return value.length <= SHORT_TEXT && !value.includes('\n') ? [{ label, value, unit: 'code' }] : []
  if (value === null) return [{ label, value: 'null', unit: 'code' }]
  return typeof value === 'number' || typeof value === 'boolean' ? [{ label, value, unit: 'code' }] : []
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Text as it is; everything else as JSON. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
}

/** A message of a conversation as a block shows it. */
export function toPanelMessage(message: Message): PanelMessage {
  if (message.role === 'assistant') return { role: 'assistant', parts: assistantParts(message) }
  if (message.role === 'user')
    return {
      role: 'user',
      parts: message.content.map((part) => ({
        kind: 'text' as const,
        text: part.type === 'text' ? part.text : fileText(part),
      })),
    }
  return {
    role: 'tool',
    parts: message.content.map(({ name, text, files = [] }) => ({
      kind: 'result' as const,
      name,
      text: [text, ...files.map(fileText)].join('\n'),
    })),
  }
}

export function assistantParts({ content }: AssistantMessage): PanelMessage['parts'] {
  return content.map((part) => {
    if (part.type === 'tool-call') return { kind: 'call' as const, name: part.name, text: valueText(part.input) }
    return { kind: part.type, text: part.text }
  })
}

function fileText({ name, media_type, data }: FilePart): string {
  const size = data.startsWith('http') ? data : `${Math.ceil((data.length * 3) / 4)} bytes`
  return `[${name ?? 'file'}, ${media_type}, ${size}]`
}
