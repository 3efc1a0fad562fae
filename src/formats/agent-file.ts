import { TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import { AGENT_KEYS, agentNameFromPath, detectDialect, normalizeKey } from './agent-dialect.ts'
import type { AgentDraft } from './agent-draft.ts'
import { addWarning, createDraft, finishDraft, MISSING_DESCRIPTION } from './agent-draft.ts'
import { applyEntry } from './agent-keys.ts'
import type { Problem } from './file-text.ts'
import { parseFrontmatter, splitLines } from './frontmatter.ts'
import type { YamlEntry } from './yaml-entries.ts'

export interface AgentFile {
  agent: Agent
  problems: Problem[]
}

export interface AgentFileOptions {
  /** Names of tools that agents may use in addition to the built-in ones. */
  tools?: readonly string[]
}

/** Parses a markdown agent file of any dialect; `undefined` when the file does not define an agent. */
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
  // Without frontmatter, any text, such as a private key behind a link, would become a system prompt.
  const dialect = head && detectDialect(path, head.entries)
  if (!dialect) return undefined
  const { entries, body, problems } = head
  const origin = { by: 'user' as const, path, dialect }
  const agent: Agent = { name: agentNameFromPath(path), description: '', instructions: body, origin }
  const draft = createDraft(agent, dialect, tools)
  draft.problems.push(...problems)
  const fields = dialect === 'amplifier' ? flattenAmplifierEntries(entries) : entries
  applyEntries(draft, fields)
  warnMissingFields(draft, fields)
  return finishDraft(draft)
}

function applyEntries(draft: AgentDraft, entries: readonly YamlEntry[]): void {
  const seen = new Set<string>()
  for (const entry of entries) {
    const key = normalizeKey(entry.key)
    if (seen.has(key)) addWarning(draft, entry.line, `duplicate key '${entry.key}'; the last one is used`)
    seen.add(key)
    applyEntry(draft, entry)
  }
}

/** Amplifier nests name and description under `meta` and the model under `providers`. */
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
  const hasName = toolContext.dialect === 'copilot' || entries.some(({ key }) => normalizeKey(key) === 'name')
  if (!hasName) addWarning(draft, 1, `'name' is missing; the agent is named '${agent.name}' after its file`)
  if (!agent.description) addWarning(draft, 1, MISSING_DESCRIPTION)
  if (!agent.instructions) addWarning(draft, 1, 'the instructions below the frontmatter are missing')
}

/** Unclosed frontmatter is an error only in a file that starts like an agent; other markdown may open with a rule. */
function looksLikeAgent(text: string): boolean {
  const start = splitLines(text.slice(0, 4000)).filter((line) => line.trim() !== '')
  return start.slice(1, 12).some((line) => /^\s{0,4}(name|description|tools|meta)[ \t]*:/.test(line))
}

function unclosedFrontmatterError(path: string): TroupeError {
  return new TroupeError('invalid_agent_file', `${path}: the frontmatter is not closed`, {
    hint: 'close it with a line that contains only ---',
  })
}
