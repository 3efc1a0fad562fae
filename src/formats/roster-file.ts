import type { Agent } from '../kernel/agent.ts'
import type { Dialect } from './agent-dialect.ts'
import { agentNameFromPath, normalizeKey } from './agent-dialect.ts'
import type { AgentDraft } from './agent-draft.ts'
import { addWarning, createDraft, finishDraft } from './agent-draft.ts'
import type { AgentFile, AgentFileOptions } from './agent-file.ts'
import { applyEntry } from './agent-keys.ts'
import type { Problem } from './file-problem.ts'
import { splitLines } from './frontmatter.ts'
import type { YamlEntries, YamlEntry } from './yaml-entries.ts'
import { parseYamlEntries } from './yaml-entries.ts'

export interface RosterFileOptions extends AgentFileOptions {
  /** The text of a file named in the roster, relative to it; `undefined` when it cannot be read. */
  readSibling?(path: string): Promise<string | undefined>
}

type Fields = Record<string, unknown>

/** Where an agent's instructions stand, by what others call them. */
const INSTRUCTION_KEYS = ['instructions', 'instruction', 'prompt', 'system_prompt', 'system_message', 'prompt_template']
const MAX_CHARACTERS = 262_144
/** A file that has none of these words defines no agent; most YAML files are something else. */
const MAY_DEFINE_AGENTS = /^\s*(-\s+)?["']?(agents|role|goal|backstory|prompt|instructions?|system_prompt)["']?\s*:/m

export interface RosterFile {
  agents: AgentFile[]
  /** What concerns none of them. */
  problems: Problem[]
}

/** The agents of a YAML file: CrewAI's `agents.yaml`, the agents of a team, or one agent. None when it is no roster. */
export async function parseRosterFile(
  text: string,
  path: string,
  options: RosterFileOptions = {},
): Promise<RosterFile> {
  const nothing = { agents: [], problems: [] }
  if (text.length > MAX_CHARACTERS || !MAY_DEFINE_AGENTS.test(text)) return nothing
  const lines = splitLines(text)
  const read = await parseRoster(lines)
  if (!read) return nothing
  const members = toMembers(read.entries, path).map((member) => ({ ...member, line: memberLine(lines, member) }))
  const agents: AgentFile[] = []
  for (const member of members) agents.push(await toAgentFile(member, { path, options }))
  for (const problem of read.problems) {
    const owner = members.findLastIndex(({ line }) => line <= problem.line)
    agents[Math.max(0, owner)]?.problems.push(problem)
  }
  const lost = agents.length === 0 && /^agents\s*:|^\s+goal\s*:/m.test(text) ? read.problems : []
  return { agents, problems: lost.map(({ line }) => ({ level: 'error', line, message: 'is not valid YAML' })) }
}

function parseRoster(lines: readonly string[]): Promise<YamlEntries | undefined> {
  const known = ['name', 'description', 'role', 'goal', 'backstory', 'llm', 'tools', 'model', 'agents', 'handoffs']
  const isBare = /^- /.test(lines.find((line) => line.trim() !== '' && !/^(#|---)/.test(line)) ?? '')
  if (!isBare) return parseYamlEntries(lines, { known, first: 1 })
  // A bare list is the list of a team without a name.
  const list = lines.map((line) => (/^---[ \t]*$/.test(line) ? '' : line))
  return parseYamlEntries(['agents:', ...list], { known, first: 0 })
}

interface Member {
  name: string
  fields: Fields
  dialect: Dialect
  line: number
  /** The team it belongs to, in words. */
  team: string
}

function toMembers(entries: readonly YamlEntry[], path: string): Member[] {
  const of = (key: string) => entries.find((entry) => entry.key === key)
  const agents = of('agents')
  const team = String(of('name')?.value ?? '')
  if (agents) return teamMembers(agents, team)
  const crew = entries.filter(
    ({ value }) => isFields(value) && 'role' in value && ('goal' in value || 'backstory' in value),
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
  const defines =
    INSTRUCTION_KEYS.some((key) => typeof single[key] === 'string') || ('role' in single && 'goal' in single)
  if (!defines || !('name' in single || 'role' in single)) return []
  const dialect = 'goal' in single ? 'crewai' : 'agentx'
  return [{ name: agentNameFromPath(path), fields: single, dialect, line: 1, team: '' }]
}

/** Entries that only name an agent, or point to a roster or a team, define none. */
function teamMembers({ value, line }: YamlEntry, team: string): Member[] {
  const named: [string, unknown][] = Array.isArray(value)
    ? value.map((fields) => [isFields(fields) ? String(fields.name ?? fields.role ?? '').trim() : '', fields])
    : isFields(value)
      ? Object.entries(value)
      : []
  return named.flatMap(([name, fields]): Member[] => {
    if (name === '' || !isFields(fields) || 'uses' in fields || 'team' in fields) return []
    const dialect = 'backstory' in fields || 'goal' in fields ? 'crewai' : 'agentx'
    return Object.keys(fields).length > 1 || !('name' in fields) ? [{ name, fields, dialect, line, team }] : []
  })
}

/** The line that names a member, searched from where the members begin. */
function memberLine(lines: readonly string[], { name, line }: Member): number {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const naming = new RegExp(`^\\s*(-\\s+)?(name\\s*:\\s*["']?${escaped}["']?\\s*(#.*)?$|["']?${escaped}["']?\\s*:)`)
  const index = lines.findIndex((each, at) => at >= line - 1 && naming.test(each))
  return index < 0 ? line : index + 1
}

async function toAgentFile(
  member: Member,
  { path, options }: { path: string; options: RosterFileOptions },
): Promise<AgentFile> {
  const { fields, line, dialect } = member
  const origin = { by: 'user' as const, path, dialect }
  const agent: Agent = { name: member.name, description: '', instructions: '', origin }
  const draft = createDraft(agent, dialect, options.tools ?? [])
  for (const [key, value] of Object.entries(fields)) applyField(draft, { key, value, line })
  agent.description ||= memberDescription(fields)
  agent.instructions = await memberInstructions(draft, member, options)
  if (!agent.description) addWarning(draft, line, 'has no description: nobody will know when to call it')
  const places = /\{\w+\}/.exec(agent.instructions)?.[0]
  if (dialect === 'crewai' && places !== undefined) {
    addWarning(draft, line, `'${agent.name}' has places to fill in, such as ${places}; they are left as they are`)
  }
  return finishDraft(draft)
}

/** What the fields of these dialects come to in ours; fields that are the same pass unchanged. */
function applyField(draft: AgentDraft, entry: YamlEntry): void {
  const { key, value, line } = entry
  const ours = Object.entries(translateField(key, value))
  const known = ours.length > 0 || TRANSLATED_FIELDS.includes(normalizeKey(key))
  if (known && !INSTRUCTION_KEYS.includes(key)) draft.extra.set(key, value)
  for (const [name, said] of ours) applyEntry(draft, { key: name, value: said, line })
  if (!known && !INSTRUCTION_KEYS.includes(key)) applyEntry(draft, entry)
}

/** Fields that become part of the instructions, or that say what is so anyway. */
const TRANSLATED_FIELDS = ['role', 'goal', 'backstory', 'allowdelegation', 'llm', 'llmconfig']

function translateField(key: string, value: unknown): Fields {
  switch (normalizeKey(key)) {
    case 'llm':
    case 'llmconfig': {
      const { provider, model, temperature } = isFields(value) ? value : ({ model: value } as Fields)
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
  const said = key === undefined ? '' : String(fields[key]).trim()
  if (/^[\w./-]+\.(md|txt|j2)$/.test(said)) {
    draft.extra.set(key ?? '', said)
    const text = await options.readSibling?.(said)
    if (text !== undefined) return splitLines(text).join('\n').trim()
    addWarning(draft, line, `the instructions of '${name}' cannot be read from ${said}`)
  } else if (said !== '') return said
  const text = (value: unknown) => (typeof value === 'string' ? value.trim() : '')
  const role = text(fields.role)
  const who = team === '' ? `You are ${role || name}.` : `You are ${name}, of the team ${team}.`
  const part = team === '' || role === '' ? '' : `Your part: ${role}`
  const goal = text(fields.goal) === '' ? '' : `Your goal: ${text(fields.goal)}`
  const about = goal === '' && role === '' ? text(fields.description) : ''
  return [who, part, text(fields.backstory), goal, about].filter(Boolean).join('\n\n')
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
