import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Attempt } from './attempt.ts'
import type { HostFixture } from './host-fixture.ts'
import { readIfExists } from './host-fixture.ts'

/** Agent configuration in a workspace; `definitions` and `store` are in the option `protect`. */
export const PROTECTED_FILES = [
  '.claude/agents/evil.md',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.github/agents/evil.agent.md',
  '.amplifier/agents/evil.md',
  '.mcp.json',
  'definitions/evil.md',
  'store/runs.db',
]

/** Configuration that editors, shells, git, CI services and other agents execute or obey on the host. */
export const HOST_CONFIG_FILES = [
  '.vscode/tasks.json',
  '.idea/workspace.xml',
  '.devcontainer/devcontainer.json',
  '.devcontainer.json',
  'all.code-workspace',
  '.envrc',
  '.bashrc',
  '.zshenv',
  '.husky/pre-commit',
  '.pre-commit-config.yaml',
  '.cursor/mcp.json',
  '.codex/config.toml',
  '.gemini/settings.json',
  '.windsurf/rules/a.md',
  '.continue/config.yaml',
  'opencode.json',
  '.aider.conf.yml',
  '.claude/commands/evil.md',
  '.claude/hooks/evil.sh',
  '.github/workflows/ci.yml',
  '.github/copilot-instructions.md',
  '.forgejo/workflows/ci.yml',
  '.gitlab-ci.yml',
  '.circleci/config.yml',
  '.cargo/config.toml',
  'Jenkinsfile',
]

export function writeWorkspaceFile({ workspace }: Pick<HostFixture, 'workspace'>, path: string, content: string): void {
  mkdirSync(dirname(join(workspace, path)), { recursive: true })
  writeFileSync(join(workspace, path), content)
}

const wasOverwritten = (path: string) => (host: HostFixture) =>
  readIfExists(join(host.workspace, path)).includes('evil')
const overwriteCommand = (path: string) => `mkdir -p ${dirname(path)}; echo evil > ${path}`

export const protectedPathAttempts: readonly Attempt[] = [
  ...PROTECTED_FILES.flatMap((path): Attempt[] => [
    { title: `${path}, created`, run: () => overwriteCommand(path), escaped: wasOverwritten(path) },
    {
      title: `${path}, changed`,
      prepare: (host) => writeWorkspaceFile(host, path, 'good'),
      run: () => overwriteCommand(path),
      escaped: wasOverwritten(path),
    },
    {
      title: `${path}, replaced by a rename`,
      prepare: (host) => writeWorkspaceFile(host, path, 'good'),
      run: () => `echo evil > e; mv -f e ${path}`,
      escaped: wasOverwritten(path),
    },
    {
      title: `${path}, after moving its folder away`,
      prepare: (host) => writeWorkspaceFile(host, path, 'good'),
      run: () => `mv ${path.split('/')[0]} away; ${overwriteCommand(path)}`,
      escaped: wasOverwritten(path),
    },
  ]),
  {
    title: 'agent definitions behind a symlink',
    prepare: (host) => {
      writeWorkspaceFile(host, 'shared/good.md', 'good')
      mkdirSync(join(host.workspace, '.claude'))
      symlinkSync('../shared', join(host.workspace, '.claude/agents'))
    },
    run: () => 'echo evil > .claude/agents/evil.md; echo evil > shared/evil.md',
    escaped: wasOverwritten('.claude/agents/evil.md'),
  },
  {
    title: 'a folder of agents in place of a symlink',
    prepare: (host) => {
      writeWorkspaceFile(host, 'shared/good.md', 'good')
      mkdirSync(join(host.workspace, '.claude'))
      symlinkSync('../shared', join(host.workspace, '.claude/agents'))
    },
    run: () => `rm .claude/agents; ${overwriteCommand('.claude/agents/evil.md')}`,
    escaped: wasOverwritten('.claude/agents/evil.md'),
  },
  {
    title: 'settings after replacing a symlinked folder',
    prepare: (host) => {
      writeWorkspaceFile(host, 'dotfiles/settings.json', 'good')
      symlinkSync('dotfiles', join(host.workspace, '.claude'))
    },
    run: () => `mv .claude away; ${overwriteCommand('.claude/settings.json')}`,
    escaped: wasOverwritten('.claude/settings.json'),
  },
  {
    title: 'agent definitions in a nested project',
    prepare: (host) => writeWorkspaceFile(host, 'packages/a/.claude/agents/good.md', 'good'),
    run: () => 'echo evil > packages/a/.claude/agents/good.md',
    escaped: wasOverwritten('packages/a/.claude/agents/good.md'),
  },
  {
    title: '.troupe/agents in a nested project',
    prepare: (host) => writeWorkspaceFile(host, 'packages/a/.troupe/agents/good.md', 'good'),
    run: () => 'echo evil > packages/a/.troupe/agents/good.md; mv packages gone; mkdir -p packages/a/.troupe/agents',
    escaped: (host) => readIfExists(join(host.workspace, 'packages/a/.troupe/agents/good.md')) !== 'good',
  },
]

/** Deeper than the folders that are made read-only one by one. */
const DEEP = Array.from({ length: 45 }, () => 'd').join('/')

export const hostConfigAttempts: readonly Attempt[] = [
  ...HOST_CONFIG_FILES.map(
    (path): Attempt => ({
      title: `${path}, created`,
      run: () => overwriteCommand(path),
      escaped: wasOverwritten(path),
    }),
  ),
  {
    title: '.vscode/tasks.json, created below 40 folders',
    run: () => overwriteCommand(`${DEEP}/.vscode/tasks.json`),
    escaped: wasOverwritten(`${DEEP}/.vscode/tasks.json`),
  },
  {
    title: '.envrc, created below 40 folders and moved up afterwards',
    run: () => `${overwriteCommand(`${DEEP}/.envrc`)}; mv ${DEEP} up`,
    escaped: wasOverwritten('up/.envrc'),
  },
  {
    title: 'all of them, changed',
    prepare: (host) => {
      for (const path of HOST_CONFIG_FILES) writeWorkspaceFile(host, path, 'good')
    },
    run: () => HOST_CONFIG_FILES.map(overwriteCommand).join('\n'),
    escaped: (host) => {
      const isChanged = (path: string) => wasOverwritten(path)(host)
      return host.confined ? HOST_CONFIG_FILES.some(isChanged) : HOST_CONFIG_FILES.every(isChanged)
    },
  },
  {
    title: 'an editor task in a new nested folder',
    run: () => overwriteCommand('packages/new/.vscode/tasks.json'),
    escaped: wasOverwritten('packages/new/.vscode/tasks.json'),
  },
  {
    title: 'a workflow in a nested project, changed',
    prepare: (host) => writeWorkspaceFile(host, 'packages/a/.github/workflows/ci.yml', 'good'),
    run: () => 'echo evil > packages/a/.github/workflows/ci.yml',
    escaped: wasOverwritten('packages/a/.github/workflows/ci.yml'),
  },
  {
    title: 'an editor folder that is a new symlink',
    run: () => 'mkdir evil; echo evil > evil/tasks.json; ln -s evil .vscode',
    escaped: wasOverwritten('.vscode/tasks.json'),
  },
  {
    title: 'workflows behind a new symlink of their parent',
    run: () => 'mkdir -p evil/workflows sub; echo evil > evil/workflows/a.yml; ln -s ../evil sub/.github',
    escaped: wasOverwritten('sub/.github/workflows/a.yml'),
  },
]
