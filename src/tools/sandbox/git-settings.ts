import type { GitConfigEntry } from '../files/git-config.ts'
import { parseGitConfig } from '../files/git-config.ts'

/*
 * The git settings that run no program and read no further file. A deny list would miss settings of newer versions of git,
 * so everything else counts as unsafe (fail closed).
 */

const HARMLESS_SETTINGS: Readonly<Record<string, string>> = {
  advice: '*',
  branch: 'description merge pushremote rebase remote',
  color: '*',
  commit: 'status verbose',
  core:
    'abbrev autocrlf bare compression eol filemode ignorecase logallrefupdates longpaths precomposeunicode preloadindex ' +
    'quotepath repositoryformatversion safecrlf sparsecheckout sparsecheckoutcone splitindex symlinks untrackedcache',
  diff: 'algorithm colormoved context interhunkcontext mnemonicprefix noprefix renamelimit renames',
  extensions: 'objectformat partialclone preciousobjects refstorage relativeworktrees worktreeconfig',
  feature: '*',
  fetch: 'prune prunetags',
  gc: 'auto autodetach autopacklimit',
  index: '*',
  init: 'defaultbranch',
  lfs: 'repositoryformatversion',
  merge: 'conflictstyle ff renames',
  pull: 'ff rebase',
  push: 'autosetupremote default followtags',
  rebase: 'autosquash autostash updaterefs',
  remote: 'fetch partialclonefilter promisor prune push pushurl tagopt url',
  rerere: 'autoupdate enabled',
  status: '*',
  submodule: 'active branch fetchrecursesubmodules ignore recurse update url',
  user: 'email name',
}

const harmless = new Map(
  Object.entries(HARMLESS_SETTINGS).map(([section, keys]) => [section, new Set(keys.split(' '))] as const),
)

/** The first setting that may run a program or include another file, as `section.key`. */
export function findUnsafeSetting(config: string, isInsideWorkspace: (path: string) => boolean): string | undefined {
  const unsafe = parseGitConfig(config).find((entry) => !isHarmless(entry, isInsideWorkspace))
  return unsafe && `${unsafe.section}.${unsafe.key}`
}

function isHarmless({ section, key, value }: GitConfigEntry, isInsideWorkspace: (path: string) => boolean): boolean {
  if (section === 'core' && key === 'worktree') return isInsideWorkspace(value)
  // `update = !command` runs the command.
  if (section === 'submodule' && key === 'update') return /^(checkout|rebase|merge|none)$/.test(value)
  // `ext::command` runs the command, `fd::` and helpers such as `foo::` run a program.
  if (section === 'remote' && /url$/.test(key)) return !/^\s*(-|[^/:]*::)/.test(value)
  const keys = harmless.get(section)
  return keys !== undefined && (keys.has(key) || keys.has('*'))
}

const MERGE_STRATEGY = /^(ort|recursive|resolve|octopus|ours|subtree)?$/

/** Whether git runs a program named by this value: `git merge-<strategy>`, where a path is possible. */
export function isUnsafeStrategy(value: string): boolean {
  return !MERGE_STRATEGY.test(value.trim())
}

/** The lines of a rebase todo list that run a shell command. */
export function execLines(todo: string): string[] {
  return todo.split('\n').filter((line) => /^\s*(x|exec)\b/.test(line))
}
