import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeSandbox } from '../../src/tools/sandbox/describe.ts'
import type { Attempt } from './attempt.ts'
import { noneEscapes } from './attempt.ts'
import { fileTools } from './file-tools.attempts.ts'
import { git } from './git.attempts.ts'
import { network } from './network.attempts.ts'
import { floods, kernel, processes } from './process.attempts.ts'
import { environment, reading } from './reading.attempts.ts'
import { SECRET } from './scene.ts'
import { archives, writing } from './writing.attempts.ts'

/*
 * Attempts to get out of the workspace. None may succeed; where the sandbox is missing this fails, it never skips. Whatever
 * harms nothing is done again without the sandbox, where it has to succeed: an attempt that fails anyway proves nothing.
 */

const limit = { timeout: 60_000 }

beforeAll(() => {
  expect(describeSandbox()).toMatchObject({ available: true, problems: [] })
  process.env.TROUPE_TEST_API_KEY = SECRET
})
afterAll(() => {
  delete process.env.TROUPE_TEST_API_KEY
})

test('SB1 commands write only to the workspace', limit, () => noneEscapes(writing))
test('SB2 unpacking an archive does not lead out', limit, () => noneEscapes(archives))
test('SB3 git is no way out, and no trap for whoever uses it outside', limit, () => noneEscapes(git))
test('SB4 commands read the workspace and the programs of the system, and nothing else', limit, () =>
  noneEscapes(reading),
)
test('SB5 no variable of the host reaches a command', limit, () => noneEscapes(environment))
test('SB6 commands reach no network and no socket of the host', limit, () => noneEscapes(network))
test('SB7 commands see no process of the host, and none of theirs outlives the call', limit, () =>
  noneEscapes(processes),
)
test('SB8 the kernel gives commands nothing that changes the machine', limit, () => noneEscapes(kernel))
test('SB9 bombs and floods end at their limits', limit, () => noneEscapes(floods))

test('SB10 the suite holds at least sixty attempts on the sandbox, most of them with a control run', () => {
  const all: Attempt[] = [writing, archives, git, reading, environment, network, processes, kernel, floods].flat()
  expect(new Set(all.map(({ what }) => what)).size).toBe(all.length)
  expect(all.length).toBeGreaterThanOrEqual(60)
  expect(all.filter(({ onlyInside }) => onlyInside === undefined).length).toBeGreaterThanOrEqual(45)
})

test('TO42 no path leads a file tool out of the workspace', limit, async () => {
  for (const attempt of fileTools) await attempt()
  expect(fileTools.length).toBeGreaterThanOrEqual(30)
})
