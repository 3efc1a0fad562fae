import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Attempt } from './attempt.ts'
import type { HostFixture } from './host-fixture.ts'
import { hasMarker, readIfExists } from './host-fixture.ts'
import { writeWorkspaceFile } from './protected.attempts.ts'

/** What a person does later, outside, with their own rights. */
function hostGit({ workspace }: HostFixture, folder: string, ...args: string[]): void {
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
    // A hook that fails is a hook that ran.
  }
}

const repository =
  (folder = '.') =>
  (scene: HostFixture) =>
    hostGit(scene, '.', 'init', '-q', folder)

/** A repository with a commit and settings of its own. */
const prepareRepository = (settings: string[]) => (scene: HostFixture) => {
  repository()(scene)
  hostGit(scene, '.', 'commit', '-q', '--allow-empty', '-m', 'first')
  hostGit(scene, '.', ...settings)
}

/** A repository whose `.git` is a link: to a folder beside it, or to one outside the workspace. */
const linkRepository = (where: 'inside' | 'outside') => (scene: HostFixture) => {
  repository()(scene)
  hostGit(scene, '.', 'commit', '-q', '--allow-empty', '-m', 'first')
  const target = where === 'inside' ? join(scene.workspace, 'real.git') : join(scene.outside, 'real.git')
  renameSync(join(scene.workspace, '.git'), target)
  symlinkSync(where === 'inside' ? 'real.git' : target, join(scene.workspace, '.git'))
}

/** A trap that goes off when the host uses git in the workspace. */
function trapAttempt(title: string, run: Attempt['run'], spring: string[], folder = '.'): Attempt {
  return {
    title,
    prepare: (scene) => {
      repository(folder)(scene)
      hostGit(scene, folder, 'commit', '-q', '--allow-empty', '-m', 'first')
    },
    run,
    escaped: (scene) => {
      hostGit(scene, folder, ...spring)
      return hasMarker(scene)
    },
  }
}

const commit = ['commit', '-q', '--allow-empty', '-m', 'second']
const hook = (folder: string, marker: string) =>
  `mkdir -p ${folder}; printf '#!/bin/sh\\necho x > ${marker}\\n' > ${folder}/pre-commit; chmod +x ${folder}/pre-commit`

