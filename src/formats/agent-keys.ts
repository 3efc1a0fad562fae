import { closestName } from '../judgement/similarity/typo.ts'
import { AGENT_NAME_RULE, isAgentName } from '../kernel/agent-name.ts'
import type { Effort, ProviderOptions } from '../kernel/model.ts'
import { EFFORTS } from '../kernel/model.ts'
import { isRecord } from '../schema/json-value.ts'
import { AGENT_KEYS, normalizeKey } from './agent-dialect.ts'
import type { AgentDraft } from './agent-draft.ts'
import { addWarning } from './agent-draft.ts'
import { applyAgents, applyExcludedTools, applyMcpServers, applyPermissions, applyTools } from './agent-permissions.ts'
import type { YamlEntry } from './yaml-entries.ts'

/** Applies one key to the agent; returns a warning if its value is invalid. */
type KeyHandler = (draft: AgentDraft, entry: YamlEntry) => string | undefined

/** Unsupported keys with the reason, which a warning shows so that their authors do not rely on them. */
const IGNORED_KEYS: Readonly<Record<string, string>> = {
  skills: 'skills are not supported; put the knowledge into the instructions',
  hooks: 'commands in agent files are not executed',
  memory: 'agents keep no memory between runs; resume a session instead',
}
/** Unknown keys that look like restrictions: ignoring them silently would be a security risk. */
const PERMISSION_LIKE = /tool|permi|allow|den(y|ied)|forbid|forbidden|exclud|restrict|block/
const PERMISSION_HINT = "use 'tools', 'disallowedTools' or 'permissions'"
/** Values of `model` that mean the caller's model. */
const INHERITED_MODEL = /^(inherit|default|auto)$/i
const MODEL_ROLE_NAMES = ['fast', 'general', 'reasoning']

type NumberField = 'max_turns' | 'timeout_ms' | 'temperature' | 'top_p' | 'seed'
type NumberRange = { expected: string; accepts(number: number): boolean }

const COUNT: NumberRange = {
  expected: 'a positive integer',
  accepts: (number) => Number.isSafeInteger(number) && number > 0,
}
const INTEGER: NumberRange = { expected: 'an integer', accepts: Number.isSafeInteger }

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
  maxturns: applyNumber('max_turns', COUNT),
  maxiter: applyNumber('max_turns', COUNT),
  maxsteps: applyNumber('max_turns', COUNT),
  timeoutms: applyNumber('timeout_ms', COUNT),
  temperature: applyNumber('temperature', upTo(2)),
  topp: applyNumber('top_p', upTo(1)),
  seed: applyNumber('seed', INTEGER),
  toolchoice: applyToolChoice,
  provideroptions: applyProviderOptions,
  effort: applyEffort,
  performer: applyPerformer,
  background: applyFlag('background'),
  isolation: applyIsolation,
  onrequest: applyFlag('on_request'),
  initialprompt: applyInitialPrompt,
}

/** Applies one key to the agent. Unknown keys are kept in `extra`; invalid values are reported. */
export function applyEntry(draft: AgentDraft, entry: YamlEntry): void {
  const key = normalizeKey(entry.key)
  const apply = (Object.hasOwn(KEY_HANDLERS, key) ? KEY_HANDLERS[key] : undefined) ?? keepUnknownKey
  const message = apply(draft, entry)
  if (message !== undefined) addWarning(draft, entry.line, message)
}

function keepUnknownKey(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const normalized = normalizeKey(key)
  draft.extra.set(key, value)
  const reason = Object.hasOwn(IGNORED_KEYS, normalized) ? IGNORED_KEYS[normalized] : undefined
  if (reason !== undefined) return isSet(value) ? `'${key}' has no effect: ${reason}` : undefined
  if (AGENT_KEYS.some((known) => normalizeKey(known) === normalized)) return undefined
  const suggestion = closestName(key, AGENT_KEYS)
  if (suggestion !== undefined) return `unknown key '${key}'; did you mean '${suggestion}'?`
  return PERMISSION_LIKE.test(normalized) ? `unknown key '${key}' restricts nothing; ${PERMISSION_HINT}` : undefined
}

function isSet(value: unknown): boolean {
  return value !== null && value !== false && value !== '' && value !== 'default'
}

function toText(value: unknown): string {
  return typeof value === 'object' ? '' : String(value).trim()
}

function applyName(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const name = toText(value).normalize('NFC')
  if (name === '') return `'${key}' must be a string`
  if (!isAgentName(name)) return `'${key}' is no valid name, '${draft.agent.name}' is used: ${AGENT_NAME_RULE}`
  draft.agent.name = name
  return undefined
}

