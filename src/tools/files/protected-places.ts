import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { namedBySettings } from './git-hooks.ts'

/*
 * Places in a workspace that steer agents or whoever works there next. Agents read them and never write them: an agent
 * that writes its own definition, or the servers it is given, has every right it likes in the next run.
 */

/** Folders that hold other things too, with what is protected in them. */
const SHARED = ['.claude', '.github']
const PLACES = ['.claude/agents', '.claude/settings.json', '.claude/settings.local.json', '.github/agents']
const WHOLE = ['.amplifier', '.mcp.json']
/** In the root all of `.troupe` is out of reach; in a project below it is that project's. */
const NESTED = [...PLACES, ...WHOLE, '.troupe/agents']

export interface Guarded {
  real: string
  /** More places, as absolute paths. */
  protect?: readonly string[]
  /** Absolute paths of what agents do not even see. */
  hide?: readonly string[]
}

/** Whether names, spelled plainly, say that a file defines or configures agents, at whatever depth. */
export function steersAgents(plain: readonly string[]): boolean {
  return plain.some((name, at) => {
    const next = plain[at + 1] ?? ''
    if (WHOLE.includes(name)) return true
    if (name === '.github' || name === '.troupe') return next === 'agents'
    return name === '.claude' && (next === 'agents' || /^settings.*\.json$/.test(next))
  })
}

/** The places of a folder that steer agents, there or not. */
export function agentPlaces(folder: string, kind: 'root' | 'nested'): string[] {
  const settings = namesIn(join(folder, '.claude')).filter((name) => /^settings.*\.json$/i.test(name))
  const known = kind === 'root' ? [...PLACES, ...WHOLE] : NESTED
  return [...new Set([...known, ...settings.map((name) => `.claude/${name}`)])].map((place) => join(folder, place))
}

/** Folders that must be there for what is protected in them to be covered without covering the rest. */
export function sharedFolders(folder: string): string[] {
  return SHARED.map((name) => join(folder, name))
}

/** What is protected by where it really is: also what a protected name links to. */
export function protectedPlaces({ real, protect = [] }: Guarded, trees: readonly string[]): string[] {
  // Settings that name a folder around the workspace would leave nothing to write.
  const forGit = trees.flatMap(namedBySettings).filter((place) => !isWithin(real, place))
  const named = [...agentPlaces(real, 'root'), ...forGit, ...protect]
  return [...new Set(named.flatMap((path) => [path, realPlace(path)]))]
}

/** Whether a place, as names from the root, is none of agents' business. */
export function isHidden({ real, hide = [] }: Guarded, names: readonly string[]): boolean {
  // In other letters it may be the same file.
  const path = [real, ...names].join('/').toLowerCase()
  return hide.some((place) => isWithin(path, place.toLowerCase()))
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

/** Where a path really is, also if its end is not there yet. */
export function realPlace(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const above = dirname(path)
    return above === path ? path : join(realPlace(above), basename(path))
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
