import { closestName } from '../judgement/similarity/typo.ts'
import type { Dialect } from './agent-dialect.ts'
import { BUILT_IN_TOOLS, DELEGATION_TOOL, resolveToolNames } from './tool-aliases.ts'

/** A parsed list of tools. */
export interface ToolList {
  /** True when the list contains `*`: all tools of the caller. */
  all: boolean
  tools: string[]
  /** Tools that are named without a pattern. */
  unrestricted: string[]
  /** Entries with a pattern, under Troupe's tool names. */
  rules: string[]
  /** Agents named in `Agent(a, b)`; absent when delegation is not restricted. */
  agents?: string[]
  /** Unknown names, as written. */
  unknown: string[]
  /** Number of entries that are not names. */
  invalidCount: number
}

export interface ToolNameContext {
  dialect: Dialect
  /** Tools in addition to the built-in ones. */
  known: readonly string[]
  /** Set for a list that takes tools away: a name then also means what it would mean without `known` (fail closed). */
  restricts?: true
}

const RULE = /^([^()\s][^()]*)\(([\s\S]*)\)$/

/** Parses a list of tools, given as a string or a list; `undefined` when it is neither. */
export function parseToolList(value: unknown, context: ToolNameContext): ToolList | undefined {
  const items = toItems(value)
  if (!items) return undefined
  const list: ToolList = { all: false, tools: [], unrestricted: [], rules: [], unknown: [], invalidCount: 0 }
  for (const item of items) {
    const text = itemName(item)
    if (text === undefined) list.invalidCount++
    else if (text === '*') list.all = true
    else addItem(list, text, context)
  }
  list.tools = [...new Set(list.tools)]
  // A tool that is also listed without a pattern is not restricted by one.
  list.rules = list.rules.filter((rule) => !list.unrestricted.includes(RULE.exec(rule)?.[1]?.trimEnd() ?? ''))
  if (list.unrestricted.includes(DELEGATION_TOOL)) delete list.agents
  return list
}

function addItem(list: ToolList, text: string, context: ToolNameContext): void {
  const [, name = text, pattern = ''] = RULE.exec(text) ?? []
  const tools = resolveToolNames(name.trimEnd(), context)
  if (!tools) {
    const parts = text.split(/\s+/)
    if (parts.length < 2 || !parts.every((part) => resolveToolNames(part, context))) list.unknown.push(text)
    else for (const part of parts) addItem(list, part, context)
    return
  }
  list.tools.push(...tools)
  if (pattern.trim() === '' || pattern.trim() === '*') list.unrestricted.push(...tools)
  else {
    if (tools.includes(DELEGATION_TOOL)) list.agents = [...(list.agents ?? []), ...parseNames(pattern)]
    list.rules.push(...tools.filter((tool) => tool !== DELEGATION_TOOL).map((tool) => `${tool}(${pattern})`))
  }
}

/** Splits comma-separated names and removes brackets and quotes left over from an invalid list. */
export function parseNames(text: string): string[] {
  return splitAtCommas(text.trim().replace(/^\[|\]$/g, ''))
    .map((name) => {
      const bare = name.trim().replace(/^- +/, '')
      return bare.replace(/^(["'])(.*)\1$/, '$2').trim()
    })
    .filter((name) => name !== '')
}

/** Splits at commas and line breaks outside parentheses: patterns may contain commas. */
function splitAtCommas(text: string): string[] {
  const parts = ['']
  let depth = 0
  for (const character of text) {
    if (character === '(') depth++
    if (character === ')') depth = Math.max(0, depth - 1)
    if (depth === 0 && (character === ',' || character === '\n')) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts
}

function toItems(value: unknown): unknown[] | undefined {
  if (typeof value === 'string') return parseNames(value)
  if (!Array.isArray(value)) return undefined
  return value.flatMap((item) => (typeof item === 'string' ? parseNames(item) : [item]))
}

/** The name of an item: a string, or the name in an entry such as `{module: tool-bash, source: …}`. */
function itemName(item: unknown): string | undefined {
  if (typeof item === 'string') return item
  if (typeof item !== 'object' || item === null) return undefined
  const { module, name } = item as { module?: unknown; name?: unknown }
  const text = module ?? name
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined
}

/** A warning about ignored tool names, with a suggestion. */
export function unknownToolsMessage(names: readonly string[], context: ToolNameContext): string {
  const known = [...BUILT_IN_TOOLS, ...context.known]
  const [first = ''] = names
  const suggestion = names.length === 1 ? closestName(first, known) : undefined
  if (suggestion !== undefined) return `unknown tool '${first}' is ignored; did you mean '${suggestion}'?`
  const list = names.map((name) => `'${name}'`).join(', ')
  return names.length === 1 ? `unknown tool ${list} is ignored` : `unknown tools are ignored: ${list}`
}
