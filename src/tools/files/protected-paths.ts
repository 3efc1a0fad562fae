import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathsNamedInGitConfig } from './git-hooks.ts'

/*
 * Places in a workspace that steer agents or whoever works there next. Agents read them and never write them: an agent
 * that writes its own definition, or the servers it is given, has every right it likes in the next run.
 */

/** Folders that hold other things too, with what is protected in them. */
const PARTLY_PROTECTED = ['.claude', '.github']
const AGENT_CONFIG_PATHS = ['.claude/agents', '.claude/settings.json', '.claude/settings.local.json', '.github/agents']
const PROTECTED_NAMES = ['.amplifier', '.mcp.json']
/** In the root all of `.troupe` is out of reach; in a project below it is that project's. */
const NESTED_AGENT_CONFIG_PATHS = [...AGENT_CONFIG_PATHS, ...PROTECTED_NAMES, '.troupe/agents']

export interface ProtectionRules {
  realPath: string
  /** More places, as absolute paths. */
  protect?: readonly string[]
  /** Absolute paths of what agents do not even see. */
  hide?: readonly string[]
}

/** Whether names, spelled plainly, say that a file defines or configures agents, at whatever depth. */
export function isAgentConfig(plain: readonly string[]): boolean {
  return plain.some((name, at) => {
    const next = plain[at + 1] ?? ''
    if (PROTECTED_NAMES.includes(name)) return true
    if (name === '.github' || name === '.troupe') return next === 'agents'
    return name === '.claude' && (next === 'agents' || /^settings.*\.json$/.test(next))
  })
}

/** The places of a folder that steer agents, there or not. */
export function agentConfigPaths(folder: string, kind: 'root' | 'nested'): string[] {
  const settings = listNames(join(folder, '.claude')).filter((name) => /^settings.*\.json$/i.test(name))
  const known = kind === 'root' ? [...AGENT_CONFIG_PATHS, ...PROTECTED_NAMES] : NESTED_AGENT_CONFIG_PATHS
  return [...new Set([...known, ...settings.map((name) => `.claude/${name}`)])].map((place) => join(folder, place))
}

/** Folders that must be there for what is protected in them to be covered without covering the rest. */
export function partlyProtectedFolders(folder: string): string[] {
  return PARTLY_PROTECTED.map((name) => join(folder, name))
}

/** What is protected by where it really is: also what a protected name links to. */
export function protectedPaths({ realPath, protect = [] }: ProtectionRules, trees: readonly string[]): string[] {
  // Settings that name a folder around the workspace would leave nothing to write.
  const forGit = trees.flatMap(pathsNamedInGitConfig).filter((place) => !isWithin(realPath, place))
  const named = [...agentConfigPaths(realPath, 'root'), ...forGit, ...protect]
  return [...new Set(named.flatMap((path) => [path, resolveRealPath(path)]))]
}

/** Whether a place, as names from the root, is none of agents' business. */
export function isHiddenPath({ realPath, hide = [] }: ProtectionRules, names: readonly string[]): boolean {
  // In other letters it may be the same file.
  const path = [realPath, ...names].join('/').toLowerCase()
  return hide.some((place) => isWithin(path, place.toLowerCase()))
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

/** Where a path really is, also if its end is not there yet. */
export function resolveRealPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const above = dirname(path)
    return above === path ? path : join(resolveRealPath(above), basename(path))
  }
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
