import { TroupeError } from '../errors.ts'
import { parsePermissionRule } from '../judgement/permission/permission-rule.ts'
import { lintRules, validateRules } from '../judgement/permission/rule-lint.ts'
import type { Agent, AgentPermissions } from '../kernel/agent.ts'
import { isRecord } from '../schema/json-value.ts'
import type { AgentDraft } from './agent-draft.ts'
import { addRules, addWarning, rejectAgent } from './agent-draft.ts'
import type { ToolList } from './tool-list.ts'
import { parseNames, parseToolList, unknownToolsMessage } from './tool-list.ts'
import type { YamlEntry } from './yaml-entries.ts'

/*
 * Tools, permissions and delegation of an agent file. All of it fails closed:
 * 1. An invalid tool list grants no tools; falling back to the caller's tools would escalate privileges.
 * 2. An agent with invalid exclusions or rules is rejected, for the same reason.
 * 3. An unknown name grants nothing and is reported.
 * 4. A name that is both a tool of the program and another name of a built-in one grants the first, and forbids or asks for both.
 */

export function applyTools(draft: AgentDraft, entry: YamlEntry): string | undefined {
  const { agent, toolContext } = draft
  const { key, value } = entry
  if (value === null || value === '') return `'${key}' is empty and ignored; use [] for no tools`
  const switches = toToolSwitches(value)
  const list = switches ? readToolSwitches(draft, switches) : parseToolList(value, toolContext)
  if (!list) {
    agent.tools = []
    return `'${key}' must be a list, or names separated by commas; the agent gets no tools`
  }
  warnUnknownTools(draft, list, entry)
  if (list.all) {
    if (list.unrestricted.length > 0) agent.extra_tools = [...new Set(list.unrestricted)]
    return undefined
  }
  checkDraftRules(draft, entry.line, list.rules)
  addRules(agent, 'allow', list.rules)
  if (list.agents) agent.agents = list.agents
  const previous = draft.toolsKey === key ? undefined : agent.tools
  draft.toolsKey = key
  agent.tools = previous ? list.tools.filter((name) => previous.includes(name)) : list.tools
  return previous ? `'${key}' is a second tool list; only tools in both lists are granted` : undefined
}

/** OpenCode switches tools on and off by name. With only `false` switches, all other tools stay. */
function readToolSwitches({ agent, toolContext }: AgentDraft, switches: Record<string, boolean>): ToolList | undefined {
  const namesSwitched = (state: boolean) => Object.keys(switches).filter((name) => switches[name] === state)
  const disabled = parseToolList(namesSwitched(false), { ...toolContext, restricts: true })
  const enabled = parseToolList(namesSwitched(true), toolContext)
  if (!enabled || !disabled) return undefined
  excludeTools(agent, [...disabled.tools, ...disabled.unknown])
  return namesSwitched(true).length === 0 && !disabled.all ? { ...enabled, all: true } : enabled
}

function excludeTools(agent: Agent, names: readonly string[]): void {
  if (names.length > 0) agent.exclude_tools = [...new Set([...(agent.exclude_tools ?? []), ...names])]
}

function toToolSwitches(value: unknown): Record<string, boolean> | undefined {
  if (!isRecord(value) || Object.keys(value).length === 0) return undefined
  return Object.values(value).every((each) => typeof each === 'boolean')
    ? (value as Record<string, boolean>)
    : undefined
}

export function applyExcludedTools(draft: AgentDraft, { key, value, line }: YamlEntry): string | undefined {
  const { agent } = draft
  if (value === null || value === '') return `'${key}' is empty and ignored`
  const list = parseToolList(value, { ...draft.toolContext, restricts: true })
  if (!list || list.invalidCount > 0) return rejectAgent(draft, key)
  if (list.all) agent.tools = []
  checkDraftRules(draft, line, [...list.rules, ...list.unknown])
  excludeTools(agent, [...list.unrestricted, ...list.unknown])
  addRules(agent, 'deny', [...list.rules, ...(list.agents ?? []).map((name) => `task(${name})`)])
  if (list.unknown.length === 0) return undefined
  addWarning(draft, line, `'${key}' excludes unknown tools: ${list.unknown.map((name) => `'${name}'`).join(', ')}`)
  return undefined
}

/** Rules as `{allow: […], ask: […], deny: […]}`, or in OpenCode's form `{bash: {'git push': ask}, edit: deny}`. */
export function applyPermissions(draft: AgentDraft, { key, value, line }: YamlEntry): string | undefined {
  if (!isRecord(value)) return rejectAgent(draft, key, `\`${key}\` must be a map: {allow: […], ask: […], deny: […]}`)
  for (const [name, rules] of Object.entries(value)) {
    const kind = toPermissionKind(name)
    if (kind) applyRules(draft, { key: name, value: rules, line }, kind)
    else if (isRecord(rules)) {
      for (const [pattern, permission] of Object.entries(rules))
        applyPatternRule(draft, { key: name, value: permission, line }, pattern)
    } else applyPatternRule(draft, { key: name, value: rules, line }, '*')
  }
  return undefined
}

