import type { AgentPermissions } from '../kernel/agent.ts'
import type { Draft } from './agent-draft.ts'
import { addRules, refuse, warn } from './agent-draft.ts'
import { checkWritten } from './rule-check.ts'
import { serverProblem } from './server-entry.ts'
import type { ToolList } from './tool-list.ts'
import { namesIn, readToolList, unknownTools } from './tool-list.ts'
import type { Entry } from './yaml-entries.ts'

/*
 * What an agent may do.
 * 1. A list that cannot be read grants nothing: taking the caller's tools instead would give rights nobody wrote down.
 * 2. An agent whose exclusions or rules cannot be read is refused, for the same reason.
 * 3. A name that nobody knows grants nothing, and is reported.
 */

export function takeTools(draft: Draft, entry: Entry): string | undefined {
  const { agent, terms } = draft
  const { key, value } = entry
  if (value === null || value === '') return `'${key}' is empty and was left out; write [] for no tools`
  const switches = switchesOf(value)
  const list = switches ? readSwitches(draft, switches) : readToolList(value, terms)
  if (!list) {
    agent.tools = []
    return `'${key}' must be names separated by commas, or a list; this agent gets none`
  }
  sayUnknown(draft, list, entry)
  if (list.all) return undefined
  checkWritten(draft, entry.line, list.rules)
  addRules(agent, 'allow', list.rules)
  if (list.agents) agent.agents = list.agents
  const before = draft.toolsKey === key ? undefined : agent.tools
  draft.toolsKey = key
  agent.tools = before ? list.tools.filter((name) => before.includes(name)) : list.tools
  return before ? `'${key}' is a second list of tools; only what is in both is given` : undefined
}

/** OpenCode turns tools on and off by name. Only those that are on are given; where none is, the others stay. */
function readSwitches({ agent, terms }: Draft, switches: Record<string, boolean>): ToolList | undefined {
  const named = (on: boolean) => Object.keys(switches).filter((name) => switches[name] === on)
  const off = readToolList(named(false), terms)
  const on = readToolList(named(true), terms)
  if (!on || !off) return undefined
  const taken = [...off.tools, ...off.unknown]
  if (taken.length > 0) agent.exclude_tools = [...new Set([...(agent.exclude_tools ?? []), ...taken])]
  return named(true).length === 0 && !off.all ? { ...on, all: true } : on
}

function switchesOf(value: unknown): Record<string, boolean> | undefined {
  if (!isMap(value) || Object.keys(value).length === 0) return undefined
  return Object.values(value).every((each) => typeof each === 'boolean')
    ? (value as Record<string, boolean>)
    : undefined
}

export function takeExclusions(draft: Draft, { key, value, line }: Entry): string | undefined {
  const { agent } = draft
  if (value === null || value === '') return `'${key}' is empty and was left out`
  const list = readToolList(value, draft.terms)
  if (!list || list.unreadable > 0) return refuse(draft, key)
  if (list.all) agent.tools = []
  checkWritten(draft, line, [...list.rules, ...list.unknown])
  const whole = [...list.unlimited, ...list.unknown]
  if (whole.length > 0) agent.exclude_tools = [...new Set([...(agent.exclude_tools ?? []), ...whole])]
  addRules(agent, 'deny', [...list.rules, ...(list.agents ?? []).map((name) => `task(${name})`)])
  if (list.unknown.length === 0) return undefined
  warn(draft, line, `'${key}' takes away what nobody knows: ${list.unknown.map((name) => `'${name}'`).join(', ')}`)
  return undefined
}

/** Rules as `{allow: […], ask: […], deny: […]}`, or as OpenCode has them: `{bash: {'git push': ask}, edit: deny}`. */
export function takePermissions(draft: Draft, { key, value, line }: Entry): string | undefined {
  if (!isMap(value)) return refuse(draft, key)
  for (const [name, said] of Object.entries(value)) {
    const kind = kindOf(name)
    if (kind) takeRules(draft, { key: name, value: said, line }, kind)
    else if (isMap(said)) {
      for (const [pattern, answer] of Object.entries(said))
        takeAnswer(draft, { key: name, value: answer, line }, pattern)
    } else takeAnswer(draft, { key: name, value: said, line }, '*')
  }
  return undefined
}

function takeAnswer(draft: Draft, { key, value, line }: Entry, pattern: string): void {
  const kind = kindOf(value)
  if (!kind) refuse(draft, key)
  takeRules(draft, { key, value: [pattern === '*' ? key : `${key}(${pattern})`], line }, kind)
}

function takeRules(draft: Draft, entry: Entry, kind: keyof AgentPermissions): void {
  const list = readToolList(entry.value ?? [], draft.terms)
  if (!list || list.unreadable > 0) refuse(draft, entry.key)
  sayUnknown(draft, list, entry)
  const denied = kind === 'deny' ? list.unknown : []
  const agents = (list.agents ?? []).map((name) => `task(${name})`)
  // An entry that is no rule at all is not merely unknown: nobody can say what it was to forbid.
  checkWritten(draft, entry.line, [...list.rules, ...list.unknown])
  addRules(draft.agent, kind, [...(list.all ? ['*'] : []), ...list.unlimited, ...list.rules, ...agents, ...denied])
}

function kindOf(word: unknown): keyof AgentPermissions | undefined {
  return word === 'allow' || word === 'ask' || word === 'deny' ? word : undefined
}

/** Servers by name: with what starts them, or `null` for one that the configuration knows. */
export function takeServers(draft: Draft, { key, value, line }: Entry): string | undefined {
  const servers = new Map<string, unknown>()
  const items = Array.isArray(value) ? value : [value]
  for (const item of items) {
    if (typeof item === 'string') for (const name of namesIn(item)) servers.set(name, null)
    if (isMap(item)) for (const [name, how] of Object.entries(item)) servers.set(name, how)
  }
  for (const [name, how] of servers) {
    const why = serverProblem(how)
    if (why === undefined) continue
    servers.delete(name)
    draft.problems.push({ level: 'error', line, message: `the server '${name}' is left out: ${why}` })
  }
  if (servers.size > 0) draft.agent.mcp_servers = Object.fromEntries(servers)
  const readable = items.every((item) => item === null || typeof item === 'string' || isMap(item))
  return readable ? undefined : `'${key}' must be names, or servers by name`
}

/** Whom it may call: all for a star, nobody for an empty list. */
export function takeAgents(draft: Draft, { key, value }: Entry): string | undefined {
  const names = typeof value === 'string' ? namesIn(value) : value
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string')) {
    draft.agent.agents = []
    draft.extra.set(key, value)
    return `'${key}' must be a list of names; this agent may call nobody`
  }
  if (names.includes('*') || names.includes('all')) return undefined
  draft.agent.agents = names.filter((name) => name !== 'none').map((name: string) => name.trim())
  return undefined
}

function sayUnknown(draft: Draft, list: ToolList, { key, line }: Entry): void {
  if (list.unknown.length > 0) {
    warn(draft, line, unknownTools(list.unknown, draft.terms))
    const before = draft.extra.get('unknown_tools')
    draft.extra.set('unknown_tools', [...(Array.isArray(before) ? before : []), ...list.unknown])
  }
  if (list.unreadable > 0) warn(draft, line, `'${key}' holds entries that are no names; they are left out`)
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
