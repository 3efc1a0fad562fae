import { accessDeniedError } from '../tool-errors.ts'
import type { ProtectionRules } from './protected-paths.ts'
import { isAgentConfig, isHiddenPath, isWithin, protectedPaths } from './protected-paths.ts'

/** What someone wants with a file: `own` is Troupe itself keeping its state. */
export type AccessPurpose = 'read' | 'write' | 'internal'

/** Troupe's own folder in a workspace; agents see nothing of it but the outputs of their commands. */
export const TROUPE_FOLDER = '.troupe'
export const OUTPUT_FOLDER = 'output'

/** Refuses names that a workspace holds and an agent may not touch. `names` is where a path really leads. */
export function checkProtected(workspace: ProtectionRules, names: readonly string[], purpose: AccessPurpose): void {
  if (purpose === 'internal') return
  const plain = names.map(normalizeName)
  const at = names.join('/')
  if (plain[0] === TROUPE_FOLDER && !(purpose === 'read' && names[0] === TROUPE_FOLDER && names[1] === OUTPUT_FOLDER)) {
    throw accessDeniedError(`'${at}' belongs to Troupe`, 'nothing in .troupe is yours, except to read .troupe/output')
  }
  if (isHiddenPath(workspace, names)) {
    throw accessDeniedError(`'${at}' belongs to Troupe`, 'runs are kept there; nothing in it is yours')
  }
  if (purpose === 'write' && plain.some(isGitName)) {
    // What stands in hooks or config runs with the rights of whoever uses git there next.
    throw accessDeniedError(`'${at}' belongs to git`, 'use git commands instead of writing its files')
  }
  if (purpose === 'write' && (isAgentConfig(plain) || isProtected(workspace, names))) {
    throw accessDeniedError(
      `'${at}' is protected: it steers agents, or runs with the rights of whoever works here next`,
      'it can be read; ask the person to change it',
    )
  }
}

function isProtected(workspace: ProtectionRules, names: readonly string[]): boolean {
  const trees = names.map((_, at) => [workspace.realPath, ...names.slice(0, at)].join('/'))
  const path = [workspace.realPath, ...names].join('/')
  const places = protectedPaths(workspace, trees)
  // In other letters it may be the same file.
  return places.some((place) => isWithin(path, place) || isWithin(path.toLowerCase(), place.toLowerCase()))
}

/**
 * The name as a careless file system might take it: without case, without what Windows drops at the end, without the
 * characters that HFS+ ignores. `.GIT`, `.git.` and `.g\u200cit` open `.git` somewhere.
 */
function normalizeName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .toLowerCase()
    .replace(/::?\$.*$/, '')
    .replace(/[. ]+$/, '')
}

function isGitName(plain: string): boolean {
  return plain === '.git' || /^git~\d+$/.test(plain)
}
