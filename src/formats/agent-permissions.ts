import { TroupeError } from '../errors.ts'
import { parsePermissionRule } from '../judgement/permission/permission-rule.ts'
import { lintRules, validateRules } from '../judgement/permission/rule-lint.ts'
import type { AgentPermissions } from '../kernel/agent.ts'
import type { AgentDraft } from './agent-draft.ts'
import { addRules, addWarning, rejectAgent } from './agent-draft.ts'
import type { ToolList } from './tool-list.ts'
import { parseNames, parseToolList, unknownToolsMessage } from './tool-list.ts'
import type { YamlEntry } from './yaml-entries.ts'

/*
 * What an agent may do.
 * 1. A list that cannot be read grants nothing: taking the caller's tools instead would give rights nobody wrote down.
 * 2. An agent whose exclusions or rules cannot be read is refused, for the same reason.
 * 3. A name that nobody knows grants nothing, and is reported.
 */

export function applyTools(draft: AgentDraft, entry: YamlEntry): string | undefined {
  const { agent, toolContext } = draft
  const { key, value } = entry
  if (value === null || value === '') return `'${key}' is empty and was left out; write [] for no tools`
  const switches = toToolSwitches(value)
  const list = switches ? readToolSwitches(draft, switches) : parseToolList(value, toolContext)
  if (!list) {
    agent.tools = []
    return `'${key}' must be names separated by commas, or a list; this agent gets none`
  }
  warnUnknownTools(draft, list, entry)
  if (list.all) return undefined
  checkDraftRules(draft, entry.line, list.rules)
  addRules(agent, 'allow', list.rules)
  if (list.agents) agent.agents = list.agents
  const before = draft.toolsKey === key ? undefined : agent.tools
  draft.toolsKey = key
  agent.tools = before ? list.tools.filter((name) => before.includes(name)) : list.tools
  return before ? `'${key}' is a second list of tools; only what is in both is given` : undefined
}

/** OpenCode turns tools on and off by name. Only those that are on are given; where none is, the others stay. */
function readToolSwitches({ agent, toolContext }: AgentDraft, switches: Record<string, boolean>): ToolList | undefined {
  const named = (on: boolean) => Object.keys(switches).filter((name) => switches[name] === on)
  const off = parseToolList(named(false), toolContext)
  const on = parseToolList(named(true), toolContext)
  if (!on || !off) return undefined
  const taken = [...off.tools, ...off.unknown]
  if (taken.length > 0) agent.exclude_tools = [...new Set([...(agent.exclude_tools ?? []), ...taken])]
  return named(true).length === 0 && !off.all ? { ...on, all: true } : on
}

function toToolSwitches(value: unknown): Record<string, boolean> | undefined {
  if (!isMap(value) || Object.keys(value).length === 0) return undefined
  return Object.values(value).every((each) => typeof each === 'boolean')
    ? (value as Record<string, boolean>)
    : undefined
}

export function applyExcludedTools(draft: AgentDraft, { key, value, line }: YamlEntry): string | undefined {
  const { agent } = draft
  if (value === null || value === '') return `'${key}' is empty and was left out`
  const list = parseToolList(value, draft.toolContext)
  if (!list || list.invalidCount > 0) return rejectAgent(draft, key)
  if (list.all) agent.tools = []
  checkDraftRules(draft, line, [...list.rules, ...list.unknown])
  const whole = [...list.unrestricted, ...list.unknown]
  if (whole.length > 0) agent.exclude_tools = [...new Set([...(agent.exclude_tools ?? []), ...whole])]
  addRules(agent, 'deny', [...list.rules, ...(list.agents ?? []).map((name) => `task(${name})`)])
  if (list.unknown.length === 0) return undefined
  addWarning(
    draft,
    line,
    `'${key}' takes away what nobody knows: ${list.unknown.map((name) => `'${name}'`).join(', ')}`,
  )
  return undefined
}

/** Rules as `{allow: […], ask: […], deny: […]}`, or as OpenCode has them: `{bash: {'git push': ask}, edit: deny}`. */
export function applyPermissions(draft: AgentDraft, { key, value, line }: YamlEntry): string | undefined {
  if (!isMap(value)) return rejectAgent(draft, key)
  for (const [name, said] of Object.entries(value)) {
    const kind = toPermissionKind(name)
    if (kind) applyRules(draft, { key: name, value: said, line }, kind)
    else if (isMap(said)) {
      for (const [pattern, answer] of Object.entries(said))
        applyPatternRule(draft, { key: name, value: answer, line }, pattern)
    } else applyPatternRule(draft, { key: name, value: said, line }, '*')
  }
  return undefined
}

