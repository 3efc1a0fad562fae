import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordAttempts } from '../support/attempt-count.ts'
import { requireProgram, requireSandbox } from '../support/require-program.ts'
import type { Attempt } from './attempt.ts'
import { expectNoEscape } from './attempt.ts'
import { fileToolAttempts } from './file-tools.attempts.ts'
import { gitAttempts } from './git.attempts.ts'
import { readIfExists, SECRET } from './host-fixture.ts'
import { mcpServerAttempts } from './mcp-server.attempts.ts'
import { nestedGitAttempts } from './nested-git.attempts.ts'
import { networkAttempts } from './network.attempts.ts'
import { kernelAttempts, processAttempts, resourceExhaustionAttempts } from './process.attempts.ts'
import {
  HOST_CONFIG_FILES,
  hostConfigAttempts,
  PROTECTED_FILES,
  protectedPathAttempts,
  writeWorkspaceFile,
} from './protected.attempts.ts'
import { environmentAttempts, readAttempts } from './read.attempts.ts'
import { readOnlyAttempts } from './read-only.attempts.ts'
import { createToolWorkspace } from './tool-workspace.ts'
import { archiveAttempts, writeAttempts } from './write.attempts.ts'

/*
 * Sandbox escape attempts. None may succeed. Without a sandbox they are skipped, and fail in CI. Harmless attempts are
 * repeated without the sandbox as a control and must succeed there: an attempt that fails anyway proves nothing.
 */

beforeAll(() => {
  process.env.TROUPE_TEST_HOST_VALUE = SECRET
})
beforeEach(() => {
  requireSandbox()
  requireProgram('git')
})
afterAll(() => {
  delete process.env.TROUPE_TEST_HOST_VALUE
})

test('SB1 commands can write only to the workspace', expectNoEscape('files', writeAttempts))
test('SB2 unpacking a hostile archive writes nothing outside', expectNoEscape('files', archiveAttempts))
test('SB3 commands cannot plant git hooks or config that run outside the sandbox', expectNoEscape('git', gitAttempts))
test(
  'SB33 commands cannot create repositories or rebase states that run programs on the host',
  expectNoEscape('git', nestedGitAttempts),
)
test('SB4 commands can read the workspace and system programs, and nothing else', expectNoEscape('files', readAttempts))
test('SB5 no environment variable of the host leaks to a command', expectNoEscape('environment', environmentAttempts))
test('SB6 commands reach no network and no unix socket of the host', expectNoEscape('network', networkAttempts))
test(
  'SB7 commands see no process of the host, and none of their processes survives the call',
  expectNoEscape('processes', processAttempts),
)
test('SB8 commands cannot change the machine through the kernel', expectNoEscape('kernel', kernelAttempts))
test(
  'SB9 fork bombs and other resource exhaustion are stopped by limits',
  expectNoEscape('memory', resourceExhaustionAttempts),
)

test('SB18 commands cannot change or create agent configuration', expectNoEscape('agent files', protectedPathAttempts))
test(
  'SB37 commands cannot change or create configuration that programs of the host execute',
  expectNoEscape('files', hostConfigAttempts),
)
test('SB37 new configuration is renamed and reported, not deleted', async () => {
  using fixture = createToolWorkspace()
  const result = await fixture.call('Bash', { command: 'mkdir -p a/.vscode; echo task > a/.vscode/tasks.json' })
  expect(result.text).toMatch(/'a\/\.vscode' would be executed or obeyed outside the sandbox/)
  const [renamed = ''] = readdirSync(join(fixture.workspace, 'a'))
  expect(renamed).toMatch(/^\.vscode\.replaced-/)
  expect(readIfExists(join(fixture.workspace, 'a', renamed, 'tasks.json'))).toBe('task\n')
})
test('SB19 commands of a read-only agent cannot write to the workspace', expectNoEscape('files', readOnlyAttempts))
test(
  'SB23 arguments and environment of a server take effect only inside the sandbox',
  expectNoEscape('servers', mcpServerAttempts),
)
test('SB20 .github stays usable for other files, and empty folders that Troupe created are removed', async () => {
  using fixture = createToolWorkspace()
  expect(
    await fixture.call('Bash', { command: 'mkdir .github/ISSUE_TEMPLATE && echo a > .github/ISSUE_TEMPLATE/a.yml' }),
  ).toMatchObject({
    success: true,
  })
  expect(readdirSync(fixture.workspace).sort()).toEqual(['.github', '.troupe'])
})