function applyPatternRule(draft: AgentDraft, { key, value, line }: YamlEntry, pattern: string): void {
  const kind = toPermissionKind(value)
  if (!kind) rejectAgent(draft, key, `\`${key}\`: expected allow, ask or deny, not ${describeValue(value)}`)
  applyRules(draft, { key, value: [pattern === '*' ? key : `${key}(${pattern})`], line }, kind)
}

function applyRules(draft: AgentDraft, entry: YamlEntry, kind: keyof AgentPermissions): void {
  const restricts = kind === 'allow' ? undefined : { restricts: true as const }
  const list = parseToolList(entry.value ?? [], { ...draft.toolContext, ...restricts })
  if (!list || list.invalidCount > 0) rejectAgent(draft, entry.key)
  warnUnknownTools(draft, list, entry)
  const denied = kind === 'deny' ? list.unknown : []
  const agents = (list.agents ?? []).map((name) => `task(${name})`)
  // An unknown entry may also be a malformed rule, whose intended restriction is unknowable: then reject the agent.
  checkDraftRules(draft, entry.line, [...list.rules, ...list.unknown])
  addRules(draft.agent, kind, [...(list.all ? ['*'] : []), ...list.unrestricted, ...list.rules, ...agents, ...denied])
}

function describeValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  return isRecord(value) ? 'a map' : `'${value}'`
}

function toPermissionKind(value: unknown): keyof AgentPermissions | undefined {
  return value === 'allow' || value === 'ask' || value === 'deny' ? value : undefined
}

/** MCP servers by name, with their configuration or `null` for a server of Troupe's configuration. */
export function applyMcpServers(draft: AgentDraft, { key, value, line }: YamlEntry): string | undefined {
  const servers = new Map<string, unknown>()
  const items = Array.isArray(value) ? value : [value]
  for (const item of items) {
    if (typeof item === 'string') for (const name of parseNames(item)) servers.set(name, null)
    if (isRecord(item)) for (const [name, config] of Object.entries(item)) servers.set(name, config)
  }
  for (const [name, config] of servers) {
    const problem = mcpServerProblem(config)
    if (problem === undefined) continue
    servers.delete(name)
    draft.problems.push({ level: 'error', line, message: `the MCP server '${name}' is ignored: ${problem}` })
  }
  if (servers.size > 0) draft.agent.mcp_servers = Object.fromEntries(servers)
  const isValid = items.every((item) => item === null || typeof item === 'string' || isRecord(item))
  return isValid ? undefined : `'${key}' must be a list of names, or a map of servers`
}

/** Agents that this one may call: all for `*`, none for an empty list. */
export function applyAgents(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const names = typeof value === 'string' ? parseNames(value) : value
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string')) {
    draft.agent.agents = []
    draft.extra.set(key, value)
    return `'${key}' must be a list of names; the agent may call no other agents`
  }
  if (names.includes('*') || names.includes('all')) return undefined
  draft.agent.agents = names.filter((name) => name !== 'none').map((name: string) => name.trim())
  return undefined
}

function warnUnknownTools(draft: AgentDraft, list: ToolList, { key, line }: YamlEntry): void {
  if (list.unknown.length > 0) {
    addWarning(draft, line, unknownToolsMessage(list.unknown, draft.toolContext))
    const previous = draft.extra.get('unknown_tools')
    draft.extra.set('unknown_tools', [...(Array.isArray(previous) ? previous : []), ...list.unknown])
  }
  if (list.invalidCount > 0) addWarning(draft, line, `'${key}' has entries that are not names; they are ignored`)
}

/** Rejects the agent for a malformed rule, which could not be enforced, and warns about rules that may not work as intended. */
function checkDraftRules(draft: AgentDraft, line: number, rules: readonly string[]): void {
  try {
    validateRules({ deny: rules })
  } catch (thrown) {
    const { message, hint } = thrown as TroupeError
    throw new TroupeError('invalid_agent_file', `agent '${draft.agent.name}': ${message}`, { hint: hint ?? '' })
  }
  // The available tools are known only at run time, so every named tool counts as known.
  const tools = rules.map((rule) => parsePermissionRule(rule).tool)
  for (const { rule, reason } of lintRules({ deny: rules }, { tools }))
    addWarning(draft, line, `the rule '${rule}' may not work as intended: ${reason}`)
}

/** The problem with a server configuration; `undefined` when it has a valid `command` or `url`. */
function mcpServerProblem(config: unknown): string | undefined {
  if (config === null) return undefined
  if (typeof config !== 'object' || Array.isArray(config)) return "must be a map with 'command' or 'url'"
  const { command, url } = config as { command?: unknown; url?: unknown }
  if (command === undefined && url === undefined) return "'command' or 'url' is missing"
  const program: unknown = Array.isArray(command) ? command[0] : command
  if (command !== undefined && (typeof program !== 'string' || program.trim() === '')) {
    return "'command' must be a string, or a list that starts with one"
  }
  if (url !== undefined && (typeof url !== 'string' || url.trim() === '')) return "'url' must be a string"
  return undefined
}
