import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Attempt } from './attempt.ts'
import type { Scene } from './scene.ts'
import { contentOf } from './scene.ts'

/** What agents are made of, in a workspace; `definitions` is protected because it was named. */
export const PROTECTED = [
  '.claude/agents/evil.md',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.github/agents/evil.agent.md',
  '.amplifier/agents/evil.md',
  '.mcp.json',
  'definitions/evil.md',
  'store/runs.db',
]

export function put({ workspace }: Pick<Scene, 'workspace'>, path: string, content: string): void {
  mkdirSync(dirname(join(workspace, path)), { recursive: true })
  writeFileSync(join(workspace, path), content)
}

const wrote = (path: string) => (scene: Scene) => contentOf(join(scene.workspace, path)).includes('evil')
const write = (path: string) => `mkdir -p ${dirname(path)}; echo evil > ${path}`

export const protectedPlaces: readonly Attempt[] = [
  ...PROTECTED.flatMap((path): Attempt[] => [
    { what: `${path}, made`, run: () => write(path), escaped: wrote(path) },
    {
      what: `${path}, changed`,
      prepare: (scene) => put(scene, path, 'good'),
      run: () => write(path),
      escaped: wrote(path),
    },
    {
      what: `${path}, put in place of the old one`,
      prepare: (scene) => put(scene, path, 'good'),
      run: () => `echo evil > e; mv -f e ${path}`,
      escaped: wrote(path),
    },
    {
      what: `${path}, with its folder moved away`,
      prepare: (scene) => put(scene, path, 'good'),
      run: () => `mv ${path.split('/')[0]} away; ${write(path)}`,
      escaped: wrote(path),
    },
  ]),
  {
    what: 'definitions of agents behind a link',
    prepare: (scene) => {
      put(scene, 'shared/good.md', 'good')
      mkdirSync(join(scene.workspace, '.claude'))
      symlinkSync('../shared', join(scene.workspace, '.claude/agents'))
    },
    run: () => 'echo evil > .claude/agents/evil.md; echo evil > shared/evil.md',
    escaped: wrote('.claude/agents/evil.md'),
  },
  {
    what: 'a folder of agents in place of a link',
    prepare: (scene) => {
      put(scene, 'shared/good.md', 'good')
      mkdirSync(join(scene.workspace, '.claude'))
      symlinkSync('../shared', join(scene.workspace, '.claude/agents'))
    },
    run: () => `rm .claude/agents; ${write('.claude/agents/evil.md')}`,
    escaped: wrote('.claude/agents/evil.md'),
  },
  {
    what: 'settings behind a folder that is a link, and was replaced',
    prepare: (scene) => {
      put(scene, 'dotfiles/settings.json', 'good')
      symlinkSync('dotfiles', join(scene.workspace, '.claude'))
    },
    run: () => `mv .claude away; ${write('.claude/settings.json')}`,
    escaped: wrote('.claude/settings.json'),
  },
  {
    what: 'definitions of agents in a project below',
    prepare: (scene) => put(scene, 'packages/a/.claude/agents/good.md', 'good'),
    run: () => 'echo evil > packages/a/.claude/agents/good.md',
    escaped: wrote('packages/a/.claude/agents/good.md'),
  },
  {
    what: "Troupe's own kind of agents in a project below",
    prepare: (scene) => put(scene, 'packages/a/.troupe/agents/good.md', 'good'),
    run: () => 'echo evil > packages/a/.troupe/agents/good.md; mv packages gone; mkdir -p packages/a/.troupe/agents',
    escaped: (scene) => contentOf(join(scene.workspace, 'packages/a/.troupe/agents/good.md')) !== 'good',
  },
]