test('the suite has at least 160 sandbox escape attempts, most of them with a control run', () => {
  const all: Attempt[] = [
    writeAttempts,
    archiveAttempts,
    gitAttempts,
    nestedGitAttempts,
    readAttempts,
    environmentAttempts,
    networkAttempts,
    processAttempts,
    kernelAttempts,
    resourceExhaustionAttempts,
    protectedPathAttempts,
    hostConfigAttempts,
    readOnlyAttempts,
    mcpServerAttempts,
  ].flat()
  const withControl = all.filter(({ no_control_run }) => no_control_run === undefined).length
  expect(new Set(all.map(({ title }) => title)).size).toBe(all.length)
  expect(all.length).toBeGreaterThanOrEqual(160)
  expect(withControl).toBeGreaterThanOrEqual(140)
})

test('TO59 file tools cannot write agent configuration or git programs, in any spelling', async (context) => {
  using fixture = createToolWorkspace({ protect: ['definitions', 'store'] })
  fixture.writeFile(
    '.git/config',
    '[core]\n\thooksPath = ".husky/_" ; for husky\n[include]\n\tpath = ../.gitsh\\\nared # ours\n' +
      '[filter "x"]\n\tclean = sh -c \'scripts/clean.sh %f\'\n',
  )
  fixture.writeFile('.gitshared', '[includeIf "onbranch:main"] path = conf/more\n')
  fixture.writeFile('conf/more', '[CORE]\nHooksPath=hooks-by-include\n')
  fixture.writeFile('scripts/clean.sh', 'cat\n')
  const spellings = [
    '.Claude/Agents/a.md',
    '.claude/settings.mine.json',
    'nope/../.mcp.json',
    'x/.claude/agents/a.md',
    'x/.Troupe/agents/a.md',
    'x/.VSCode/tasks.json',
    '.GitHub/Workflows/a.yml',
  ]
  const fromGitConfig = ['.gitshared', '.GitShared', 'conf/more', 'scripts/clean.sh', 'hooks-by-include/pre-commit']
  const otherProtected = ['Definitions/a.md', '.husky/pre-commit', '.husky/_/pre-commit']
  const paths = [...PROTECTED_FILES, ...HOST_CONFIG_FILES, ...spellings, ...otherProtected, ...fromGitConfig]
  recordAttempts(context, 'agent files', { attempts: paths.length })
  for (const file_path of paths) {
    const result = await fixture.call('Write', { file_path, content: 'evil' })
    expect.soft(result, file_path).toMatchObject({ success: false, code: 'denied' })
    expect.soft(readIfExists(join(fixture.workspace, file_path)), file_path).not.toContain('evil')
  }
  writeWorkspaceFile(fixture, '.claude/agents/good.md', 'good')
  expect(await fixture.call('Read', { file_path: '.claude/agents/good.md' })).toMatchObject({ success: true })
  const edit = { file_path: '.claude/agents/good.md', old_string: 'good', new_string: 'evil' }
  expect(await fixture.call('Edit', edit)).toMatchObject({ success: false, code: 'denied' })
  for (const file_path of ['.claude/notes.md', 'settings.json', 'docs/agents/a.md']) {
    expect.soft(await fixture.call('Write', { file_path, content: 'fine' }), file_path).toMatchObject({ success: true })
  }
})

test('TO60 the target of a protected symlink is protected too', async () => {
  using fixture = createToolWorkspace()
  fixture.writeFile('shared/good.md', 'good')
  mkdirSync(join(fixture.workspace, '.github'))
  symlinkSync('../shared', join(fixture.workspace, '.github/agents'))
  for (const file_path of ['shared/evil.md', '.github/agents/evil.md']) {
    expect(await fixture.call('Write', { file_path, content: 'evil' })).toMatchObject({
      success: false,
      code: 'denied',
    })
  }
})

test('TO42 no path gives a file tool access outside the workspace', async (context) => {
  recordAttempts(context, 'files', { attempts: fileToolAttempts.length })
  for (const attempt of fileToolAttempts) await attempt()
  expect(fileToolAttempts.length).toBeGreaterThanOrEqual(30)
})
