import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/** Where git keeps what belongs to a working tree: its `.git`, or what the file or link of that name points to. */
export function gitFolderOf(tree: string): string | undefined {
  const git = join(tree, '.git')
  const there = lstatSync(git, { throwIfNoEntry: false })
  if (there?.isDirectory()) return git
  if (there?.isSymbolicLink()) return linkedFolder(git)
  const target = /^gitdir:\s*(.+?)\s*$/m.exec(textOf(git))?.[1]
  return target === undefined ? undefined : resolve(tree, target)
}

function linkedFolder(link: string): string | undefined {
  return statSync(link, { throwIfNoEntry: false })?.isDirectory() ? realpathSync(link) : undefined
}

/** The folders that a repository's own settings name for its hooks, instead of the usual one. */
export function hookFoldersOf(tree: string): string[] {
  const git = gitFolderOf(tree)
  if (git === undefined) return []
  const shared = resolve(git, textOf(join(git, 'commondir')).trim() || '.')
  const settings = [join(shared, 'config'), join(git, 'config'), join(git, 'config.worktree')]
  return (
    [...new Set(settings)]
      .flatMap((file) => hookPathsIn(textOf(file)))
      .map((path) => resolve(tree, path))
      // husky names `.husky/_`; the hooks in there run the files beside that folder.
      .map((path) => (basename(path) === '_' ? dirname(path) : path))
  )
}

function hookPathsIn(settings: string): string[] {
  let section = ''
  return settings.split('\n').flatMap((line) => {
    const header = /^\s*\[\s*([^\]]+?)\s*\]/.exec(line)
    if (header) section = (header[1] ?? '').toLowerCase()
    const rest = header ? line.slice(header[0].length) : line
    const value = /^\s*hookspath\s*=\s*(.*?)\s*$/i.exec(rest)?.[1]
    if (section !== 'core' || value === undefined) return []
    const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(value)?.[1]
    const path = quoted?.replace(/\\(.)/g, '$1') ?? value.replace(/\s*[#;].*$/, '')
    return path === '' || path.startsWith('~') ? [] : [path]
  })
}

/** Only of regular files of a sane size: opening a pipe that a command left there would wait for ever. */
function textOf(file: string): string {
  try {
    const there = lstatSync(file)
    return there.isFile() && there.size < 1_000_000 ? readFileSync(file, 'utf8') : ''
  } catch {
    return ''
  }
}
