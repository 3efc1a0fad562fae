import { join } from 'node:path'
import type { Attempt } from './attempt.ts'
import type { HostFixture } from './host-fixture.ts'
import { readIfExists } from './host-fixture.ts'

const module = (path: string) =>
  `data:text/javascript,${encodeURIComponent(`import fs from 'node:fs'; fs.writeFileSync(${JSON.stringify(path)}, 'evil')`)}`

/** Commands of a reviewer, who has `Bash` but neither `Write` nor `Edit`. */
const reviewerAttempt = (title: string, command: (host: HostFixture) => string): Attempt => ({
  title,
  prepare: ({ writeFile }) => {
    writeFile('there.txt', 'good')
    writeFile('a.test.mjs', "import test from 'node:test'; test('a', () => {})")
  },
  run: {
    call: (host: HostFixture) =>
      host.call('Bash', { command: command(host) }, host.confined ? { read_only: true } : {}),
  },
  escaped: ({ workspace }) =>
    ['new.txt', 'there.txt'].some((name) => readIfExists(join(workspace, name)).includes('evil')),
})

export const readOnlyAttempts: readonly Attempt[] = [
  reviewerAttempt('a module loaded before the tests', () => `node --test --import "${module('new.txt')}" a.test.mjs`),
  reviewerAttempt('a module that writes to an absolute path', ({ workspace }) => {
    return `node --test --import "${module(join(workspace, 'there.txt'))}" a.test.mjs`
  }),
  reviewerAttempt('a redirection', () => 'echo evil > new.txt'),
  reviewerAttempt('a rename', () => 'f=$(mktemp); echo evil > $f; mv $f there.txt'),
]
