import { meantName } from '../judgement/typo.ts'
import type { Effort } from '../kernel/model.ts'
import { EFFORTS } from '../kernel/model.ts'
import { KEYS, plainKey } from './agent-dialect.ts'
import type { Draft } from './agent-draft.ts'
import { warn } from './agent-draft.ts'
import { takeAgents, takeExclusions, takePermissions, takeServers, takeTools } from './agent-rights.ts'
import type { Entry } from './yaml-entries.ts'

/** Puts one key into the agent, and says what is wrong with it. */
type Take = (draft: Draft, entry: Entry) => string | undefined

/** Keys that say something we do not act on, and why: reported, so that nobody relies on them. */
const UNUSED: Readonly<Record<string, string>> = {
  skills: 'there are no skills; write what it has to know into its text',
  hooks: 'commands of agent files are not run by themselves',
  memory: 'nothing is remembered between runs but sessions, which can be resumed',
  isolation: 'all agents of a run share its workspace',
}
/** Keys that sound as if they limited somebody: whoever wrote one relies on it. */
const RIGHTS = /tool|permi|allow|den(y|ied)|forbid|forbidden|exclud|restrict|block/
const RIGHTS_HINT = "write 'tools', 'disallowedTools' or 'permissions'"
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
  maxturns: takeCount('max_turns'),
  maxiter: takeCount('max_turns'),
  maxsteps: takeCount('max_turns'),
  timeoutms: takeCount('timeout_ms'),
  temperature: takeTemperature,
  effort: takeEffort,
  background: takeBackground,
  initialprompt: takeInitialPrompt,
}

/** Puts one key into the agent, keeps what has no place there, and reports what is wrong. */
export function takeEntry(draft: Draft, entry: Entry): void {
  const plain = plainKey(entry.key)
  const take = (Object.hasOwn(TAKES, plain) ? TAKES[plain] : undefined) ?? keep
  const message = take(draft, entry)
  if (message !== undefined) warn(draft, entry.line, message)
}

function keep(draft: Draft, { key, value }: Entry): string | undefined {
  const plain = plainKey(key)
  draft.extra.set(key, value)
  const why = Object.hasOwn(UNUSED, plain) ? UNUSED[plain] : undefined
  if (why !== undefined) return isSaying(value) ? `'${key}' has no effect here: ${why}` : undefined
  if (KEYS.some((known) => plainKey(known) === plain)) return undefined
  const meant = meantName(key, KEYS)
  if (meant !== undefined) return `unknown key '${key}'; did you mean '${meant}'?`
  return RIGHTS.test(plain) ? `unknown key '${key}' grants and forbids nothing; ${RIGHTS_HINT}` : undefined
}

function isSaying(value: unknown): boolean {
  return value !== null && value !== false && value !== '' && value !== 'default'
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? '' : String(value).trim()
}

function takeName(draft: Draft, { key, value }: Entry): string | undefined {
  const name = textOf(value).normalize('NFC')
  if (name === '') return `'${key}' must be a text`
  if (/\p{Cc}/u.test(name)) return `'${key}' must be one line`
  draft.agent.name = name
  return undefined
}

// Some editors write line breaks of a description as two characters, and read them back the same way.
function takeDescription(draft: Draft, { key, value }: Entry): string | undefined {
  const text = Array.isArray(value) ? value.map(textOf).join('\n').trim() : textOf(value)
  if (text === '') return `'${key}' must be a text`
  draft.agent.description = /\\n(\\n|<)/.test(text) ? text.replaceAll('\\n', '\n') : text
  return undefined
}

/** A list of models is tried in order where it comes from; the first one counts here, and the list is kept. */
function takeModel(draft: Draft, { key, value }: Entry): string | undefined {
  const list = Array.isArray(value)
  const name = textOf(list ? value[0] : value)
  if (list) draft.extra.set(key, value)
  if (name === '' || value === null) return `'${key}' must be a text`
  if (!SAME_MODEL.test(name)) draft.agent.model = name
  return undefined
}

/** The first role of the list that means something here, else the first. */
function takeRole(draft: Draft, { key, value }: Entry): string | undefined {
  const roles = (Array.isArray(value) ? value : [value]).map(textOf).filter(Boolean)
  const role = roles.find((each) => ROLES.includes(each)) ?? roles[0]
  draft.extra.set(key, value)
  if (role === undefined) return `'${key}' must be a text`
  draft.agent.model ??= role
  return undefined
}

function takeMode(draft: Draft, { key, value }: Entry): string | undefined {
  const written = textOf(value)
  const mode = written.toLowerCase()
  draft.extra.set(key, value)
  if (mode === 'plan') draft.agent.read_only = true
  if (mode === 'plan' || mode === 'default') return undefined
  return `'${key}: ${written}' grants nothing here; write rules as 'permissions'`
}

function takeCount(field: 'max_turns' | 'timeout_ms'): Take {
  return ({ agent }, { key, value }) => {
    const number = numberOf(value)
    if (!Number.isSafeInteger(number) || number < 1) return `'${key}' must be a whole number above 0`
    agent[field] = number
    return undefined
  }
}

function takeTemperature({ agent }: Draft, { key, value }: Entry): string | undefined {
  const number = numberOf(value)
  if (!(number >= 0 && number <= 2)) return `'${key}' must be a number from 0 to 2`
  agent.temperature = number
  return undefined
}

function takeEffort({ agent }: Draft, { key, value }: Entry): string | undefined {
  const word = textOf(value).toLowerCase()
  if (value === null || word === 'default' || word === 'auto') return undefined
  const effort = EFFORTS.find((known): known is Effort => known === word)
  if (effort === undefined) return `'${key}' must be one of ${EFFORTS.join(', ')}; it is left to the model`
  agent.effort = effort
  return undefined
}

function takeBackground({ agent }: Draft, { key, value }: Entry): string | undefined {
  const word = textOf(value).toLowerCase()
  if (/^(true|yes|on)$/.test(word)) agent.background = true
  return value === null || /^(true|yes|on|false|no|off)$/.test(word) ? undefined : `'${key}' must be true or false`
}

function takeInitialPrompt({ agent }: Draft, { key, value }: Entry): string | undefined {
  const text = textOf(value)
  if (typeof value === 'object' && value !== null) return `'${key}' must be a text`
  if (value !== null && text !== '') agent.initial_prompt = text
  return undefined
}

function numberOf(value: unknown): number {
  if (typeof value === 'string' && value.trim() !== '') return Number(value)
  return typeof value === 'number' ? value : Number.NaN
}
