import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Attempt } from './attempt.ts'
import type { HostFixture } from './host-fixture.ts'
import { hasMarker, readIfExists } from './host-fixture.ts'
import { writeWorkspaceFile } from './protected.attempts.ts'

/** Git as a person runs it later, outside the sandbox. */
export function hostGit({ workspace }: HostFixture, folder: string, ...args: string[]): void {
  const env = {
    ...process.env,
    GIT_AUTHOR_NAME: 'h',
    GIT_AUTHOR_EMAIL: 'h@h',
    GIT_COMMITTER_NAME: 'h',
    GIT_COMMITTER_EMAIL: 'h@h',
  }
  try {
    execFileSync('git', ['-C', join(workspace, folder), ...args], { env, stdio: 'ignore' })
  } catch {
    // A failing hook has been executed as well.
  }
}

const initRepository =
  (folder = '.') =>
  (host: HostFixture) =>
    hostGit(host, '.', 'init', '-q', folder)

/** Creates a repository with a commit and runs one git command in it. */
const prepareRepository = (command: string[]) => (host: HostFixture) => {
  initRepository()(host)
  hostGit(host, '.', 'commit', '-q', '--allow-empty', '-m', 'first')
  hostGit(host, '.', ...command)
}

/** Creates a repository whose `.git` is a symlink to a folder inside or outside the workspace. */
const linkRepository = (where: 'inside' | 'outside') => (host: HostFixture) => {
  initRepository()(host)
  hostGit(host, '.', 'commit', '-q', '--allow-empty', '-m', 'first')
  const target = where === 'inside' ? join(host.workspace, 'real.git') : join(host.outside, 'real.git')
  renameSync(join(host.workspace, '.git'), target)
  symlinkSync(where === 'inside' ? 'real.git' : target, join(host.workspace, '.git'))
}

/** An attempt that takes effect when the host runs git in the workspace. */
function trapAttempt(title: string, run: Attempt['run'], trigger: string[], folder = '.'): Attempt {
  return {
    title,
    prepare: (host) => {
      initRepository(folder)(host)
      hostGit(host, folder, 'commit', '-q', '--allow-empty', '-m', 'first')
    },
    run,
    escaped: (host) => {
      hostGit(host, folder, ...trigger)
      return hasMarker(host)
    },
  }
}

const commit = ['commit', '-q', '--allow-empty', '-m', 'second']
const hook = (folder: string, marker: string) =>
  `mkdir -p ${folder}; printf '#!/bin/sh\\necho x > ${marker}\\n' > ${folder}/pre-commit; chmod +x ${folder}/pre-commit`

