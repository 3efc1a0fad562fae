import { randomBytes } from 'node:crypto'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { TROUPE_FOLDER } from '../files/check-protected.ts'
import { readGitFile } from './git-files.ts'
import type { GitProgram } from './git-process.ts'
import { runGit } from './git-process.ts'

/** What commits take from the git config of the user, which other commands do not read. */
export interface CommitSettings {
  name: string
  email: string
  /** Patterns of files that are never committed: those of the user, and Troupe's own folder. */
  excludesFile: string
}

/** For users without an identity; the same that commands in the sandbox have. */
const NEUTRAL = { name: 'Troupe agent', email: 'agent@troupe.invalid' }

/** Reads the identity of the user and the global ignore file. `git config` starts no program. */
export async function readUserSettings(
  program: GitProgram,
  { folder, worktrees, home }: { folder: string; worktrees: string; home: string },
): Promise<CommitSettings> {
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), GIT_CONFIG_GLOBAL: join(home, '.gitconfig') }
  const read = async (...args: string[]) => {
    const { status, stdout } = await runGit(program, { args: ['-C', folder, 'config', ...args], env })
    return status === 0 ? stdout.toString('utf8') : ''
  }
  const found = new Map<string, string>()
  for (const entry of (await read('-z', '--get-regexp', '^(user\\.(name|email)|core\\.excludesfile)$')).split('\0')) {
    const [key = '', ...lines] = entry.split('\n')
    found.set(key, lines.join('\n').trim())
  }
  const [name = '', email = ''] = [found.get('user.name'), found.get('user.email')]
  // Git expands `~`.
  const ignored = found.has('core.excludesfile') ? await read('--type=path', '--get', 'core.excludesFile') : ''
  const excludesFile = join(worktrees, 'exclude')
  const patterns = readGitFile(ignored.trim() === '' ? join(home, '.config', 'git', 'ignore') : ignored.trim()) ?? ''
  replaceText(excludesFile, `${patterns}\n${TROUPE_FOLDER}/\n`)
  return { ...(name !== '' && email !== '' ? { name, email } : NEUTRAL), excludesFile }
}

/** With a rename: git of another worktree may be reading the file, and would commit what an empty one does not exclude (race). */
function replaceText(file: string, text: string): void {
  if (readGitFile(file) === text) return
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomBytes(6).toString('hex')}`
  writeFileSync(temporary, text)
  renameSync(temporary, file)
}

export function identityEnvironment({ name, email }: CommitSettings): Record<string, string> {
  return {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  }
}
