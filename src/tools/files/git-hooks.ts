import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { GitConfigEntry } from './git-config.ts'
import { parseGitConfig } from './git-config.ts'

/*
 * Finds the files that git executes or reads as config. An agent that writes one of them escapes the sandbox: git runs it
 * with the rights of the next person who uses git in that working tree.
 */

/** The git folder of a working tree: its `.git`, or the target of a `.git` file (`gitdir:`) or symlink. */
export function findGitFolder(tree: string): string | undefined {
  const git = join(tree, '.git')
  const stat = lstatSync(git, { throwIfNoEntry: false })
  if (stat?.isDirectory()) return git
  if (stat?.isSymbolicLink()) return resolveLinkedFolder(git)
  const target = /^gitdir:\s*(.+?)\s*$/m.exec(readConfigText(git))?.[1]
  return target === undefined ? undefined : resolve(tree, target)
}

function resolveLinkedFolder(link: string): string | undefined {
  return statSync(link, { throwIfNoEntry: false })?.isDirectory() ? realpathSync(link) : undefined
}

/** Bounds chains of `include.path` per working tree. */
const MAX_CONFIG_FILES = 64

/** Paths that a repository's own config names: included config files, `core.hooksPath`, and programs to run. */
export function pathsNamedInGitConfig(tree: string): string[] {
  const git = findGitFolder(tree)
  if (git === undefined) return []
  const commonFolder = resolve(git, readConfigText(join(git, 'commondir')).trim() || '.')
  const files = [...new Set([join(commonFolder, 'config'), join(git, 'config'), join(git, 'config.worktree')])]
  const ownFiles = files.length
  const paths: string[] = []
  for (let index = 0; index < files.length && index < MAX_CONFIG_FILES; index++) {
    const file = files[index] ?? ''
    for (const entry of parseGitConfig(readConfigText(file))) {
      const included = includedConfig(entry, file)
      if (included !== undefined && !files.includes(included)) files.push(included)
      paths.push(...hookPaths(entry, tree), ...programPaths(entry, tree))
    }
  }
  return [...paths, ...files.slice(ownFiles)]
}

function includedConfig({ section, key, value }: GitConfigEntry, file: string): string | undefined {
  if (key !== 'path' || (section !== 'include' && section !== 'includeif')) return undefined
  return resolve(dirname(file), expandHome(value))
}

function hookPaths({ section, key, value }: GitConfigEntry, tree: string): string[] {
  if (section !== 'core' || key !== 'hookspath' || value === '') return []
  const path = resolve(tree, expandHome(value))
  // husky sets `.husky/_`; the hooks in there run the files of the parent folder.
  return [basename(path) === '_' ? dirname(path) : path]
}

/** Settings whose value is a program to run. */
const PROGRAM_KEYS =
  /^(fsmonitor|sshcommand|editor|pager|askpass|gitproxy|textconv|command|cmd|clean|smudge|process|driver|program|helper)$/

/**
 * Files of the working tree that appear in a value: git may run them or read them as config. A program that does not exist
 * yet counts when it is named by a path, because an agent that creates it would have it executed.
 */
function programPaths({ section, key, value }: GitConfigEntry, tree: string): string[] {
  const runsProgram = PROGRAM_KEYS.test(key) || section === 'alias'
  const words = value.split(/[\s"'`;|&()<>=]+/).filter((word) => word !== '' && word.length < 1024)
  return words.flatMap((word) => {
    const path = resolve(tree, expandHome(word))
    const isFuturePath = runsProgram && isMissing(path) && /^[\w.][\w.-]*(\/[\w.-]+)+$/.test(word)
    return isFile(path) || isFuturePath ? path : []
  })
}

function isMissing(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}

function expandHome(path: string): string {
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : path
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** Denial of service: a named pipe would block forever and a huge file exhaust memory, so both read as empty. */
function readConfigText(file: string): string {
  let fd: number | undefined
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const stat = fstatSync(fd)
    return stat.isFile() && stat.size < 1_000_000 ? readFileSync(fd, 'utf8') : ''
  } catch {
    return ''
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