function applyPatternRule(draft: AgentDraft, { key, value, line }: YamlEntry, pattern: string): void {
  const kind = toPermissionKind(value)
  if (!kind) rejectAgent(draft, key)
  applyRules(draft, { key, value: [pattern === '*' ? key : `${key}(${pattern})`], line }, kind)
}

function applyRules(draft: AgentDraft, entry: YamlEntry, kind: keyof AgentPermissions): void {
  const list = parseToolList(entry.value ?? [], draft.toolContext)
  if (!list || list.invalidCount > 0) rejectAgent(draft, entry.key)
  warnUnknownTools(draft, list, entry)
  const denied = kind === 'deny' ? list.unknown : []
  const agents = (list.agents ?? []).map((name) => `task(${name})`)
  // An entry that is no rule at all is not merely unknown: nobody can say what it was to forbid.
  checkDraftRules(draft, entry.line, [...list.rules, ...list.unknown])
  addRules(draft.agent, kind, [...(list.all ? ['*'] : []), ...list.unrestricted, ...list.rules, ...agents, ...denied])
}

function toPermissionKind(word: unknown): keyof AgentPermissions | undefined {
  return word === 'allow' || word === 'ask' || word === 'deny' ? word : undefined
}

/** Servers by name: with what starts them, or `null` for one that the configuration knows. */
export function applyMcpServers(draft: AgentDraft, { key, value, line }: YamlEntry): string | undefined {
  const servers = new Map<string, unknown>()
  const items = Array.isArray(value) ? value : [value]
  for (const item of items) {
    if (typeof item === 'string') for (const name of parseNames(item)) servers.set(name, null)
    if (isMap(item)) for (const [name, how] of Object.entries(item)) servers.set(name, how)
  }
  for (const [name, how] of servers) {
    const why = mcpServerProblem(how)
    if (why === undefined) continue
    servers.delete(name)
    draft.problems.push({ level: 'error', line, message: `the server '${name}' is left out: ${why}` })
  }
  if (servers.size > 0) draft.agent.mcp_servers = Object.fromEntries(servers)
  const readable = items.every((item) => item === null || typeof item === 'string' || isMap(item))
  return readable ? undefined : `'${key}' must be names, or servers by name`
}

/** Whom it may call: all for a star, nobody for an empty list. */
export function applyAgents(draft: AgentDraft, { key, value }: YamlEntry): string | undefined {
  const names = typeof value === 'string' ? parseNames(value) : value
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string')) {
    draft.agent.agents = []
    draft.extra.set(key, value)
    return `'${key}' must be a list of names; this agent may call nobody`
  }
  if (names.includes('*') || names.includes('all')) return undefined
  draft.agent.agents = names.filter((name) => name !== 'none').map((name: string) => name.trim())
  return undefined
}

function warnUnknownTools(draft: AgentDraft, list: ToolList, { key, line }: YamlEntry): void {
  if (list.unknown.length > 0) {
    addWarning(draft, line, unknownToolsMessage(list.unknown, draft.toolContext))
    const before = draft.extra.get('unknown_tools')
    draft.extra.set('unknown_tools', [...(Array.isArray(before) ? before : []), ...list.unknown])
  }
  if (list.invalidCount > 0) addWarning(draft, line, `'${key}' holds entries that are no names; they are left out`)
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Refuses the agent for a rule that nobody can read: in a run every call would fail, or what was to be forbidden would not
 * be. Rules that cannot match what they seem to are told of.
 */
function checkDraftRules(draft: AgentDraft, line: number, rules: readonly string[]): void {
  try {
    validateRules({ deny: rules })
  } catch (thrown) {
    const { message, hint } = thrown as TroupeError
    throw new TroupeError('invalid_agent_file', `agent '${draft.agent.name}': ${message}`, { hint: hint ?? '' })
  }
  // Which tools and servers there are is known only where the agent works.
  const tools = rules.map((rule) => parsePermissionRule(rule).tool)
  for (const { rule, reason } of lintRules({ deny: rules }, { tools }))
    addWarning(draft, line, `the rule '${rule}' does not do what it seems to: ${reason}`)
}

/** Why nothing could be started or reached from what a file says about a server; `undefined` when something could. */
function mcpServerProblem(entry: unknown): string | undefined {
  if (entry === null) return undefined
  if (typeof entry !== 'object' || Array.isArray(entry)) return 'it must be a map with a command or a url'
  const { command, url } = entry as { command?: unknown; url?: unknown }
  if (command === undefined && url === undefined) return 'it has neither a command nor a url'
  const program: unknown = Array.isArray(command) ? command[0] : command
  if (command !== undefined && (typeof program !== 'string' || program.trim() === '')) {
    return 'its command must be a text, or a list that begins with one'
  }
  if (url !== undefined && (typeof url !== 'string' || url.trim() === '')) return 'its url must be a text'
  return undefined
}
