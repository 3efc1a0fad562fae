import { accessDeniedError } from '../tool-errors.ts'
import type { ProtectionRules } from './protected-paths.ts'
import { isHiddenPath, isProtectedConfig, isWithin, protectedPaths } from './protected-paths.ts'

/** Why a path is opened; `internal` is Troupe itself storing its state. */
export type AccessPurpose = 'read' | 'write' | 'internal'

/** Troupe's own folder in a workspace. Agents can only read `.troupe/output`, the stored outputs of their commands. */
export const TROUPE_FOLDER = '.troupe'
export const OUTPUT_FOLDER = 'output'

/** Denies access to protected paths. `segments` must be the resolved path: a symlink must not bypass the check. */
export function checkProtected(rules: ProtectionRules, segments: readonly string[], purpose: AccessPurpose): void {
  if (purpose === 'internal') return
  const normalized = segments.map(normalizeName)
  const path = segments.join('/')
  const isOutput = segments[0] === TROUPE_FOLDER && segments[1] === OUTPUT_FOLDER
  if (normalized[0] === TROUPE_FOLDER && !(purpose === 'read' && isOutput)) {
    throw accessDeniedError(`'${path}' belongs to Troupe`, 'in .troupe you can only read .troupe/output')
  }
  if (isHiddenPath(rules, segments)) {
    throw accessDeniedError(`'${path}' belongs to Troupe`, 'it is part of the run store; do not use it')
  }
  if (purpose === 'write' && normalized.some(isGitName)) {
    // Code execution outside the sandbox: git hooks and config run commands as the next user of git.
    throw accessDeniedError(`'${path}' belongs to git`, 'use git commands instead of writing its files')
  }
  if (purpose === 'write' && (isProtectedConfig(normalized) || isProtected(rules, segments))) {
    throw accessDeniedError(
      `'${path}' is protected: programs outside the sandbox (agents, editors, shells, git, CI) execute or obey it`,
      'you can read it; ask the person to change it',
    )
  }
}

function isProtected(rules: ProtectionRules, segments: readonly string[]): boolean {
  const parentFolders = segments.map((_, index) => [rules.realPath, ...segments.slice(0, index)].join('/'))
  const path = [rules.realPath, ...segments].join('/')
  // Case-insensitive file systems: another spelling may be the same file.
  return protectedPaths(rules, parentFolders).some(
    (folder) => isWithin(path, folder) || isWithin(path.toLowerCase(), folder.toLowerCase()),
  )
}

/**
 * Prevents bypasses by file systems that treat several spellings as one name: case (macOS, Windows), trailing dots and
 * spaces (Windows), ignorable characters (HFS+). `.GIT`, `.git.` and `.g\u200cit` all open `.git` somewhere.
 */
function normalizeName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .toLowerCase()
    .replace(/::?\$.*$/, '')
    .replace(/[. ]+$/, '')
}

function isGitName(normalized: string): boolean {
  return normalized === '.git' || /^git~\d+$/.test(normalized)
}
