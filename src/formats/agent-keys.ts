import type { Agent } from '../kernel/agent.ts'
import { KEYS, plainKey } from './agent-dialect.ts'
import type { Draft } from './agent-draft.ts'
import { addRules, warn } from './agent-draft.ts'
import { takeAgents, takeExclusions, takePermissions, takeServers, takeTools } from './agent-rights.ts'
import { meantName } from './typo.ts'
import type { Entry } from './yaml-entries.ts'

type Take = (draft: Draft, entry: Entry) => void

/** Keys that say something we do not act on yet: reported, so that nobody relies on them. */
const UNUSED = 'skills hooks memory background isolation effort initialprompt'.split(' ')
/** How a model is named that is the caller's. */
const SAME_MODEL = /^(inherit|default|auto)$/i
const ROLES = ['fast', 'general', 'reasoning']

const TAKES: Readonly<Record<string, Take>> = {
  name: takeName,
  description: takeDescription,
  model: takeModel,
  modelrole: takeRole,
  tools: takeTools,
  allowedtools: takeTools,
  disallowedtools: takeExclusions,
  excludetools: takeExclusions,
  permissionmode: takeMode,
  permissions: takePermissions,
  permission: takePermissions,
  mcpservers: takeServers,
  agents: takeAgents,
  maxturns: takeNumber('max_turns'),
  maxiter: takeNumber('max_turns'),
  maxsteps: takeNumber('max_turns'),
  timeoutms: takeNumber('timeout_ms'),
  temperature: takeNumber('temperature'),
}

/** Puts one key into the agent, keeps what has no place there, and says what is wrong. */
export function takeEntry(draft: Draft, entry: Entry): void {
  const plain = plainKey(entry.key)
  const take = Object.hasOwn(TAKES, plain) ? TAKES[plain] : undefined
  if (take) return take(draft, entry)
  draft.extra.set(entry.key, entry.value)
  if (UNUSED.includes(plain) && isSaying(entry.value)) warn(draft, entry.line, `'${entry.key}' has no effect here yet`)
  if (KEYS.some((key) => plainKey(key) === plain)) return
  const meant = meantName(entry.key, KEYS)
  if (meant !== undefined) warn(draft, entry.line, `unknown key '${entry.key}'; did you mean '${meant}'?`)
}

function isSaying(value: unknown): boolean {
  return value !== null && value !== false && value !== '' && value !== 'default'
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? '' : String(value).trim()
}

function takeName(draft: Draft, { key, value, line }: Entry): void {
  const name = textOf(value).normalize('NFC')
  if (name === '') warn(draft, line, `'${key}' must be a text`)
  else if (/\p{Cc}/u.test(name)) warn(draft, line, `'${key}' must be one line`)
  else draft.agent.name = name
}

// Some editors write line breaks of a description as two characters, and read them back the same way.
function takeDescription(draft: Draft, { key, value, line }: Entry): void {
  const text = Array.isArray(value) ? value.map(textOf).join('\n').trim() : textOf(value)
  if (text === '') warn(draft, line, `'${key}' must be a text`)
  else draft.agent.description = /\\n(\\n|<)/.test(text) ? text.replaceAll('\\n', '\n') : text
}

/** A list of models is tried in order where it comes from; the first one counts here, and the list is kept. */
function takeModel(draft: Draft, { key, value, line }: Entry): void {
  const list = Array.isArray(value)
  const name = textOf(list ? value[0] : value)
  if (list) draft.extra.set(key, value)
  if (name === '') warn(draft, line, `'${key}' must be a text`)
  else if (!SAME_MODEL.test(name)) draft.agent.model = name
}

/** The first role of the list that means something here, else the first. */
function takeRole(draft: Draft, { key, value, line }: Entry): void {
  const roles = (Array.isArray(value) ? value : [value]).map(textOf).filter(Boolean)
  draft.extra.set(key, value)
  const role = roles.find((each) => ROLES.includes(each)) ?? roles[0]
  if (role === undefined) warn(draft, line, `'${key}' must be a text`)
  else draft.agent.model ??= role
}

function takeMode(draft: Draft, { key, value, line }: Entry): void {
  const mode = textOf(value)
  draft.extra.set(key, value)
  if (mode === 'plan') addRules(draft.agent, 'deny', ['Write', 'Edit', 'Bash'])
  else if (mode !== 'default') warn(draft, line, `'${key}: ${mode}' grants nothing here; write rules as 'permissions'`)
}

function takeNumber(field: 'max_turns' | 'timeout_ms' | 'temperature'): Take {
  return (draft, { key, value, line }) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    const fits = typeof number === 'number' && (field === 'temperature' ? isWarmth(number) : isCount(number))
    if (fits) (draft.agent as Record<typeof field & keyof Agent, number>)[field] = number
    else
      warn(
        draft,
        line,
        `'${key}' must be ${field === 'temperature' ? 'a number from 0 to 2' : 'a whole number above 0'}`,
      )
  }
}

function isCount(number: number): boolean {
  return Number.isSafeInteger(number) && number > 0
}

function isWarmth(number: number): boolean {
  return number >= 0 && number <= 2
}
