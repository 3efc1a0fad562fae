import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathsNamedInGitConfig } from './git-hooks.ts'

/*
 * Paths in a workspace that agents may read but never write: agent definitions, settings and MCP configuration. An agent
 * that can write them escalates its own privileges for the next run.
 */

/** Folders with protected and unprotected content. */
const PARTLY_PROTECTED = ['.claude', '.github']
const AGENT_CONFIG_PATHS = ['.claude/agents', '.claude/settings.json', '.claude/settings.local.json', '.github/agents']
const PROTECTED_NAMES = ['.amplifier', '.mcp.json']
const CONFIG_NAME = /^troupe\.config\.(ts|js|json|yaml)$/i
/** Below the root, `.troupe/agents` belongs to a nested project. In the root all of `.troupe` is inaccessible anyway. */
const NESTED_AGENT_CONFIG_PATHS = [...AGENT_CONFIG_PATHS, ...PROTECTED_NAMES, '.troupe/agents']

export interface ProtectionRules {
  realPath: string
  /** Additional protected paths, absolute. */
  protect?: readonly string[]
  /** Paths that agents can neither read nor write, absolute. */
  hide?: readonly string[]
}

/** Whether a path, given as normalized segments, defines or configures agents at any depth. */
export function isAgentConfig(segments: readonly string[]): boolean {
  return segments.some((name, index) => {
    const next = segments[index + 1] ?? ''
    if (PROTECTED_NAMES.includes(name) || CONFIG_NAME.test(name)) return true
    if (name === '.github' || name === '.troupe') return next === 'agents'
    return name === '.claude' && (next === 'agents' || /^settings.*\.json$/.test(next))
  })
}

/** The agent configuration paths of a folder, whether they exist or not. */
export function agentConfigPaths(folder: string, kind: 'root' | 'nested'): string[] {
  const settings = listNames(join(folder, '.claude')).filter((name) => /^settings.*\.json$/i.test(name))
  const known = kind === 'root' ? [...AGENT_CONFIG_PATHS, ...PROTECTED_NAMES] : NESTED_AGENT_CONFIG_PATHS
  // Masking those that do not exist would show empty files to commands. A new one is not trusted until a person agrees.
  const configs = listNames(folder).filter((name) => CONFIG_NAME.test(name))
  const found = [...settings.map((name) => `.claude/${name}`), ...configs]
  return [...new Set([...known, ...found])].map((path) => join(folder, path))
}

/** Folders that must exist, or the sandbox would have to protect them as a whole. */
export function partlyProtectedFolders(folder: string): string[] {
  return PARTLY_PROTECTED.map((name) => join(folder, name))
}

/** All protected paths, each also with its symlinks resolved: the target of a protected symlink is protected too. */
export function protectedPaths({ realPath, protect = [] }: ProtectionRules, trees: readonly string[]): string[] {
  // A git setting that names a parent of the workspace would make the whole workspace read-only.
  const gitPaths = trees.flatMap(pathsNamedInGitConfig).filter((path) => !isWithin(realPath, path))
  const paths = [...agentConfigPaths(realPath, 'root'), ...gitPaths, ...protect]
  return [...new Set(paths.flatMap((path) => [path, resolveRealPath(path)]))]
}

/** Whether a path, given as segments from the workspace root, is hidden from agents. */
export function isHiddenPath({ realPath, hide = [] }: ProtectionRules, segments: readonly string[]): boolean {
  // Case-insensitive file systems: another spelling may be the same file.
  const path = [realPath, ...segments].join('/').toLowerCase()
  return hide.some((hidden) => isWithin(path, hidden.toLowerCase()))
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

/** Like `realpath`, but accepts a path whose last segments do not exist. */
export function resolveRealPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(resolveRealPath(parent), basename(path))
  }
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
