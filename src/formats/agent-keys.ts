import { closestName } from '../judgement/similarity/typo.ts'
import type { Effort } from '../kernel/model.ts'
import { EFFORTS } from '../kernel/model.ts'
import { AGENT_KEYS, normalizeKey } from './agent-dialect.ts'
import type { AgentDraft } from './agent-draft.ts'
import { addWarning } from './agent-draft.ts'
import { applyAgents, applyExcludedTools, applyMcpServers, applyPermissions, applyTools } from './agent-permissions.ts'
import type { YamlEntry } from './yaml-entries.ts'

/** Puts one key into the agent, and says what is wrong with it. */
type KeyHandler = (draft: AgentDraft, entry: YamlEntry) => string | undefined

/** Keys that say something we do not act on, and why: reported, so that nobody relies on them. */
const IGNORED_KEYS: Readonly<Record<string, string>> = {
  skills: 'there are no skills; write what it has to know into its text',
  hooks: 'commands of agent files are not run by themselves',
  memory: 'nothing is remembered between runs but sessions, which can be resumed',
  isolation: 'all agents of a run share its workspace',
}
/** Keys that sound as if they limited somebody: whoever wrote one relies on it. */
const PERMISSION_LIKE = /tool|permi|allow|den(y|ied)|forbid|forbidden|exclud|restrict|block/
const PERMISSION_HINT = "write 'tools', 'disallowedTools' or 'permissions'"
/** How a model is named that is the caller's. */
const INHERITED_MODEL = /^(inherit|default|auto)$/i
const MODEL_ROLE_NAMES = ['fast', 'general', 'reasoning']

const KEY_HANDLERS: Readonly<Record<string, KeyHandler>> = {
  name: applyName,
  description: applyDescription,
  model: applyModel,
  modelrole: applyModelRole,
  tools: applyTools,
  allowedtools: applyTools,
  disallowedtools: applyExcludedTools,
  excludetools: applyExcludedTools,
  permissionmode: applyPermissionMode,
  permissions: applyPermissions,
  permission: applyPermissions,
  mcpservers: applyMcpServers,
  agents: applyAgents,
  maxturns: applyCount('max_turns'),
  maxiter: applyCount('max_turns'),
  maxsteps: applyCount('max_turns'),
  timeoutms: applyCount('timeout_ms'),
  temperature: applyTemperature,
  effort: applyEffort,
  background: applyBackground,
  initialprompt: applyInitialPrompt,
}

/** Puts one key into the agent, keeps what has no place there, and reports what is wrong. */
export function applyEntry(draft: AgentDraft, entry: YamlEntry): void {
  const plain = normalizeKey(entry.key)
  const take = (Object.hasOwn(KEY_HANDLERS, plain) ? KEY_HANDLERS[plain] : undefined) ?? keepUnknownKey
  const message = take(draft, entry)
  if (message !== undefined) addWarning(draft, entry.line, message)
}

function keepUnknownKey(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const plain = normalizeKey(key)
  draft.extra.set(key, value)
  const why = Object.hasOwn(IGNORED_KEYS, plain) ? IGNORED_KEYS[plain] : undefined
  if (why !== undefined) return isMeaningful(value) ? `'${key}' has no effect here: ${why}` : undefined
  if (AGENT_KEYS.some((known) => normalizeKey(known) === plain)) return undefined
  const meant = closestName(key, AGENT_KEYS)
  if (meant !== undefined) return `unknown key '${key}'; did you mean '${meant}'?`
  return PERMISSION_LIKE.test(plain) ? `unknown key '${key}' grants and forbids nothing; ${PERMISSION_HINT}` : undefined
}

function isMeaningful(value: unknown): boolean {
  return value !== null && value !== false && value !== '' && value !== 'default'
}

function toText(value: unknown): string {
  return typeof value === 'object' ? '' : String(value).trim()
}

function applyName(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const name = toText(value).normalize('NFC')
  if (name === '') return `'${key}' must be a text`
  if (/\p{Cc}/u.test(name)) return `'${key}' must be one line`
  draft.agent.name = name
  return undefined
}

// Some editors write line breaks of a description as two characters, and read them back the same way.
function applyDescription(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const text = Array.isArray(value) ? value.map(toText).join('\n').trim() : toText(value)
  if (text === '') return `'${key}' must be a text`
  draft.agent.description = /\\n(\\n|<)/.test(text) ? text.replaceAll('\\n', '\n') : text
  return undefined
}

/** A list of models is tried in order where it comes from; the first one counts here, and the list is kept. */
function applyModel(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const list = Array.isArray(value)
  const name = toText(list ? value[0] : value)
  if (list) draft.extra.set(key, value)
  if (name === '' || value === null) return `'${key}' must be a text`
  if (!INHERITED_MODEL.test(name)) draft.agent.model = name
  return undefined
}

/** The first role of the list that means something here, else the first. */
function applyModelRole(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const roles = (Array.isArray(value) ? value : [value]).map(toText).filter(Boolean)
  const role = roles.find((each) => MODEL_ROLE_NAMES.includes(each)) ?? roles[0]
  draft.extra.set(key, value)
  if (role === undefined) return `'${key}' must be a text`
  draft.agent.model ??= role
  return undefined
}

function applyPermissionMode(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const written = toText(value)
  const mode = written.toLowerCase()
  draft.extra.set(key, value)
  if (mode === 'plan') draft.agent.read_only = true
  if (mode === 'plan' || mode === 'default') return undefined
  return `'${key}: ${written}' grants nothing here; write rules as 'permissions'`
}

function applyCount(field: 'max_turns' | 'timeout_ms'): KeyHandler {
  return ({ agent }, { key, value }) => {
    const number = toNumber(value)
    if (!Number.isSafeInteger(number) || number < 1) return `'${key}' must be a whole number above 0`
    agent[field] = number
    return undefined
  }
}

function applyTemperature({ agent }: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const number = toNumber(value)
  if (!(number >= 0 && number <= 2)) return `'${key}' must be a number from 0 to 2`
  agent.temperature = number
  return undefined
}

function applyEffort({ agent }: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const word = toText(value).toLowerCase()
  if (value === null || word === 'default' || word === 'auto') return undefined
  const effort = EFFORTS.find((known): known is Effort => known === word)
  if (effort === undefined) return `'${key}' must be one of ${EFFORTS.join(', ')}; it is left to the model`
  agent.effort = effort
  return undefined
}

function applyBackground({ agent }: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const word = toText(value).toLowerCase()
  if (/^(true|yes|on)$/.test(word)) agent.background = true
  return value === null || /^(true|yes|on|false|no|off)$/.test(word) ? undefined : `'${key}' must be true or false`
}

function applyInitialPrompt({ agent }: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const text = toText(value)
  if (typeof value === 'object' && value !== null) return `'${key}' must be a text`
  if (value !== null && text !== '') agent.initial_prompt = text
  return undefined
}

function toNumber(value: unknown): number {
  if (typeof value === 'string' && value.trim() !== '') return Number(value)
  return typeof value === 'number' ? value : Number.NaN
}
