import { TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import { dialectOf, KEYS, nameOfFile, plainKey } from './agent-dialect.ts'
import type { Draft } from './agent-draft.ts'
import { finished, newDraft, warn } from './agent-draft.ts'
import { takeEntry } from './agent-keys.ts'
import { linesOf, readFrontmatter } from './frontmatter.ts'
import type { Problem } from './problem.ts'
import type { Entry } from './yaml-entries.ts'

export interface AgentFile {
  agent: Agent
  problems: Problem[]
}

export interface ReadingOptions {
  /** Tools that a file may name beside those that come with Troupe, such as the program's own. */
  tools?: readonly string[]
}

/** Reads a markdown file with an agent in any of the dialects; `undefined` when the file is no agent. */
export async function parseAgentFile(
  text: string,
  path: string,
  { tools = [] }: ReadingOptions = {},
): Promise<AgentFile | undefined> {
  const head = await readFrontmatter(text, KEYS)
  if (head === 'open') {
    if (looksLikeAgent(text)) throw unclosed(path)
    return undefined
  }
  const dialect = dialectOf(path, head?.entries)
  if (!dialect) return undefined
  const { entries, body, problems } = head ?? { entries: [], body: linesOf(text).join('\n').trim(), problems: [] }
  const origin = { by: 'user' as const, path, dialect }
  const agent: Agent = { name: nameOfFile(path), description: '', instructions: body, origin }
  const draft = newDraft(agent, dialect, tools)
  draft.problems.push(...problems)
  const own = dialect === 'amplifier' ? unfolded(entries) : entries
  takeAll(draft, own)
  sayMissing(draft, own)
  return finished(draft)
}

function takeAll(draft: Draft, entries: readonly Entry[]): void {
  const seen = new Set<string>()
  for (const entry of entries) {
    const plain = plainKey(entry.key)
    if (seen.has(plain)) warn(draft, entry.line, `'${entry.key}' is given twice; the last one counts`)
    seen.add(plain)
    takeEntry(draft, entry)
  }
}

/** Amplifier keeps name and description below `meta`, and a model of its own among `providers`. */
function unfolded(entries: readonly Entry[]): Entry[] {
  return entries.flatMap((entry): Entry[] => {
    const { key, value, line } = entry
    if (key === 'meta' && typeof value === 'object' && value !== null) {
      return Object.entries(value).map(([inner, each]) => ({ key: inner, value: each as unknown, line }))
    }
    const model = key === 'providers' ? providerModel(value) : undefined
    return model === undefined ? [entry] : [{ key: 'model', value: model, line }, entry]
  })
}

/** `provider/model` of the first provider that names a model. */
function providerModel(value: unknown): string | undefined {
  for (const provider of Array.isArray(value) ? value : []) {
    const { module, config } = (provider ?? {}) as { module?: unknown; config?: Record<string, unknown> }
    const model = config?.default_model ?? config?.model
    if (typeof module === 'string' && typeof model === 'string') return `${module.replace(/^provider-/, '')}/${model}`
  }
  return undefined
}

function sayMissing(draft: Draft, entries: readonly Entry[]): void {
  const { agent, terms } = draft
  const named = terms.dialect === 'copilot' || entries.some(({ key }) => plainKey(key) === 'name')
  if (!named) warn(draft, 1, `has no name; called '${agent.name}' after its file`)
  if (!agent.description) warn(draft, 1, 'has no description: nobody will know when to call it')
  if (!agent.instructions) warn(draft, 1, 'has no instructions below its frontmatter')
}

/** Without an end the whole file would be frontmatter: only what begins like an agent is worth an error. */
function looksLikeAgent(text: string): boolean {
  const start = linesOf(text.slice(0, 4000)).filter((line) => line.trim() !== '')
  return start.slice(1, 12).some((line) => /^\s{0,4}(name|description|tools|meta)[ \t]*:/.test(line))
}

function unclosed(path: string): TroupeError {
  return new TroupeError('invalid_agent_file', `${path}: the frontmatter that begins in line 1 never ends`, {
    hint: 'close it with a line of three dashes',
  })
}
