import { execFileSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { requireProgram } from '../../../test/support/require-program.ts'
import { parseGitConfig } from './git-config.ts'
import { pathsNamedInGitConfig } from './git-hooks.ts'

const TEXTS = [
  '# see C:\\x\\\n[include]\n\tpath = ../a\n',
  '[a] [include] path = ../a\n',
  '[include]\n\tpath = "../a" ; why\n',
  '[include]\npath = ..\\\n/a\r\n',
  '[include] path = ../a # so \\\n[core]\n\tbare\n',
  '[core]\n; \\\n\n[includeIf "gitdir:]x"]\n\tpath=../a\n',
]

test.each(TEXTS)('SB32 parses git config as git does: %j', (text) => {
  requireProgram('git')
  const values = parseGitConfig(text).filter(({ key }) => key === 'path')
  expect(values).toMatchObject([{ section: expect.stringMatching(/^include(if)?$/), value: '../a' }])
  using fixture = createToolWorkspace({ sandbox: 'none' })
  fixture.writeFile('config', text)
  const output = execFileSync('git', ['config', '-f', 'config', '--get-regexp', 'path$'], { cwd: fixture.workspace })
  expect(String(output).trim().split(' ').at(-1)).toBe('../a')
})

test('SB32 a missing program that is named by a path is protected; URLs and branches are not', () => {
  requireProgram('git')
  using fixture = createToolWorkspace({ sandbox: 'none' })
  execFileSync('git', ['init', '-q', fixture.workspace])
  const config = join(fixture.workspace, '.git/config')
  appendFileSync(config, '[core]\n\tfsmonitor = tools/fsm --fast\n[alias]\n\tx = !sh scripts/x.sh\n')
  appendFileSync(config, '[remote "origin"]\n\turl = a/b/c\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n')
  const paths = pathsNamedInGitConfig(fixture.workspace)
  expect(paths).toEqual([join(fixture.workspace, 'tools/fsm'), join(fixture.workspace, 'scripts/x.sh')])
})
