import type { AgentPermissions } from '../kernel/agent.ts'
import type { Draft } from './agent-draft.ts'
import { addRules, refuse, warn } from './agent-draft.ts'
import type { ToolList } from './tool-list.ts'
import { namesIn, readToolList, unknownTools } from './tool-list.ts'
import type { Entry } from './yaml-entries.ts'

/*
 * What an agent may do.
 * 1. A list that cannot be read grants nothing: taking the caller's tools instead would give rights nobody wrote down.
 * 2. An agent whose exclusions or denials cannot be read is refused, for the same reason.
 * 3. A name that nobody knows grants nothing, and is reported.
 */

export function takeTools(draft: Draft, { key, value, line }: Entry): void {
  const { agent } = draft
  if (value === null || value === '')
    return warn(draft, line, `'${key}' is empty and was left out; write [] for no tools`)
  const switches = switchesOf(value)
  if (switches) return takeSwitches(draft, { key, value: switches, line })
  const list = readToolList(value, draft.terms)
  if (!list) {
    agent.tools = []
    return warn(draft, line, `'${key}' must be names separated by commas, or a list; this agent gets none`)
  }
  sayUnknown(draft, list, { key, line })
  if (list.all) return
  agent.tools = list.tools
  addRules(agent, 'allow', list.rules)
  if (list.agents) agent.agents = list.agents
}

/** OpenCode turns tools on and off by name. Only those that are on are given; where all are off, the rest stays. */
function takeSwitches(draft: Draft, { key, value, line }: Entry & { value: Record<string, boolean> }): void {
  const named = (on: boolean) => Object.keys(value).filter((name) => value[name] === on)
  const [on, off] = [readToolList(named(true), draft.terms), readToolList(named(false), draft.terms)]
  if (!on || !off) return
  sayUnknown(draft, on, { key, line })
  if (on.tools.length > 0 || off.all) draft.agent.tools = on.tools
  draft.agent.exclude_tools = [...(draft.agent.exclude_tools ?? []), ...off.tools, ...off.unknown]
}

function switchesOf(value: unknown): Record<string, boolean> | undefined {
  const fits = isMap(value) && Object.values(value).every((each) => typeof each === 'boolean')
  return fits && Object.keys(value).length > 0 ? (value as Record<string, boolean>) : undefined
}

export function takeExclusions(draft: Draft, { key, value, line }: Entry): void {
  const { agent } = draft
  if (value === null || value === '') return warn(draft, line, `'${key}' is empty and was left out`)
  const list = readToolList(value, draft.terms)
  if (!list || list.unreadable > 0) return refuse(draft, key)
  if (list.unknown.length > 0) {
    const names = list.unknown.map((name) => `'${name}'`).join(', ')
    warn(draft, line, `'${key}' takes away what nobody knows: ${names}`)
  }
  if (list.all) agent.tools = []
  const whole = [...list.unlimited, ...list.unknown]
  if (whole.length > 0) agent.exclude_tools = [...new Set([...(agent.exclude_tools ?? []), ...whole])]
  addRules(agent, 'deny', [...list.rules, ...(list.agents ?? []).map((name) => `task(${name})`)])
}

/** Rules as `{allow: […], ask: […], deny: […]}`, or as OpenCode has them: `{bash: {'git push': ask}, edit: deny}`. */
export function takePermissions(draft: Draft, { key, value, line }: Entry): void {
  if (!isMap(value)) return refuse(draft, key)
  for (const [name, said] of Object.entries(value)) {
    const kind = kindOf(name)
    if (kind) takeRules(draft, { key: name, value: said, line }, kind)
    else if (isMap(said)) {
      for (const [pattern, answer] of Object.entries(said))
        takeAnswer(draft, { key: name, value: answer, line }, pattern)
    } else takeAnswer(draft, { key: name, value: said, line }, '*')
  }
}

function takeAnswer(draft: Draft, { key, value, line }: Entry, pattern: string): void {
  const kind = kindOf(value)
  if (!kind) return refuse(draft, key)
  takeRules(draft, { key, value: pattern === '*' ? [key] : [`${key}(${pattern})`], line }, kind)
}

function takeRules(draft: Draft, { key, value, line }: Entry, kind: keyof AgentPermissions): void {
  const list = readToolList(value ?? [], draft.terms)
  if (!list || list.unreadable > 0) return refuse(draft, key)
  sayUnknown(draft, list, { key, line })
  const denied = kind === 'deny' ? list.unknown : []
  const agents = (list.agents ?? []).map((name) => `task(${name})`)
  addRules(draft.agent, kind, [...(list.all ? ['*'] : []), ...list.unlimited, ...list.rules, ...agents, ...denied])
}

function kindOf(word: unknown): keyof AgentPermissions | undefined {
  return word === 'allow' || word === 'ask' || word === 'deny' ? word : undefined
}

/** Servers by name: with what starts them, or `null` for one that the configuration knows. */
export function takeServers(draft: Draft, { key, value, line }: Entry): void {
  const servers = new Map<string, unknown>()
  for (const item of Array.isArray(value) ? value : [value]) {
    if (typeof item === 'string') for (const name of namesIn(item)) servers.set(name, null)
    else if (isMap(item)) for (const [name, how] of Object.entries(item)) servers.set(name, how)
    else if (item !== null) warn(draft, line, `'${key}' must be names or servers by name`)
  }
  if (servers.size > 0) draft.agent.mcp_servers = Object.fromEntries(servers)
}

/** Whom it may call: all for a star, nobody for an empty list. */
export function takeAgents(draft: Draft, { key, value, line }: Entry): void {
  const names = typeof value === 'string' ? namesIn(value) : value
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string')) {
    draft.agent.agents = []
    draft.extra.set(key, value)
    return warn(draft, line, `'${key}' must be a list of names; this agent may call nobody`)
  }
  if (names.includes('*') || names.includes('all')) return
  draft.agent.agents = names.filter((name) => name !== 'none').map((name: string) => name.trim())
}

function sayUnknown(draft: Draft, list: ToolList, { key, line }: { key: string; line: number }): void {
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
