import { TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import { AGENT_KEYS, agentNameFromPath, detectDialect, normalizeKey } from './agent-dialect.ts'
import type { AgentDraft } from './agent-draft.ts'
import { addWarning, createDraft, finishDraft } from './agent-draft.ts'
import { applyEntry } from './agent-keys.ts'
import type { Problem } from './file-problem.ts'
import { parseFrontmatter, splitLines } from './frontmatter.ts'
import type { YamlEntry } from './yaml-entries.ts'

export interface AgentFile {
  agent: Agent
  problems: Problem[]
}

export interface AgentFileOptions {
  /** Tools that a file may name beside those that come with Troupe, such as the program's own. */
  tools?: readonly string[]
}

/** Reads a markdown file with an agent in any of the dialects; `undefined` when the file is no agent. */
export async function parseAgentFile(
  text: string,
  path: string,
  { tools = [] }: AgentFileOptions = {},
): Promise<AgentFile | undefined> {
  const head = await parseFrontmatter(text, AGENT_KEYS)
  if (head === 'unclosed') {
    if (looksLikeAgent(text)) throw unclosedFrontmatterError(path)
    return undefined
  }
  const dialect = detectDialect(path, head?.entries)
  if (!dialect) return undefined
  const { entries, body, problems } = head ?? { entries: [], body: splitLines(text).join('\n').trim(), problems: [] }
  const origin = { by: 'user' as const, path, dialect }
  const agent: Agent = { name: agentNameFromPath(path), description: '', instructions: body, origin }
  const draft = createDraft(agent, dialect, tools)
  draft.problems.push(...problems)
  const own = dialect === 'amplifier' ? flattenAmplifierEntries(entries) : entries
  applyEntries(draft, own)
  warnMissingFields(draft, own)
  return finishDraft(draft)
}

function applyEntries(draft: AgentDraft, entries: readonly YamlEntry[]): void {
  const seen = new Set<string>()
  for (const entry of entries) {
    const plain = normalizeKey(entry.key)
    if (seen.has(plain)) addWarning(draft, entry.line, `'${entry.key}' is given twice; the last one counts`)
    seen.add(plain)
    applyEntry(draft, entry)
  }
}

/** Amplifier keeps name and description below `meta`, and a model of its own among `providers`. */
function flattenAmplifierEntries(entries: readonly YamlEntry[]): YamlEntry[] {
  return entries.flatMap((entry): YamlEntry[] => {
    const { key, value, line } = entry
    if (key === 'meta' && typeof value === 'object' && value !== null) {
      return Object.entries(value).map(([inner, each]) => ({ key: inner, value: each as unknown, line }))
    }
    const model = key === 'providers' ? amplifierModel(value) : undefined
    return model === undefined ? [entry] : [{ key: 'model', value: model, line }, entry]
  })
}

/** `provider/model` of the first provider that names a model. */
function amplifierModel(value: unknown): string | undefined {
  for (const provider of Array.isArray(value) ? value : []) {
    const { module, config } = (provider ?? {}) as { module?: unknown; config?: Record<string, unknown> }
    const model = config?.default_model ?? config?.model
    if (typeof module === 'string' && typeof model === 'string') return `${module.replace(/^provider-/, '')}/${model}`
  }
  return undefined
}

function warnMissingFields(draft: AgentDraft, entries: readonly YamlEntry[]): void {
  const { agent, toolContext } = draft
  const named = toolContext.dialect === 'copilot' || entries.some(({ key }) => normalizeKey(key) === 'name')
  if (!named) addWarning(draft, 1, `has no name; called '${agent.name}' after its file`)
  if (!agent.description) addWarning(draft, 1, 'has no description: nobody will know when to call it')
  if (!agent.instructions) addWarning(draft, 1, 'has no instructions below its frontmatter')
}

/** Without an end the whole file would be frontmatter: only what begins like an agent is worth an error. */
function looksLikeAgent(text: string): boolean {
  const start = splitLines(text.slice(0, 4000)).filter((line) => line.trim() !== '')
  return start.slice(1, 12).some((line) => /^\s{0,4}(name|description|tools|meta)[ \t]*:/.test(line))
}

function unclosedFrontmatterError(path: string): TroupeError {
  return new TroupeError('invalid_agent_file', `${path}: the frontmatter that begins in line 1 never ends`, {
    hint: 'close it with a line of three dashes',
  })
}
