import { basename } from 'node:path'
import { toAgentName } from '../kernel/agent-name.ts'
import { isRecord } from '../schema/json-value.ts'
import type { YamlEntry } from './yaml-entries.ts'

/** The tool whose agent file format a file uses. */
export type Dialect = 'claude-code' | 'copilot' | 'amplifier' | 'crewai' | 'agentx'

/** Removes case, hyphens and underscores: `mcp-servers`, `mcp_servers` and `mcpServers` are the same key. */
export function normalizeKey(key: string): string {
  return key.toLowerCase().replace(/[-_]/g, '')
}

/** Keys of all dialects. In frontmatter that is not valid YAML, each starts a new entry. */
export const AGENT_KEYS: readonly string[] = (
  'name description tools disallowedTools model permissionMode maxTurns skills mcpServers hooks memory background on_request effort ' +
  'performer isolation initialPrompt color temperature permissions permission agents handoffs argument-hint target user-invocable ' +
  'infer mode user-invokable disable-model-invocation mcp-servers hidden allowed-tools disallowed-tools meta model_role ' +
  'provider_preferences providers exclude_tools max_turns timeout_ms metadata top_p seed tool_choice provider_options'
).split(' ')

/** Keys that identify an agent; a title and a description occur in documentation pages too. */
const IDENTIFYING_KEYS = new Set(
  'name tools disallowedtools model modelrole maxturns temperature permissionmode mcpservers excludetools'.split(' '),
)
const COPILOT_KEYS = new Set(
  'handoffs argumenthint userinvocable userinvokable disablemodelinvocation infer target'.split(' '),
)
/** Keys of other named files: skills, commands, issue templates, bundles. */
const NON_AGENT_KEYS = ['allowedtools', 'about', 'bundle', 'applyto', 'globs', 'layout']
const COPILOT_FILE = /\.(agent|chatmode)\.md$/i
const COPILOT_FOLDER = /(^|[\\/])\.(github|copilot)[\\/]agents[\\/]/

/** The default name of an agent, from its file name. */
export function agentNameFromPath(path: string): string {
  return toAgentName(basename(path).replace(/(\.(agent|chatmode))?\.(md|ya?ml)$/i, ''))
}

/** The dialect of a markdown file; `undefined` when it does not define an agent. */
export function detectDialect(path: string, entries: readonly YamlEntry[] | undefined): Dialect | undefined {
  const file = basename(path)
  if (/^SKILL\.md$/i.test(file) || /\.(prompt|instructions)\.md$/i.test(file)) return undefined
  if (COPILOT_FILE.test(file)) return 'copilot'
  if (!entries) return undefined
  const keys = new Map(entries.map(({ key, value }) => [normalizeKey(key), value]))
  if (isAmplifier(keys)) return 'amplifier'
  if (COPILOT_FOLDER.test(path) && keys.has('description')) return 'copilot'
  const isNamed = keys.has('name') && keys.has('description')
  if (NON_AGENT_KEYS.some((key) => keys.has(key)) && !(isNamed && keys.has('allowedtools'))) return undefined
  if (keys.has('argumenthint') && !keys.has('name')) return undefined
  if (![...keys.keys()].some((key) => IDENTIFYING_KEYS.has(key)) && !isOpenCode(keys)) return undefined
  return [...keys.keys()].some((key) => COPILOT_KEYS.has(key)) ? 'copilot' : 'claude-code'
}

function isAmplifier(keys: ReadonlyMap<string, unknown>): boolean {
  const meta = keys.get('meta')
  if (!isRecord(meta) || keys.has('bundle')) return false
  return 'name' in meta || ('description' in meta && keys.has('tools'))
}

function isOpenCode(keys: ReadonlyMap<string, unknown>): boolean {
  return keys.has('description') && /^(subagent|primary|all)$/.test(String(keys.get('mode')))
}