export const gitAttempts: readonly Attempt[] = [
  trapAttempt('a hook for the host', ({ marker }) => hook('.git/hooks', marker), commit),
  trapAttempt(
    'a hook where there was no folder for hooks',
    ({ marker }) => `rm -rf .git/hooks; ${hook('.git/hooks', marker)}`,
    commit,
  ),
  trapAttempt(
    'hooks in another folder',
    ({ marker }) => `git config core.hooksPath evil; ${hook('evil', marker)}`,
    commit,
  ),
  trapAttempt(
    'a file monitor in the settings',
    ({ marker }) => `printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' >> .git/config`,
    ['status'],
  ),
  trapAttempt(
    'settings put in place of the old ones',
    ({ marker }) =>
      `cp .git/config c; printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' >> c; mv -f c .git/config`,
    ['status'],
  ),
  trapAttempt(
    'a repository in place of the old one',
    ({ marker }) => `mv .git old; git init -q .; ${hook('.git/hooks', marker)}`,
    commit,
  ),
  trapAttempt(
    'a folder in place of one that holds a repository',
    ({ marker }) => `mv sub away; git init -q sub; ${hook('sub/.git/hooks', marker)}`,
    commit,
    'sub',
  ),
  trapAttempt('a hook of a repository below', ({ marker }) => hook('sub/.git/hooks', marker), commit, 'sub'),
  trapAttempt(
    'a hook of a repository far below',
    ({ marker }) => hook('a/b/c/d/e/f/.git/hooks', marker),
    commit,
    'a/b/c/d/e/f',
  ),
  {
    ...trapAttempt('a hook in the folder that the settings name', ({ marker }) => hook('.husky', marker), commit),
    prepare: prepareRepository(['config', 'core.hooksPath', '.husky']),
  },
  {
    ...trapAttempt('what a hook of husky runs', ({ marker }) => hook('.husky', marker), commit),
    prepare: (scene) => {
      prepareRepository(['config', 'core.hooksPath', '.husky/_'])(scene)
      mkdirSync(join(scene.workspace, '.husky/_'), { recursive: true })
      writeFileSync(join(scene.workspace, '.husky/_/pre-commit'), '#!/bin/sh\n. .husky/pre-commit\n', { mode: 0o755 })
    },
  },
  {
    ...trapAttempt(
      'settings of one working tree',
      ({ marker }) => `printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' > .git/config.worktree`,
      ['status'],
    ),
    prepare: prepareRepository(['config', 'extensions.worktreeConfig', 'true']),
  },
  {
    ...trapAttempt(
      'a hook of a module with slashes in its name',
      ({ marker }) => hook('.git/modules/libs/m/hooks', marker),
      commit,
      'm',
    ),
    prepare: (scene) => {
      repository()(scene)
      mkdirSync(join(scene.workspace, '.git/modules/libs'), { recursive: true })
      hostGit(scene, '.', 'init', '-q', '--separate-git-dir', '.git/modules/libs/m', 'm')
    },
  },
  {
    ...trapAttempt(
      'settings of a module in a module',
      ({ marker }) => `printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' >> .git/modules/a/modules/b/config`,
      ['status'],
      'b',
    ),
    prepare: (scene) => {
      repository()(scene)
      mkdirSync(join(scene.workspace, '.git/modules/a/modules'), { recursive: true })
      hostGit(scene, '.', 'init', '-q', '--separate-git-dir', '.git/modules/a', 'a')
      mkdirSync(join(scene.workspace, '.git/modules/a/modules'), { recursive: true })
      hostGit(scene, '.', 'init', '-q', '--separate-git-dir', '.git/modules/a/modules/b', 'b')
    },
  },
  {
    ...trapAttempt(
      'settings that the settings include',
      ({ marker }) => `printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' > .gitconfig`,
      ['status'],
    ),
    prepare: prepareRepository(['config', 'include.path', '../.gitconfig']),
  },
  {
    ...trapAttempt('a program that the settings name', ({ marker }) => `echo 'echo x > ${marker}' > tools/monitor.sh`, [
      'status',
    ]),
    prepare: (scene) => {
      prepareRepository(['config', 'core.fsmonitor', 'sh tools/monitor.sh'])(scene)
      writeWorkspaceFile(scene, 'tools/monitor.sh', 'exit 0\n')
    },
  },
  trapAttempt(
    'other hooks and settings by way of a redirection',
    ({ marker }) => `cp -r .git evil; ${hook('evil/hooks', marker)}; echo ../evil > .git/commondir`,
    commit,
  ),
  {
    ...trapAttempt('a hook behind a link', ({ marker }) => hook('.git/hooks', marker), commit),
    prepare: linkRepository('inside'),
  },
  {
    ...trapAttempt(
      'a hook where a link leads',
      ({ marker }) => `rm -rf real.git/hooks; ${hook('real.git/hooks', marker)}`,
      commit,
    ),
    prepare: linkRepository('inside'),
  },
  {
    ...trapAttempt(
      'a repository in place of a link',
      ({ marker }) => `rm .git; git init -q .; ${hook('.git/hooks', marker)}`,
      commit,
    ),
    prepare: linkRepository('inside'),
  },
  {
    ...trapAttempt(
      'a link to another repository',
      ({ marker }) => `git init -q evil; ${hook('evil/.git/hooks', marker)}; ln -sfn evil/.git .git`,
      commit,
    ),
    prepare: linkRepository('inside'),
  },
  {
    ...trapAttempt(
      'a repository in place of a link to the outside',
      ({ marker }) => `mv .git old; git init -q .; ${hook('.git/hooks', marker)}`,
      commit,
    ),
    prepare: linkRepository('outside'),
  },
  { title: 'an alias', run: ({ marker }) => `git -c alias.x='!echo x > ${marker}' x`, prepare: repository() },
  {
    title: 'a repository outside',
    run: ({ outside }) => `git init -q ${outside}/repo`,
    escaped: ({ outside }) => existsSync(join(outside, 'repo', '.git')),
  },
  {
    title: 'a working tree outside',
    prepare: (scene) => {
      repository()(scene)
      hostGit(scene, '.', 'commit', '-q', '--allow-empty', '-m', 'first')
    },
    run: ({ outside }) => `git worktree add ${outside}/tree`,
    escaped: ({ outside }) => existsSync(join(outside, 'tree', '.git')),
  },
  {
    title: "the user's settings",
    run: ({ outside }) =>
      `git config --file ${outside}/home/.gitconfig core.pager evil; HOME=${outside}/home git config --global core.pager evil`,
    escaped: ({ outside }) => readIfExists(join(outside, 'home', '.gitconfig')).includes('evil'),
  },
]
