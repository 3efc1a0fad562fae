import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Attempt } from './attempt.ts'
import { hostGit } from './git.attempts.ts'
import type { HostFixture } from './host-fixture.ts'
import { hasMarker } from './host-fixture.ts'

/** Repositories and rebase states that a command creates, and that git on the host would execute programs from. */

const FSMONITOR = (marker: string, file: string) =>
  `printf '[core]\\n\\tfsmonitor = "echo x > ${marker}; :"\\n' >> ${file}`
const COMMITTED = (folder: string) =>
  `git init -q ${folder}; git -C ${folder} -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m nested`

interface NestedAttempt {
  run(host: HostFixture): string
  /** The git command that a person runs afterwards, and where. */
  trigger?: string[]
  folder?: string
  prepare?(host: HostFixture): void
}

function nestedAttempt(title: string, { run, trigger = ['status'], folder = '.', prepare }: NestedAttempt): Attempt {
  return {
    title,
    prepare: (host) => {
      hostGit(host, '.', 'init', '-q', '.')
      for (const message of ['first', 'second', 'third'])
        hostGit(host, '.', 'commit', '-q', '--allow-empty', '-m', message)
      prepare?.(host)
    },
    run,
    escaped: (host) => {
      hostGit(host, folder, ...trigger)
      return hasMarker(host)
    },
  }
}

const gitlinkTo = (folder: string) =>
  nestedAttempt(`a gitlink to a new repository in ${folder}`, {
    run: ({ marker }) =>
      `mkdir -p ${folder}; ${COMMITTED(folder)}; ${FSMONITOR(marker, `${folder}/.git/config`)}; git add -f ${folder}`,
  })

export const nestedGitAttempts: readonly Attempt[] = [
  gitlinkTo('sub'),
  gitlinkTo('a/b/c/d/e/f/g/h/i'),
  gitlinkTo('node_modules/package'),
  gitlinkTo('.troupe-cache/.claude/x'),
  nestedAttempt('git init in a package of a monorepo', {
    prepare: ({ workspace }) => void mkdirSync(join(workspace, 'packages/a'), { recursive: true }),
    run: ({ marker }) => `cd packages/a && git init -q . && ${FSMONITOR(marker, '.git/config')}`,
    folder: 'packages/a',
  }),
  nestedAttempt('a hook in a new nested repository', {
    run: ({ marker }) =>
      `git init -q sub; mkdir -p sub/.git/hooks; printf '#!/bin/sh\\necho x > ${marker}\\n' > sub/.git/hooks/pre-commit; chmod +x sub/.git/hooks/pre-commit`,
    trigger: ['commit', '-q', '--allow-empty', '-m', 'x'],
    folder: 'sub',
  }),
  nestedAttempt('a new repository with an included config', {
    run: ({ marker }) =>
      `git init -q sub; ${FSMONITOR(marker, 'sub/more')}; printf '[include]\\n\\tpath = ../more\\n' >> sub/.git/config`,
    folder: 'sub',
  }),
  nestedAttempt('a new repository with config.worktree', {
    run: ({ marker }) =>
      `git init -q sub; git -C sub config extensions.worktreeConfig true; ${FSMONITOR(marker, 'sub/.git/config.worktree')}`,
    folder: 'sub',
  }),
  nestedAttempt('a new repository with a symlink as config', {
    run: ({ marker }) =>
      `git init -q sub; cp sub/.git/config sub/c; ${FSMONITOR(marker, 'sub/c')}; ln -sf ../c sub/.git/config`,
    folder: 'sub',
  }),
  nestedAttempt('a .git file that names a folder with another name', {
    run: ({ marker }) =>
      `mkdir sub; git init -q t; mv t/.git sub/data; ${FSMONITOR(marker, 'sub/data/config')}; echo 'gitdir: data' > sub/.git`,
    folder: 'sub',
  }),
  nestedAttempt('a .git symlink to a folder with another name', {
    run: ({ marker }) =>
      `mkdir sub; git init -q t; mv t/.git sub/data; ${FSMONITOR(marker, 'sub/data/config')}; ln -s data sub/.git`,
    folder: 'sub',
  }),
  nestedAttempt('a .git file that names a folder in node_modules', {
    run: ({ marker }) =>
      `mkdir -p sub node_modules; git init -q t; mv t/.git node_modules/data; ${FSMONITOR(marker, 'node_modules/data/config')}; echo 'gitdir: ../node_modules/data' > sub/.git`,
    folder: 'sub',
  }),
  nestedAttempt('a new bare repository', {
    run: ({ marker }) =>
      `git init -q --bare x.git; git -C x.git config core.bare false; git -C x.git config core.worktree .; ${FSMONITOR(marker, 'x.git/config')}`,
    folder: 'x.git',
  }),
  nestedAttempt('the config of an existing bare repository', {
    prepare: (host) => {
      hostGit(host, '.', 'init', '-q', '--bare', 'x.git')
      hostGit(host, 'x.git', 'config', 'core.bare', 'false')
      hostGit(host, 'x.git', 'config', 'core.worktree', '.')
    },
    run: ({ marker }) => FSMONITOR(marker, 'x.git/config'),
    folder: 'x.git',
  }),
  nestedAttempt('the git folder of a new submodule', {
    run: ({ marker }) =>
      `mkdir -p .git/modules; ${COMMITTED('sub')}; git add sub; mv sub/.git .git/modules/sub; echo 'gitdir: ../.git/modules/sub' > sub/.git; git -C sub config core.worktree ../../../sub; ${FSMONITOR(marker, '.git/modules/sub/config')}`,
  }),
  nestedAttempt('a new linked working tree with another commondir', {
    run: ({ marker }) =>
      `git worktree add -q sub; cp -r .git evil; rm -rf evil/worktrees; ${FSMONITOR(marker, 'evil/config')}; echo ../../../evil > .git/worktrees/sub/commondir`,
    folder: 'sub',
  }),
  nestedAttempt('exec in the todo list of a new rebase', {
    run: ({ marker }) =>
      `GIT_SEQUENCE_EDITOR="sh -c 'printf \\"break\\nexec echo x > ${marker}\\n\\" > \\$0'" git rebase -q -i HEAD~1; cat .git/rebase-merge/git-rebase-todo`,
    trigger: ['rebase', '--continue'],
  }),
  nestedAttempt('exec in the todo list of a rebase in progress', {
    prepare: (host) => {
      try {
        execFileSync('git', ['-C', host.workspace, 'rebase', '-q', '-i', 'HEAD~1'], {
          env: { ...process.env, GIT_SEQUENCE_EDITOR: "sh -c 'echo break > $0'" },
          stdio: 'ignore',
        })
      } catch {
        // Stops at `break`.
      }
    },
    run: ({ marker }) => `echo 'x echo x > ${marker}' >> .git/rebase-merge/git-rebase-todo`,
    trigger: ['rebase', '--continue'],
  }),
]
