import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeSandbox } from '../../src/tools/sandbox/describe.ts'
import type { Attempt } from './attempt.ts'
import { noneEscapes } from './attempt.ts'
import { fileTools } from './file-tools.attempts.ts'
import { git } from './git.attempts.ts'
import { network } from './network.attempts.ts'
import { floods, kernel, processes } from './process.attempts.ts'
import { PROTECTED, protectedPlaces, put } from './protected.attempts.ts'
import { readOnly } from './read-only.attempts.ts'
import { environment, reading } from './reading.attempts.ts'
import { contentOf, SECRET } from './scene.ts'
import { servers } from './servers.attempts.ts'
import { workbench } from './workbench.ts'
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

test('SB18 commands change nothing that steers agents, and make nothing of the kind', limit, () =>
  noneEscapes(protectedPlaces),
)
test('SB19 commands of an agent that may not write files only read the workspace', limit, () => noneEscapes(readOnly))
test('SB23 what a server is started with counts inside, and steers nothing of the host', limit, () =>
  noneEscapes(servers),
)
test('SB20 folders that hold what is protected can be used for the rest, and vanish where nothing was put', async () => {
  using bench = workbench()
  expect(
    await bench.call('Bash', { command: 'mkdir .github/workflows && echo a > .github/workflows/a.yml' }),
  ).toMatchObject({
    success: true,
  })
  expect(readdirSync(bench.workspace).sort()).toEqual(['.github', '.troupe'])
})

test('SB10 the suite holds at least sixty attempts on the sandbox, most of them with a control run', () => {
  const all: Attempt[] = [writing, archives, git, reading, environment, network, processes, kernel, floods].flat()
  expect(new Set(all.map(({ what }) => what)).size).toBe(all.length)
  expect(all.length).toBeGreaterThanOrEqual(60)
  expect(all.filter(({ onlyInside }) => onlyInside === undefined).length).toBeGreaterThanOrEqual(45)
})

test('TO59 no file tool writes what steers agents or runs for others, however it is spelled', limit, async () => {
  using bench = workbench({ protect: ['definitions', 'store'] })
  bench.put(
    '.git/config',
    '[core]\n\thooksPath = ".husky/_" ; for husky\n[include]\n\tpath = ../.gitsh\\\nared # ours\n' +
      '[filter "x"]\n\tclean = sh -c \'scripts/clean.sh %f\'\n',
  )
  bench.put('.gitshared', '[includeIf "onbranch:main"] path = conf/more\n')
  bench.put('conf/more', '[CORE]\nHooksPath=hooks-by-include\n')
  bench.put('scripts/clean.sh', 'cat\n')
  const spelled = [
    '.Claude/Agents/a.md',
    '.claude/settings.mine.json',
    'nope/../.mcp.json',
    'x/.claude/agents/a.md',
    'x/.Troupe/agents/a.md',
  ]
  const named = ['.gitshared', '.GitShared', 'conf/more', 'scripts/clean.sh', 'hooks-by-include/pre-commit']
  const links = ['Definitions/a.md', '.husky/pre-commit', '.husky/_/pre-commit']
  for (const file_path of [...PROTECTED, ...spelled, ...links, ...named]) {
    const answer = await bench.call('Write', { file_path, content: 'evil' })
    expect.soft(answer, file_path).toMatchObject({ success: false, code: 'denied' })
    expect.soft(contentOf(join(bench.workspace, file_path)), file_path).not.toContain('evil')
  }
  put(bench, '.claude/agents/good.md', 'good')
  expect(await bench.call('Read', { file_path: '.claude/agents/good.md' })).toMatchObject({ success: true })
  const edit = { file_path: '.claude/agents/good.md', old_string: 'good', new_string: 'evil' }
  expect(await bench.call('Edit', edit)).toMatchObject({ success: false, code: 'denied' })
  for (const file_path of ['.claude/notes.md', 'settings.json', 'docs/agents/a.md']) {
    expect.soft(await bench.call('Write', { file_path, content: 'fine' }), file_path).toMatchObject({ success: true })
  }
})

test('TO60 what a protected name links to is protected too', async () => {
  using bench = workbench()
  bench.put('shared/good.md', 'good')
  mkdirSync(join(bench.workspace, '.github'))
  symlinkSync('../shared', join(bench.workspace, '.github/agents'))
  for (const file_path of ['shared/evil.md', '.github/agents/evil.md']) {
    expect(await bench.call('Write', { file_path, content: 'evil' })).toMatchObject({ success: false, code: 'denied' })
  }
})

test('TO42 no path leads a file tool out of the workspace', limit, async () => {
  for (const attempt of fileTools) await attempt()
  expect(fileTools.length).toBeGreaterThanOrEqual(30)
})
