import { execFileSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { workbench } from '../../../test/escape/workbench.ts'
import { namedBySettings } from './git-hooks.ts'
import { gitSettingsIn } from './git-settings.ts'

const TEXTS = [
  '# see C:\\x\\\n[include]\n\tpath = ../a\n',
  '[a] [include] path = ../a\n',
  '[include]\n\tpath = "../a" ; why\n',
  '[include]\npath = ..\\\n/a\r\n',
  '[include] path = ../a # so \\\n[core]\n\tbare\n',
  '[core]\n; \\\n\n[includeIf "gitdir:]x"]\n\tpath=../a\n',
]

test.each(TEXTS)('SB32 settings are read as git reads them: %j', (text) => {
  const values = gitSettingsIn(text).filter(({ key }) => key === 'path')
  expect(values).toMatchObject([{ section: expect.stringMatching(/^include(if)?$/), value: '../a' }])
  using bench = workbench({ sandbox: 'none' })
  bench.put('config', text)
  const said = execFileSync('git', ['config', '-f', 'config', '--get-regexp', 'path$'], { cwd: bench.workspace })
  expect(String(said).trim().split(' ').at(-1)).toBe('../a')
})

test('SB32 a program that is named and not there yet counts; addresses and branches do not', () => {
  using bench = workbench({ sandbox: 'none' })
  execFileSync('git', ['init', '-q', bench.workspace])
  const config = join(bench.workspace, '.git/config')
  appendFileSync(config, '[core]\n\tfsmonitor = tools/fsm --fast\n[alias]\n\tx = !sh scripts/x.sh\n')
  appendFileSync(config, '[remote "origin"]\n\turl = a/b/c\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n')
  const named = namedBySettings(bench.workspace)
  expect(named).toEqual([join(bench.workspace, 'tools/fsm'), join(bench.workspace, 'scripts/x.sh')])
})