export const gitAttempts: readonly Attempt[] = [
  trapAttempt('a hook for the host', ({ marker }) => hook('.git/hooks', marker), commit),
  trapAttempt(
    'a hook in a new hooks folder',
    ({ marker }) => `rm -rf .git/hooks; ${hook('.git/hooks', marker)}`,
    commit,
  ),
  trapAttempt('core.hooksPath', ({ marker }) => `git config core.hooksPath evil; ${hook('evil', marker)}`, commit),
  trapAttempt(
    'core.fsmonitor',
    ({ marker }) => `printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' >> .git/config`,
    ['status'],
  ),
  trapAttempt(
    'config replaced by a rename',
    ({ marker }) =>
      `cp .git/config c; printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' >> c; mv -f c .git/config`,
    ['status'],
  ),
  trapAttempt(
    'a new repository in place of the old one',
    ({ marker }) => `mv .git old; git init -q .; ${hook('.git/hooks', marker)}`,
    commit,
  ),
  trapAttempt(
    'a new folder in place of one with a repository',
    ({ marker }) => `mv sub away; git init -q sub; ${hook('sub/.git/hooks', marker)}`,
    commit,
    'sub',
  ),
  trapAttempt('a hook of a nested repository', ({ marker }) => hook('sub/.git/hooks', marker), commit, 'sub'),
  trapAttempt(
    'a hook of a deeply nested repository',
    ({ marker }) => hook('a/b/c/d/e/f/.git/hooks', marker),
    commit,
    'a/b/c/d/e/f',
  ),
  {
    ...trapAttempt('a hook in the folder of core.hooksPath', ({ marker }) => hook('.husky', marker), commit),
    prepare: prepareRepository(['config', 'core.hooksPath', '.husky']),
  },
  {
    ...trapAttempt('a script that a husky hook runs', ({ marker }) => hook('.husky', marker), commit),
    prepare: (host) => {
      prepareRepository(['config', 'core.hooksPath', '.husky/_'])(host)
      mkdirSync(join(host.workspace, '.husky/_'), { recursive: true })
      writeFileSync(join(host.workspace, '.husky/_/pre-commit'), '#!/bin/sh\n. .husky/pre-commit\n', { mode: 0o755 })
    },
  },
  {
    ...trapAttempt(
      'config.worktree',
      ({ marker }) => `printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' > .git/config.worktree`,
      ['status'],
    ),
    prepare: prepareRepository(['config', 'extensions.worktreeConfig', 'true']),
  },
  {
    ...trapAttempt(
      'a hook of a submodule with slashes in its name',
      ({ marker }) => hook('.git/modules/libs/m/hooks', marker),
      commit,
      'm',
    ),
    prepare: (host) => {
      initRepository()(host)
      mkdirSync(join(host.workspace, '.git/modules/libs'), { recursive: true })
      hostGit(host, '.', 'init', '-q', '--separate-git-dir', '.git/modules/libs/m', 'm')
    },
  },
  {
    ...trapAttempt(
      'config of a nested submodule',
      ({ marker }) => `printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' >> .git/modules/a/modules/b/config`,
      ['status'],
      'b',
    ),
    prepare: (host) => {
      initRepository()(host)
      mkdirSync(join(host.workspace, '.git/modules/a/modules'), { recursive: true })
      hostGit(host, '.', 'init', '-q', '--separate-git-dir', '.git/modules/a', 'a')
      mkdirSync(join(host.workspace, '.git/modules/a/modules'), { recursive: true })
      hostGit(host, '.', 'init', '-q', '--separate-git-dir', '.git/modules/a/modules/b', 'b')
    },
  },
  {
    ...trapAttempt(
      'a config file in include.path',
      ({ marker }) => `printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' > .gitconfig`,
      ['status'],
    ),
    prepare: prepareRepository(['config', 'include.path', '../.gitconfig']),
  },
  {
    ...trapAttempt('a program that the config names', ({ marker }) => `echo 'echo x > ${marker}' > tools/monitor.sh`, [
      'status',
    ]),
    prepare: (host) => {
      prepareRepository(['config', 'core.fsmonitor', 'sh tools/monitor.sh'])(host)
      writeWorkspaceFile(host, 'tools/monitor.sh', 'exit 0\n')
    },
  },
  trapAttempt(
    'a commondir file',
    ({ marker }) => `cp -r .git evil; ${hook('evil/hooks', marker)}; echo ../evil > .git/commondir`,
    commit,
  ),
  {
    ...trapAttempt('a hook behind a symlinked .git', ({ marker }) => hook('.git/hooks', marker), commit),
    prepare: linkRepository('inside'),
  },
  {
    ...trapAttempt(
      'a hook in the target of a symlinked .git',
      ({ marker }) => `rm -rf real.git/hooks; ${hook('real.git/hooks', marker)}`,
      commit,
    ),
    prepare: linkRepository('inside'),
  },
  {
    ...trapAttempt(
      'a repository in place of a symlinked .git',
      ({ marker }) => `rm .git; git init -q .; ${hook('.git/hooks', marker)}`,
      commit,
    ),
    prepare: linkRepository('inside'),
  },
  {
    ...trapAttempt(
      'a symlink to another repository',
      ({ marker }) => `git init -q evil; ${hook('evil/.git/hooks', marker)}; ln -sfn evil/.git .git`,
      commit,
    ),
    prepare: linkRepository('inside'),
  },
  {
    ...trapAttempt(
      'a repository in place of a symlink to the outside',
      ({ marker }) => `mv .git old; git init -q .; ${hook('.git/hooks', marker)}`,
      commit,
    ),
    prepare: linkRepository('outside'),
  },
  { title: 'an alias', run: ({ marker }) => `git -c alias.x='!echo x > ${marker}' x`, prepare: initRepository() },
  {
    title: 'a repository outside',
    run: ({ outside }) => `git init -q ${outside}/repo`,
    escaped: ({ outside }) => existsSync(join(outside, 'repo', '.git')),
  },
  {
    title: 'a working tree outside',
    prepare: (host) => {
      initRepository()(host)
      hostGit(host, '.', 'commit', '-q', '--allow-empty', '-m', 'first')
    },
    run: ({ outside }) => `git worktree add ${outside}/tree`,
    escaped: ({ outside }) => existsSync(join(outside, 'tree', '.git')),
  },
  {
    title: 'the global git config',
    run: ({ outside }) =>
      `git config --file ${outside}/home/.gitconfig core.pager evil; HOME=${outside}/home git config --global core.pager evil`,
    escaped: ({ outside }) => readIfExists(join(outside, 'home', '.gitconfig')).includes('evil'),
  },
]
