import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { nearest, TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Problem } from './frontmatter.ts'
import { readFrontmatter } from './frontmatter.ts'

const USED = ['name', 'description', 'tools', 'disallowedTools', 'model', 'maxTurns', 'temperature']
/** Keys of the dialect that say something we do not act on yet: reported, so that nobody relies on them. */
const UNUSED = 'permissionMode skills mcpServers hooks memory background isolation effort initialPrompt'.split(' ')
const HARMLESS = ['color']
const KNOWN = [...USED, ...UNUSED, ...HARMLESS]
/** One of these makes a markdown file an agent; pages of documentation have titles and descriptions too. */
const TELLING = USED.filter((key) => key !== 'description')

export interface AgentFile {
  agent: Agent
  problems: Problem[]
}

export interface LoadedAgents {
  agents: Agent[]
  problems: (Problem & { path: string })[]
}

/** Reads an agent file (Claude Code's dialect, plus `temperature`); `undefined` when the file is no agent. */
export async function parseAgentFile(text: string, path: string): Promise<AgentFile | undefined> {
  const head = await readFrontmatter(text, KNOWN)
  if (!head) {
    if (/^\uFEFF?---[ \t]*\r?\n(?:\S.*\r?\n)*?name[ \t]*:/.test(text)) throw unclosed(path)
    return undefined
  }
  if (!head.entries.some(({ key }) => TELLING.includes(key))) return undefined
  const agent: Agent = {
    name: basename(path).replace(/\.md$/, ''),
    description: '',
    instructions: head.body,
    origin: { by: 'user', path, dialect: 'claude-code' },
  }
  const problems = [...head.problems]
  const seen = new Set<string>()
  for (const { key, value, line } of head.entries) {
    const message = seen.has(key) ? `'${key}' is given twice; the last one counts` : undefined
    for (const problem of [message, take(agent, key, value)]) if (problem) problems.push({ line, message: problem })
    seen.add(key)
  }
  if (!seen.has('name')) problems.push({ line: 1, message: `has no name; called '${agent.name}' after its file` })
  if (!agent.description) problems.push({ line: 1, message: 'has no description: nobody will know when to call it' })
  if (!agent.instructions) problems.push({ line: 1, message: 'has no instructions below its frontmatter' })
  return { agent, problems: problems.sort((a, b) => a.line - b.line) }
}

/** The agents of the `*.md` files in a folder. A file that cannot be used is a problem, not the end of the others. */
export async function loadAgents(folder: string): Promise<LoadedAgents> {
  const loaded: LoadedAgents = { agents: [], problems: [] }
  for (const name of await markdownFiles(folder)) {
    const path = join(folder, name)
    try {
      const file = await parseAgentFile(await readFile(path, 'utf8'), path)
      if (!file) continue
      loaded.problems.push(...file.problems.map((problem) => ({ path, ...problem })))
      const twin = loaded.agents.find((agent) => agent.name === file.agent.name)
      if (!twin) loaded.agents.push(file.agent)
      else loaded.problems.push({ path, line: 1, message: `a second agent '${twin.name}'; the first one counts` })
    } catch (error) {
      loaded.problems.push({ path, line: 1, message: (error as Error).message })
    }
  }
  return loaded
}

async function markdownFiles(folder: string): Promise<string[]> {
  try {
    const files = await readdir(folder, { withFileTypes: true })
    return files
      .filter((file) => !file.isDirectory() && file.name.endsWith('.md'))
      .map(({ name }) => name)
      .sort()
  } catch (error) {
    throw new TroupeError('invalid_agent_file', `no agents can be read from ${folder}: ${(error as Error).message}`, {
      hint: 'name a folder with one markdown file for each agent',
      blame: 'operator',
      cause: error,
    })
  }
}

function unclosed(path: string): TroupeError {
  return new TroupeError('invalid_agent_file', `${path}: the frontmatter that begins in line 1 never ends`, {
    hint: 'close it with a line of three dashes',
  })
}

/** Puts one key into the agent, and says what is wrong with it. */
function take(agent: Agent, key: string, value: unknown): string | undefined {
  switch (key) {
    case 'name':
    case 'description':
    case 'model':
      return takeText(agent, key, value)
    case 'tools':
    case 'disallowedTools':
      return takeTools(agent, key, value)
    case 'maxTurns':
    case 'temperature':
      return takeNumber(agent, key, value)
    default:
      if (HARMLESS.includes(key)) return undefined
      if (UNUSED.includes(key)) return `'${key}' has no effect here yet`
      return `unknown key '${key}'; did you mean '${nearest(key, KNOWN)[0]}'?`
  }
}

function takeText(agent: Agent, key: 'name' | 'description' | 'model', value: unknown): string | undefined {
  const text = typeof value === 'object' ? '' : String(value).trim()
  if (!text) return `'${key}' must be a text`
  if (key === 'name' && /[\r\n]/.test(text)) return `'name' must be one line`
  if (key !== 'model' || text !== 'inherit') agent[key] = text
  return undefined
}

function takeNumber(agent: Agent, key: 'maxTurns' | 'temperature', value: unknown): string | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (key === 'maxTurns') {
    if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 1) {
      return `'maxTurns' must be a whole number above 0`
    }
    agent.max_turns = number
    return undefined
  }
  if (typeof number !== 'number' || !(number >= 0 && number <= 2)) return `'temperature' must be a number from 0 to 2`
  agent.temperature = number
  return undefined
}

// A list that cannot be read grants nothing: taking the caller's tools instead would give rights nobody wrote down. An
// agent whose exclusions cannot be read is refused for the same reason.
function takeTools(agent: Agent, key: 'tools' | 'disallowedTools', value: unknown): string | undefined {
  if (value === null || value === '') return `'${key}' is empty and was left out; write [] for no tools`
  const names = toolNames(value)
  if (key === 'disallowedTools') {
    if (!names) {
      throw new TroupeError('invalid_agent_file', `agent '${agent.name}': 'disallowedTools' cannot be read`, {
        hint: 'write names separated by commas, or a list',
      })
    }
    agent.exclude_tools = names
    return undefined
  }
  if (names?.includes('*')) return undefined
  agent.tools = names ?? []
  return names ? undefined : `'tools' must be names separated by commas, or a list; this agent gets none`
}

function toolNames(value: unknown): string[] | undefined {
  const list = typeof value === 'string' ? value.split(/,(?![^(]*\))/) : value
  if (!Array.isArray(list) || list.some((name) => typeof name !== 'string')) return undefined
  return list.map((name) => name.trim()).filter((name) => name !== '')
}
