import { execFileSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
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

test.each(TEXTS)('SB32 settings are read as git reads them: %j', (text) => {
  const values = parseGitConfig(text).filter(({ key }) => key === 'path')
  expect(values).toMatchObject([{ section: expect.stringMatching(/^include(if)?$/), value: '../a' }])
  using bench = createToolWorkspace({ sandbox: 'none' })
  bench.writeFile('config', text)
  const said = execFileSync('git', ['config', '-f', 'config', '--get-regexp', 'path$'], { cwd: bench.workspace })
  expect(String(said).trim().split(' ').at(-1)).toBe('../a')
})

test('SB32 a program that is named and not there yet counts; addresses and branches do not', () => {
  using bench = createToolWorkspace({ sandbox: 'none' })
  execFileSync('git', ['init', '-q', bench.workspace])
  const config = join(bench.workspace, '.git/config')
  appendFileSync(config, '[core]\n\tfsmonitor = tools/fsm --fast\n[alias]\n\tx = !sh scripts/x.sh\n')
  appendFileSync(config, '[remote "origin"]\n\turl = a/b/c\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n')
  const named = pathsNamedInGitConfig(bench.workspace)
  expect(named).toEqual([join(bench.workspace, 'tools/fsm'), join(bench.workspace, 'scripts/x.sh')])
})
