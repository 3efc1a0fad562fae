import { basename } from 'node:path'
import type { YamlEntry } from './yaml-entries.ts'

/** Whose way of writing agents down a file follows. */
export type Dialect = 'claude-code' | 'copilot' | 'amplifier' | 'crewai' | 'agentx'

/** A key without case, hyphens and underscores: `mcp-servers`, `mcp_servers` and `mcpServers` are one. */
export function normalizeKey(key: string): string {
  return key.toLowerCase().replace(/[-_]/g, '')
}

/** The keys of all dialects, as they are spelled: what begins a new entry in frontmatter that is not valid YAML. */
export const AGENT_KEYS: readonly string[] = [
  ...['name', 'description', 'tools', 'disallowedTools', 'model', 'permissionMode', 'maxTurns', 'skills'],
  ...['mcpServers', 'hooks', 'memory', 'background', 'effort', 'isolation', 'initialPrompt', 'color', 'temperature'],
  ...['permissions', 'permission', 'agents', 'handoffs', 'argument-hint', 'target', 'user-invocable', 'infer', 'mode'],
  ...['user-invokable', 'disable-model-invocation', 'mcp-servers', 'hidden', 'allowed-tools', 'disallowed-tools'],
  ...[
    'meta',
    'model_role',
    'provider_preferences',
    'providers',
    'exclude_tools',
    'max_turns',
    'timeout_ms',
    'metadata',
  ],
]

/** One of these makes a markdown file an agent; pages of documentation have titles and descriptions too. */
const IDENTIFYING_KEYS = new Set(
  'name tools disallowedtools model modelrole maxturns temperature permissionmode mcpservers excludetools'.split(' '),
)
const COPILOT_KEYS = new Set(
  'handoffs argumenthint userinvocable userinvokable disablemodelinvocation infer target'.split(' '),
)
/** These make it something else that has a name: a skill, a command, a template for issues, a bundle. */
const NON_AGENT_KEYS = ['allowedtools', 'about', 'bundle', 'applyto', 'globs', 'layout']
const COPILOT_FILE = /\.(agent|chatmode)\.md$/i
const COPILOT_FOLDER = /(^|[\\/])\.(github|copilot)[\\/]agents[\\/]/

/** The name that a file gives to its agent. */
export function agentNameFromPath(path: string): string {
  return basename(path).replace(/(\.(agent|chatmode))?\.(md|ya?ml)$/i, '')
}

/** Which dialect a markdown file is written in; `undefined` when it is no agent. */
export function detectDialect(path: string, entries: readonly YamlEntry[] | undefined): Dialect | undefined {
  const file = basename(path)
  if (/^SKILL\.md$/i.test(file) || /\.(prompt|instructions)\.md$/i.test(file)) return undefined
  if (COPILOT_FILE.test(file)) return 'copilot'
  if (!entries) return undefined
  const keys = new Map(entries.map(({ key, value }) => [normalizeKey(key), value]))
  if (isAmplifier(keys)) return 'amplifier'
  if (COPILOT_FOLDER.test(path) && keys.has('description')) return 'copilot'
  const whole = keys.has('name') && keys.has('description')
  if (NON_AGENT_KEYS.some((key) => keys.has(key)) && !(whole && keys.has('allowedtools'))) return undefined
  if (keys.has('argumenthint') && !keys.has('name')) return undefined
  if (![...keys.keys()].some((key) => IDENTIFYING_KEYS.has(key)) && !isOpenCode(keys)) return undefined
  return [...keys.keys()].some((key) => COPILOT_KEYS.has(key)) ? 'copilot' : 'claude-code'
}

function isAmplifier(keys: ReadonlyMap<string, unknown>): boolean {
  const meta = keys.get('meta')
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta) || keys.has('bundle')) return false
  return 'name' in meta || ('description' in meta && keys.has('tools'))
}

function isOpenCode(keys: ReadonlyMap<string, unknown>): boolean {
  return keys.has('description') && /^(subagent|primary|all)$/.test(String(keys.get('mode')))
}
