import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createRepository } from '../../src/tools/git/git-repository.ts'
import type { Repository } from '../../src/tools/git/repository.ts'

/** A real repository in a temporary folder, with the port that works on it. */
export interface GitFixture {
  folder: string
  /** The checkout of the user. */
  top: string
  worktrees: string
  repository: Repository
  git(...args: string[]): string
  write(path: string, content: string): void
  commitAll(message: string): string
  /** A hash of every file, mode and link of the checkout, `.git` included but for objects, by path. */
  fingerprint(): Readonly<Record<string, string>>
  remove(): void
}

const ENVIRONMENT = {
  PATH: process.env.PATH ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'User',
  GIT_AUTHOR_EMAIL: 'user@example.com',
  GIT_COMMITTER_NAME: 'User',
  GIT_COMMITTER_EMAIL: 'user@example.com',
}

export function createGitFixture(): GitFixture {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe git ü-')))
  const [top, worktrees, home] = ['project', 'state', 'home'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [top, home]) mkdirSync(path)
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', top, ...args], {
      env: ENVIRONMENT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim()
  git('init', '--quiet', '--initial-branch=main')
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(top, path)), { recursive: true })
    writeFileSync(join(top, path), content)
  }
  return {
    folder,
    top,
    worktrees,
    git,
    write,
    repository: createRepository({ workspace: top, worktrees, home, path: process.env.PATH ?? '' }),
    commitAll(message) {
      git('add', '--all')
      git('commit', '--quiet', '--message', message)
      return git('rev-parse', 'HEAD')
    },
    fingerprint: () => hashFiles(top, ''),
    remove() {
      makeWritable(folder)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function hashFiles(root: string, path: string): Record<string, string> {
  const entries = readdirSync(join(root, path), { withFileTypes: true })
  return Object.assign(
    {},
    ...entries.map((entry) => {
      const name = path === '' ? entry.name : `${path}/${entry.name}`
      if (name === '.git/objects') return {}
      if (entry.isDirectory()) return hashFiles(root, name)
      const content = entry.isSymbolicLink() ? readlinkSync(join(root, name)) : readFileSync(join(root, name))
      const { mode } = lstatSync(join(root, name))
      return { [name]: `${mode.toString(8)} ${createHash('sha256').update(content).digest('hex')}` }
    }),
  )
}

function makeWritable(folder: string): void {
  chmodSync(folder, 0o700)
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) makeWritable(join(folder, entry.name))
}
