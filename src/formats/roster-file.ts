import type { Agent } from '../kernel/agent.ts'
import { AGENT_NAME_RULE, toAgentName } from '../kernel/agent-name.ts'
import { isRecord } from '../schema/json-value.ts'
import type { Dialect } from './agent-dialect.ts'
import { agentNameFromPath, normalizeKey } from './agent-dialect.ts'
import type { AgentDraft } from './agent-draft.ts'
import { addWarning, createDraft, finishDraft, MISSING_DESCRIPTION } from './agent-draft.ts'
import type { AgentFile, AgentFileOptions } from './agent-file.ts'
import { applyEntry } from './agent-keys.ts'
import type { Problem } from './file-text.ts'
import { splitLines } from './frontmatter.ts'
import type { YamlEntries, YamlEntry } from './yaml-entries.ts'
import { parseYamlEntries } from './yaml-entries.ts'

export interface RosterFileOptions extends AgentFileOptions {
  /** Reads a file named in the roster, relative to it; `undefined` when it cannot be read. */
  readSibling?(path: string): Promise<string | undefined>
}

type Fields = Record<string, unknown>

/** Keys that hold the instructions, in all dialects. */
const INSTRUCTION_KEYS = ['instructions', 'instruction', 'prompt', 'system_prompt', 'system_message', 'prompt_template']
const MAX_CHARACTERS = 262_144
/** Cheap pre-check: a YAML file without one of these keys defines no agent. */
const MAY_DEFINE_AGENTS = /^\s*(-\s+)?["']?(agents|role|goal|backstory|prompt|instructions?|system_prompt)["']?\s*:/m

export interface RosterFile {
  agents: AgentFile[]
  /** Problems that concern no agent. */
  problems: Problem[]
}

/** Parses the agents of a YAML file: CrewAI's `agents.yaml`, a team, a list or one agent. Other YAML yields none. */
export async function parseRosterFile(
  text: string,
  path: string,
  options: RosterFileOptions = {},
): Promise<RosterFile> {
  if (text.length > MAX_CHARACTERS || !MAY_DEFINE_AGENTS.test(text)) return { agents: [], problems: [] }
  const lines = splitLines(text)
  const roster = await parseRoster(lines)
  if (!roster) return { agents: [], problems: [] }
  const members = toMembers(roster.entries, path).map((member) => ({ ...member, line: memberLine(lines, member) }))
  const agents: AgentFile[] = []
  for (const member of members) agents.push(await toAgentFile(member, { path, options }))
  for (const problem of roster.problems) {
    const owner = members.findLastIndex(({ line }) => line <= problem.line)
    agents[Math.max(0, owner)]?.problems.push(problem)
  }
  const unassigned = agents.length === 0 && /^agents\s*:|^\s+goal\s*:/m.test(text) ? roster.problems : []
  return { agents, problems: unassigned.map(({ line }) => ({ level: 'error', line, message: 'not valid YAML' })) }
}

function parseRoster(lines: readonly string[]): Promise<YamlEntries | undefined> {
  const known = ['name', 'description', 'role', 'goal', 'backstory', 'llm', 'tools', 'model', 'agents', 'handoffs']
  const isList = /^- /.test(lines.find((line) => line.trim() !== '' && !/^(#|---)/.test(line)) ?? '')
  if (!isList) return parseYamlEntries(lines, { known, first: 1 })
  // A top-level list is parsed as the `agents` of a team.
  const items = lines.map((line) => (/^---[ \t]*$/.test(line) ? '' : line))
  return parseYamlEntries(['agents:', ...items], { known, first: 0 })
}

interface Member {
  name: string
  fields: Fields
  dialect: Dialect
  line: number
  /** Name of the team, or empty. */
  team: string
}

function toMembers(entries: readonly YamlEntry[], path: string): Member[] {
  const findEntry = (key: string) => entries.find((entry) => entry.key === key)
  const agents = findEntry('agents')
  const team = String(findEntry('name')?.value ?? '')
  if (agents) return teamMembers(agents, team)
  const crew = entries.filter(
    ({ value }) => isRecord(value) && 'role' in value && ('goal' in value || 'backstory' in value),
  )
  if (crew.length > 0) {
    return crew.map(({ key, value, line }) => ({
      name: key,
      fields: value as Fields,
      dialect: 'crewai',
      line,
      team: '',
    }))
  }
  const single = Object.fromEntries(entries.map(({ key, value }) => [key, value]))
  const hasInstructions =
    INSTRUCTION_KEYS.some((key) => typeof single[key] === 'string') || ('role' in single && 'goal' in single)
  if (!hasInstructions || !('name' in single || 'role' in single)) return []
  const dialect = 'goal' in single ? 'crewai' : 'agentx'
  return [{ name: agentNameFromPath(path), fields: single, dialect, line: 1, team: '' }]
}

/** The agents that a team defines; entries that only name an agent or refer to a roster or team define none. */
function teamMembers({ value, line }: YamlEntry, team: string): Member[] {
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.map((fields) => [isRecord(fields) ? String(fields.name ?? fields.role ?? '').trim() : '', fields])
    : isRecord(value)
      ? Object.entries(value)
      : []
  return entries.flatMap(([name, fields]): Member[] => {
    if (name === '' || !isRecord(fields) || 'uses' in fields || 'team' in fields) return []
    const dialect = 'backstory' in fields || 'goal' in fields ? 'crewai' : 'agentx'
    return Object.keys(fields).length > 1 || !('name' in fields) ? [{ name, fields, dialect, line, team }] : []
  })
}

/** The line that names a member, searched from the first line of the members. */
function memberLine(lines: readonly string[], { name, line }: Member): number {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const namePattern = new RegExp(
    `^\\s*(-\\s+)?(name\\s*:\\s*["']?${escaped}["']?\\s*(#.*)?$|["']?${escaped}["']?\\s*:)`,
  )
  const index = lines.findIndex((text, candidate) => candidate >= line - 1 && namePattern.test(text))
  return index < 0 ? line : index + 1
}

async function toAgentFile(
  member: Member,
  { path, options }: { path: string; options: RosterFileOptions },
): Promise<AgentFile> {
  const { fields, line, dialect } = member
  const origin = { by: 'user' as const, path, dialect }
  const agent: Agent = { name: toAgentName(member.name), description: '', instructions: '', origin }
  const draft = createDraft(agent, dialect, options.tools ?? [])
  if (agent.name !== member.name)
    addWarning(draft, line, `the name of the agent is not valid, '${agent.name}' is used: ${AGENT_NAME_RULE}`)
  for (const [key, value] of Object.entries(fields)) applyField(draft, { key, value, line })
  agent.description ||= memberDescription(fields)
  agent.instructions = await memberInstructions(draft, member, options)
  if (!agent.description) addWarning(draft, line, MISSING_DESCRIPTION)
  const placeholder = /\{\w+\}/.exec(agent.instructions)?.[0]
  if (dialect === 'crewai' && placeholder !== undefined) {
    addWarning(
      draft,
      line,
      `placeholders such as ${placeholder} in the instructions of '${agent.name}' are not filled in`,
    )
  }
  return finishDraft(draft)
}

/** Applies a field after translating it to Troupe's keys; unknown fields are applied unchanged. */
function applyField(draft: AgentDraft, entry: YamlEntry): void {
  const { key, value, line } = entry
  const translated = Object.entries(translateField(key, value))
  const isKnown = translated.length > 0 || TRANSLATED_FIELDS.includes(normalizeKey(key))
  if (isKnown && !INSTRUCTION_KEYS.includes(key)) draft.extra.set(key, value)
  for (const [name, translatedValue] of translated) applyEntry(draft, { key: name, value: translatedValue, line })
  if (!isKnown && !INSTRUCTION_KEYS.includes(key)) applyEntry(draft, entry)
}

/** Fields that become part of the instructions or are translated by `translateField`. */
const TRANSLATED_FIELDS = ['role', 'goal', 'backstory', 'allowdelegation', 'llm', 'llmconfig']

function translateField(key: string, value: unknown): Fields {
  switch (normalizeKey(key)) {
    case 'llm':
    case 'llmconfig': {
      const { provider, model, temperature } = isRecord(value) ? value : ({ model: value } as Fields)
      const name = typeof provider === 'string' && !String(model).includes('/') ? `${provider}/${model}` : model
      return {
        ...(model === undefined || model === null ? undefined : { model: name }),
        ...(temperature === undefined ? undefined : { temperature }),
      }
    }
    case 'maxexecutiontime':
      return { timeout_ms: Number(value) * 1000 }
    case 'allowdelegation':
      return /^(no|off|false)$/i.test(String(value)) ? { agents: [] } : {}
    default:
      return {}
  }
}

function memberDescription({ role, goal }: Fields): string {
  return [role, goal].flatMap((each) => (typeof each === 'string' && each.trim() ? [each.trim()] : [])).join(': ')
}

async function memberInstructions(
  draft: AgentDraft,
  { name, fields, team, line }: Member,
  options: RosterFileOptions,
): Promise<string> {
  const key = INSTRUCTION_KEYS.find((each) => typeof fields[each] === 'string')
  const instructions = key === undefined ? '' : String(fields[key]).trim()
  if (/^[\w./-]+\.(md|txt|j2)$/.test(instructions)) {
    draft.extra.set(key ?? '', instructions)
    const text = await options.readSibling?.(instructions)
    if (text !== undefined) return splitLines(text).join('\n').trim()
    addWarning(draft, line, `cannot read the instructions of '${name}' from ${instructions}`)
  } else if (instructions !== '') return instructions
  const text = (value: unknown) => (typeof value === 'string' ? value.trim() : '')
  const role = text(fields.role)
  const identity = team === '' ? `You are ${role || name}.` : `You are ${name}, a member of the team ${team}.`
  const roleLine = team === '' || role === '' ? '' : `Your role: ${role}`
  const goalLine = text(fields.goal) === '' ? '' : `Your goal: ${text(fields.goal)}`
  const description = goalLine === '' && role === '' ? text(fields.description) : ''
  return [identity, roleLine, text(fields.backstory), goalLine, description].filter(Boolean).join('\n\n')
}
