import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import type { GitConfigEntry } from './git-config.ts'
import { parseGitConfig } from './git-config.ts'

/*
 * What runs with the rights of whoever uses git in a working tree, wherever the repository's own settings say that it is.
 */

/** Where git keeps what belongs to a working tree: its `.git`, or what the file or link of that name points to. */
export function findGitFolder(tree: string): string | undefined {
  const git = join(tree, '.git')
  const there = lstatSync(git, { throwIfNoEntry: false })
  if (there?.isDirectory()) return git
  if (there?.isSymbolicLink()) return resolveLinkedFolder(git)
  const target = /^gitdir:\s*(.+?)\s*$/m.exec(readConfigText(git))?.[1]
  return target === undefined ? undefined : resolve(tree, target)
}

function resolveLinkedFolder(link: string): string | undefined {
  return statSync(link, { throwIfNoEntry: false })?.isDirectory() ? realpathSync(link) : undefined
}

/** The most files of settings that are read for one working tree. */
const MAX_CONFIG_FILES = 64

/**
 * The files and folders that a repository's settings name: other settings, hooks in another place than usual, and programs
 * of the working tree.
 */
export function pathsNamedInGitConfig(tree: string): string[] {
  const git = findGitFolder(tree)
  if (git === undefined) return []
  const shared = resolve(git, readConfigText(join(git, 'commondir')).trim() || '.')
  const files = [...new Set([join(shared, 'config'), join(git, 'config'), join(git, 'config.worktree')])]
  const own = files.length
  const named: string[] = []
  for (let at = 0; at < files.length && at < MAX_CONFIG_FILES; at++) {
    const file = files[at] ?? ''
    for (const setting of parseGitConfig(readConfigText(file))) {
      const included = includedConfig(setting, file)
      if (included !== undefined && !files.includes(included)) files.push(included)
      named.push(...hookPaths(setting, tree), ...programPaths(setting, tree))
    }
  }
  return [...named, ...files.slice(own)]
}

function includedConfig({ section, key, value }: GitConfigEntry, file: string): string | undefined {
  if (key !== 'path' || (section !== 'include' && section !== 'includeif')) return undefined
  return resolve(dirname(file), expandHome(value))
}

function hookPaths({ section, key, value }: GitConfigEntry, tree: string): string[] {
  if (section !== 'core' || key !== 'hookspath' || value === '') return []
  const path = resolve(tree, expandHome(value))
  // husky names `.husky/_`; the hooks in there run the files beside that folder.
  return [basename(path) === '_' ? dirname(path) : path]
}

/** Settings that name a program to be run. */
const PROGRAM_KEYS =
  /^(fsmonitor|sshcommand|editor|pager|askpass|gitproxy|textconv|command|cmd|clean|smudge|process|driver|program|helper)$/

/**
 * Files of the working tree among the words of a setting: any of them may be run or read as settings. A program that is
 * not there yet counts where it is named by its way: whoever made it would be run.
 */
function programPaths({ section, key, value }: GitConfigEntry, tree: string): string[] {
  const runs = PROGRAM_KEYS.test(key) || section === 'alias'
  const words = value.split(/[\s"'`;|&()<>=]+/).filter((word) => word !== '' && word.length < 1024)
  return words.flatMap((word) => {
    const path = resolve(tree, expandHome(word))
    return isFile(path) || (runs && isMissing(path) && /^[\w.][\w.-]*(\/[\w.-]+)+$/.test(word)) ? path : []
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

/** Only of regular files of a sane size: opening a pipe that a command left there would wait for ever. */
function readConfigText(file: string): string {
  let fd: number | undefined
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const there = fstatSync(fd)
    return there.isFile() && there.size < 1_000_000 ? readFileSync(fd, 'utf8') : ''
  } catch {
    return ''
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