// Some editors store the line breaks of a description as a literal `\n`.
function applyDescription(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const text = Array.isArray(value) ? value.map(toText).join('\n').trim() : toText(value)
  if (text === '') return `'${key}' must be a string`
  draft.agent.description = /\\n(\\n|<)/.test(text) ? text.replaceAll('\\n', '\n') : text
  return undefined
}

/** Uses the first model of a list and keeps the list in `extra`. */
function applyModel(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const isList = Array.isArray(value)
  const name = toText(isList ? value[0] : value)
  if (isList) draft.extra.set(key, value)
  if (name === '' || value === null) return `'${key}' must be a string`
  if (!INHERITED_MODEL.test(name)) draft.agent.model = name
  return undefined
}

/** Uses the first known role of a list, or else its first entry. */
function applyModelRole(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const roles = (Array.isArray(value) ? value : [value]).map(toText).filter(Boolean)
  const role = roles.find((each) => MODEL_ROLE_NAMES.includes(each)) ?? roles[0]
  draft.extra.set(key, value)
  if (role === undefined) return `'${key}' must be a string`
  draft.agent.model ??= role
  return undefined
}

function applyPermissionMode(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const text = toText(value)
  const mode = text.toLowerCase()
  draft.extra.set(key, value)
  if (mode === 'plan') draft.agent.read_only = true
  if (mode === 'plan' || mode === 'default') return undefined
  return `'${key}: ${text}' has no effect; use rules in 'permissions'`
}

function upTo(max: number): NumberRange {
  return { expected: `a number from 0 to ${max}`, accepts: (number) => number >= 0 && number <= max }
}

function applyNumber(field: NumberField, { expected, accepts }: NumberRange): KeyHandler {
  return ({ agent }, { key, value }) => {
    const number = toNumber(value)
    if (!accepts(number)) return `'${key}' must be ${expected}`
    agent[field] = number
    return undefined
  }
}

const TOOL_CHOICES = ['auto', 'required', 'none'] as const

/** One of the choices, or the name of a tool that the first response has to call. */
function applyToolChoice({ agent }: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const named = isRecord(value) ? value.tool : undefined
  if (typeof named === 'string' && named !== '') {
    agent.tool_choice = { tool: named }
    return undefined
  }
  const choice = TOOL_CHOICES.find((known) => known === value)
  if (choice === undefined) return `'${key}' must be ${TOOL_CHOICES.join(', ')} or {tool: NAME}`
  agent.tool_choice = choice
  return undefined
}

function applyProviderOptions({ agent }: AgentDraft, { key, value }: YamlEntry): string | undefined {
  if (!isRecord(value) || !Object.values(value).every(isRecord))
    return `'${key}' must have options by provider, such as {anthropic: {sendReasoning: false}}`
  agent.provider_options = value as ProviderOptions
  return undefined
}

function applyEffort({ agent }: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const name = toText(value).toLowerCase()
  if (value === null || name === 'default' || name === 'auto') return undefined
  const effort = EFFORTS.find((known): known is Effort => known === name)
  if (effort === undefined) return `'${key}' must be one of ${EFFORTS.join(', ')}; the default of the model is used`
  agent.effort = effort
  return undefined
}

/** A file can only choose among the performers of the program. */
function applyPerformer({ agent }: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const name = toText(value)
  if (value === null || name === '')
    return `'${key}' must be the name of a performer; the model loop carries out the turns`
  agent.performer = name
  return undefined
}

function applyFlag(field: 'background' | 'on_request'): KeyHandler {
  return ({ agent }, { key, value }) => {
    const text = toText(value).toLowerCase()
    const isOn = /^(true|yes|on)$/.test(text)
    if (isOn) agent[field] = true
    return isOn || value === null || /^(false|no|off)$/.test(text) ? undefined : `'${key}' must be true or false`
  }
}

function applyIsolation({ agent }: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const text = toText(value).toLowerCase()
  if (text === 'worktree') agent.isolation = 'worktree'
  return value === null || /^(worktree|none|false|)$/.test(text) ? undefined : `'${key}' must be worktree or none`
}

function applyInitialPrompt({ agent }: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const text = toText(value)
  if (typeof value === 'object' && value !== null) return `'${key}' must be a string`
  if (value !== null && text !== '') agent.initial_prompt = text
  return undefined
}

function toNumber(value: unknown): number {
  if (typeof value === 'string' && value.trim() !== '') return Number(value)
  return typeof value === 'number' ? value : Number.NaN
}
