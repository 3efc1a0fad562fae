import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathsNamedInGitConfig } from './git-hooks.ts'

/*
 * Paths in a workspace that agents may read but never write: what other programs on the host execute or obey later, outside
 * the sandbox, and what configures agents. An agent that can write them escalates its own privileges. One list for Write, Edit
 * and Bash: file tools refuse these names at any depth; for commands, existing ones are read-only, and new ones are renamed
 * when the command ends (config-guard.ts).
 */

/** Normalized names, protected at any depth. */
const PROTECTED_NAMES: ReadonlySet<string> = new Set([
  // Agents and MCP servers, of Troupe and of other tools.
  ...['.amplifier', '.mcp.json', '.cursor', '.cursorrules', '.codex', '.gemini', '.windsurf', '.windsurfrules'],
  ...['.continue', '.opencode', 'opencode.json', 'opencode.jsonc', '.aider.conf.yml', '.cline', '.clinerules', '.roo'],
  ...[
    '.roomodes',
    '.kilocode',
    '.kiro',
    '.amazonq',
    '.augment',
    '.junie',
    '.qwen',
    '.goosehints',
    '.trae',
    'crush.json',
  ],
  ...['.crush.json', '.agents'],
  // Editors and containers: tasks, launch commands, interpreters.
  ...[
    '.vscode',
    '.idea',
    '.fleet',
    '.zed',
    '.vs',
    '.devcontainer',
    '.devcontainer.json',
    '.exrc',
    '.nvim.lua',
    '.nvimrc',
  ],
  ...['.dir-locals.el'],
  // Shells and git.
  ...['.envrc', '.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.profile', '.zshrc'],
  ...['.zshenv', '.zprofile', '.zlogin', '.zlogout', '.kshrc', '.cshrc', '.tcshrc', '.inputrc', '.gitconfig'],
  ...['.ripgreprc', '.husky', '.pre-commit-config.yaml', 'lefthook.yml', '.lefthook.yml', '.overcommit.yml'],
  // Continuous integration, which has the secrets of the repository.
  ...['.gitlab-ci.yml', '.circleci', '.travis.yml', '.buildkite', '.drone.yml', '.woodpecker', '.woodpecker.yml'],
  ...['.cirrus.yml', 'azure-pipelines.yml', 'bitbucket-pipelines.yml', 'jenkinsfile', 'appveyor.yml', '.appveyor.yml'],
])
const PROTECTED_PATTERNS = [/^troupe\.config\.(ts|js|json|yaml)$/, /\.code-workspace$/]

/** Folders with protected and unprotected content. */
const PARTLY_PROTECTED: Readonly<Record<string, RegExp>> = {
  '.claude': /^(agents|commands|skills|hooks|plugins|settings.*\.json)$/,
  '.github':
    /^(agents|workflows|actions|hooks|prompts|instructions|chatmodes|copilot-instructions\.md|copilot-setup-steps\.yml)$/,
  '.gitea': /^workflows$/,
  // Names the programs that cargo runs, which an editor calls whenever it opens the folder.
  '.cargo': /^config(\.toml)?$/,
  '.forgejo': /^workflows$/,
  // Of a nested project. In the root all of `.troupe` is inaccessible anyway.
  '.troupe': /^agents$/,
}

/** Paths in the root that the sandbox masks even if they do not exist, so that a command cannot create them for a moment. */
const MASKED_PATHS = [
  ...['.claude/agents', '.claude/settings.json', '.claude/settings.local.json', '.github/agents'],
  ...['.amplifier', '.mcp.json'],
]
const FOLDERS_OF_MASKED_PATHS = ['.claude', '.github']

export interface ProtectionRules {
  realPath: string
  /** Additional protected paths, absolute. */
  protect?: readonly string[]
  /** Paths that agents can neither read nor write, absolute. */
  hide?: readonly string[]
}

/** Whether a path, given as normalized segments, is protected configuration at any depth. */
export function isProtectedConfig(segments: readonly string[]): boolean {
  return segments.some(
    (name, index) => isProtectedName(name) || PARTLY_PROTECTED[name]?.test(segments[index + 1] ?? '') === true,
  )
}

function isProtectedName(name: string): boolean {
  return PROTECTED_NAMES.has(name) || PROTECTED_PATTERNS.some((pattern) => pattern.test(name))
}

/** Whether a folder with this entry may contain protected configuration. */
export function mayHoldConfig(name: string): boolean {
  const normalized = name.toLowerCase()
  return isProtectedName(normalized) || Object.hasOwn(PARTLY_PROTECTED, normalized)
}

/** The protected configuration that exists in a folder itself, as paths from it. */
export function findConfigPaths(folder: string): string[][] {
  return listNames(folder).flatMap((name) => {
    const normalized = name.toLowerCase()
    if (isProtectedName(normalized)) return [[name]]
    if (!Object.hasOwn(PARTLY_PROTECTED, normalized)) return []
    const parts = listNames(join(folder, name)).filter((part) => isProtectedConfig([normalized, part.toLowerCase()]))
    return parts.map((part) => [name, part])
  })
}

/** Folders that must exist, or the sandbox would have to protect them as a whole. */
export function partlyProtectedFolders(folder: string): string[] {
  return FOLDERS_OF_MASKED_PATHS.map((name) => join(folder, name))
}

/** All protected paths, each also with its symlinks resolved: the target of a protected symlink is protected too. */
export function protectedPaths({ realPath, protect = [] }: ProtectionRules, trees: readonly string[]): string[] {
  // A git setting that names a parent of the workspace would make the whole workspace read-only.
  const gitPaths = trees.flatMap(pathsNamedInGitConfig).filter((path) => !isWithin(realPath, path))
  const existing = findConfigPaths(realPath).map((path) => join(realPath, ...path))
  const masked = MASKED_PATHS.map((path) => join(realPath, path))
  const paths = [...masked, ...existing, ...gitPaths, ...protect]
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
