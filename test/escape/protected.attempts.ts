import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Attempt } from './attempt.ts'
import type { HostFixture } from './host-fixture.ts'
import { readIfExists } from './host-fixture.ts'

/** What agents are made of, in a workspace; `definitions` is protected because it was named. */
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

export function writeWorkspaceFile({ workspace }: Pick<HostFixture, 'workspace'>, path: string, content: string): void {
  mkdirSync(dirname(join(workspace, path)), { recursive: true })
  writeFileSync(join(workspace, path), content)
}

const wasOverwritten = (path: string) => (scene: HostFixture) =>
  readIfExists(join(scene.workspace, path)).includes('evil')
const overwriteCommand = (path: string) => `mkdir -p ${dirname(path)}; echo evil > ${path}`

export const protectedPathAttempts: readonly Attempt[] = [
  ...PROTECTED_FILES.flatMap((path): Attempt[] => [
    { title: `${path}, made`, run: () => overwriteCommand(path), escaped: wasOverwritten(path) },
    {
      title: `${path}, changed`,
      prepare: (scene) => writeWorkspaceFile(scene, path, 'good'),
      run: () => overwriteCommand(path),
      escaped: wasOverwritten(path),
    },
    {
      title: `${path}, put in place of the old one`,
      prepare: (scene) => writeWorkspaceFile(scene, path, 'good'),
      run: () => `echo evil > e; mv -f e ${path}`,
      escaped: wasOverwritten(path),
    },
    {
      title: `${path}, with its folder moved away`,
      prepare: (scene) => writeWorkspaceFile(scene, path, 'good'),
      run: () => `mv ${path.split('/')[0]} away; ${overwriteCommand(path)}`,
      escaped: wasOverwritten(path),
    },
  ]),
  {
    title: 'definitions of agents behind a link',
    prepare: (scene) => {
      writeWorkspaceFile(scene, 'shared/good.md', 'good')
      mkdirSync(join(scene.workspace, '.claude'))
      symlinkSync('../shared', join(scene.workspace, '.claude/agents'))
    },
    run: () => 'echo evil > .claude/agents/evil.md; echo evil > shared/evil.md',
    escaped: wasOverwritten('.claude/agents/evil.md'),
  },
  {
    title: 'a folder of agents in place of a link',
    prepare: (scene) => {
      writeWorkspaceFile(scene, 'shared/good.md', 'good')
      mkdirSync(join(scene.workspace, '.claude'))
      symlinkSync('../shared', join(scene.workspace, '.claude/agents'))
    },
    run: () => `rm .claude/agents; ${overwriteCommand('.claude/agents/evil.md')}`,
    escaped: wasOverwritten('.claude/agents/evil.md'),
  },
  {
    title: 'settings behind a folder that is a link, and was replaced',
    prepare: (scene) => {
      writeWorkspaceFile(scene, 'dotfiles/settings.json', 'good')
      symlinkSync('dotfiles', join(scene.workspace, '.claude'))
    },
    run: () => `mv .claude away; ${overwriteCommand('.claude/settings.json')}`,
    escaped: wasOverwritten('.claude/settings.json'),
  },
  {
    title: 'definitions of agents in a project below',
    prepare: (scene) => writeWorkspaceFile(scene, 'packages/a/.claude/agents/good.md', 'good'),
    run: () => 'echo evil > packages/a/.claude/agents/good.md',
    escaped: wasOverwritten('packages/a/.claude/agents/good.md'),
  },
  {
    title: "Troupe's own kind of agents in a project below",
    prepare: (scene) => writeWorkspaceFile(scene, 'packages/a/.troupe/agents/good.md', 'good'),
    run: () => 'echo evil > packages/a/.troupe/agents/good.md; mv packages gone; mkdir -p packages/a/.troupe/agents',
    escaped: (scene) => readIfExists(join(scene.workspace, 'packages/a/.troupe/agents/good.md')) !== 'good',
  },
]
