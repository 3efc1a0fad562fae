import { closestName } from '../judgement/similarity/typo.ts'
import type { Dialect } from './agent-dialect.ts'
import { BUILT_IN_TOOLS, resolveToolNames } from './tool-aliases.ts'

/** What a list of tools comes to. */
export interface ToolList {
  /** Everything the caller has: the list holds a star. */
  all: boolean
  tools: string[]
  /** Those of them that are named without a pattern. */
  unrestricted: string[]
  /** The entries with a pattern, by our names. */
  rules: string[]
  /** The agents named in `Agent(a, b)`; absent where delegation is not limited. */
  agents?: string[]
  /** Names that nobody knows, as they are written. */
  unknown: string[]
  /** Entries that are no names at all. */
  invalidCount: number
}

export interface ToolNameContext {
  dialect: Dialect
  /** Tools beside ours, such as those of the program. */
  known: readonly string[]
}

const RULE = /^([^()\s][^()]*)\(([\s\S]*)\)$/

/** Reads a list of tools, as text or as a list; `undefined` when it is neither. */
export function parseToolList(value: unknown, terms: ToolNameContext): ToolList | undefined {
  const items = toItems(value)
  if (!items) return undefined
  const list: ToolList = { all: false, tools: [], unrestricted: [], rules: [], unknown: [], invalidCount: 0 }
  for (const item of items) {
    const text = itemName(item)
    if (text === undefined) list.invalidCount++
    else if (text === '*') list.all = true
    else addItem(list, text, terms)
  }
  list.tools = [...new Set(list.tools)]
  // A tool that is also named without a pattern is not limited by one.
  list.rules = list.rules.filter((rule) => !list.unrestricted.includes(RULE.exec(rule)?.[1]?.trimEnd() ?? ''))
  if (list.unrestricted.includes('task')) delete list.agents
  return list
}

function addItem(list: ToolList, text: string, terms: ToolNameContext): void {
  const [, named = text, pattern = ''] = RULE.exec(text) ?? []
  const ours = resolveToolNames(named.trimEnd(), terms)
  if (!ours) {
    const words = text.split(/\s+/)
    if (words.length < 2 || !words.every((word) => resolveToolNames(word, terms))) list.unknown.push(text)
    else for (const word of words) addItem(list, word, terms)
    return
  }
  list.tools.push(...ours)
  if (pattern.trim() === '' || pattern.trim() === '*') list.unrestricted.push(...ours)
  else if (ours.includes('task')) list.agents = [...(list.agents ?? []), ...parseNames(pattern)]
  else list.rules.push(...ours.map((each) => `${each}(${pattern})`))
}

/** Names separated by commas, also when brackets or quotes of a broken list are left around them. */
export function parseNames(text: string): string[] {
  return splitAtCommas(text.trim().replace(/^\[|\]$/g, ''))
    .map((name) => {
      const bare = name.trim().replace(/^- +/, '')
      return bare.replace(/^(["'])(.*)\1$/, '$2').trim()
    })
    .filter((name) => name !== '')
}

/** Split at commas and line ends, except within parentheses: a pattern may hold commas. */
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

/** A name, or the name in an entry such as `{module: tool-bash, source: …}`. */
function itemName(item: unknown): string | undefined {
  if (typeof item === 'string') return item
  if (typeof item !== 'object' || item === null) return undefined
  const { module, name } = item as { module?: unknown; name?: unknown }
  const said = module ?? name
  return typeof said === 'string' && said.trim() !== '' ? said.trim() : undefined
}

/** Says which names were left out, and what was probably meant. */
export function unknownToolsMessage(names: readonly string[], terms: ToolNameContext): string {
  const known = [...BUILT_IN_TOOLS, ...terms.known]
  const [first = ''] = names
  const meant = names.length === 1 ? closestName(first, known) : undefined
  if (meant !== undefined) return `unknown tool '${first}' is left out; did you mean '${meant}'?`
  const listed = names.map((name) => `'${name}'`).join(', ')
  return names.length === 1 ? `unknown tool ${listed} is left out` : `unknown tools are left out: ${listed}`
}
