import { join } from 'node:path'
import type { Attempt } from './attempt.ts'
import type { Scene } from './scene.ts'
import { contentOf } from './scene.ts'

const module = (path: string) =>
  `data:text/javascript,${encodeURIComponent(`import fs from 'node:fs'; fs.writeFileSync(${JSON.stringify(path)}, 'evil')`)}`

/** What a reviewer might run, who has Bash and neither Write nor Edit. */
const reviewer = (what: string, command: (scene: Scene) => string): Attempt => ({
  what,
  prepare: ({ put }) => {
    put('there.txt', 'good')
    put('a.test.mjs', "import test from 'node:test'; test('a', () => {})")
  },
  run: {
    call: (scene: Scene) => scene.call('Bash', { command: command(scene) }, scene.confined ? { read_only: true } : {}),
  },
  escaped: ({ workspace }) =>
    ['new.txt', 'there.txt'].some((name) => contentOf(join(workspace, name)).includes('evil')),
})

export const readOnly: readonly Attempt[] = [
  reviewer('a module loaded before the tests', () => `node --test --import "${module('new.txt')}" a.test.mjs`),
  reviewer('a module that names the whole path', ({ workspace }) => {
    return `node --test --import "${module(join(workspace, 'there.txt'))}" a.test.mjs`
  }),
  reviewer('a redirection', () => 'echo evil > new.txt'),
  reviewer('a rename', () => 'f=$(mktemp); echo evil > $f; mv $f there.txt'),
]
