import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { execLines, findUnsafeSetting, isUnsafeStrategy } from './git-settings.ts'

function createRepository() {
  const fixture = createToolWorkspace()
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', fixture.workspace, '-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
    })
  git('init', '-q', '-b', 'main', '.')
  fixture.writeFile('file', 'one\n')
  git('add', 'file')
  git('commit', '-q', '-m', 'first')
  return { fixture, git }
}

test('SB33 ordinary use of nested repositories is left alone', async () => {
  const { fixture } = createRepository()
  const commands = [
    'git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub',
    'git clone -q . clone && git -C clone pull -q --rebase',
    'git worktree add -q tree && git -C tree commit -q --allow-empty -m x',
    'git -c protocol.file.allow=always submodule add -q ./clone module && git -C module log --oneline',
    'git clone -q --bare . bare.git',
  ]
  for (const command of commands) {
    const { text, success } = await fixture.call('Bash', { command })
    expect.soft({ success, text }, command).toEqual({ success: true, text: expect.not.stringContaining('renamed') })
  }
  fixture[Symbol.dispose]()
})

test('SB33 a rebase that stops at a conflict is continued by the next command', async () => {
  const { fixture, git } = createRepository()
  git('checkout', '-q', '-b', 'other')
  writeFileSync(join(fixture.workspace, 'file'), 'theirs\n')
  git('commit', '-q', '-am', 'theirs')
  git('checkout', '-q', 'main')
  writeFileSync(join(fixture.workspace, 'file'), 'ours\n')
  git('commit', '-q', '-am', 'ours')
  expect((await fixture.call('Bash', { command: 'git rebase other' })).text).toContain('CONFLICT')
  expect(existsSync(join(fixture.workspace, '.git/rebase-merge'))).toBe(true)
  const next = await fixture.call('Bash', {
    command: 'echo both > file; git add file; GIT_EDITOR=true git rebase --continue',
  })
  expect(next).toMatchObject({ success: true, text: expect.not.stringContaining('renamed') })
  expect(git('log', '--format=%s')).toBe('ours\ntheirs\nfirst\n')
  fixture[Symbol.dispose]()
})

test('SB33 exec commands that a person planned stay in the todo list', async () => {
  const { fixture } = createRepository()
  fixture.writeFile('.git/rebase-merge/git-rebase-todo', 'exec npm test\n')
  const { text } = await fixture.call('Bash', { command: 'true' })
  expect(text).not.toContain('renamed')
  const added = await fixture.call('Bash', { command: 'echo "x evil" >> .git/rebase-merge/git-rebase-todo' })
  expect(added.text).toMatch(/'\.git\/rebase-merge\/git-rebase-todo' would run commands; it was renamed to/)
  fixture[Symbol.dispose]()
})

test('SB33 an unsafe config is renamed and reported, and the repository stays usable', async () => {
  const { fixture } = createRepository()
  const { text } = await fixture.call('Bash', {
    command: 'git init -q sub; git -C sub config core.fsmonitor evil; git -C sub config diff.external evil',
  })
  expect(text).toMatch(
    /'sub\/\.git\/config' has settings that may run programs \(core\.fsmonitor\); it was renamed to 'sub\/\.git\/config\.replaced-/,
  )
  expect(readFileSync(join(fixture.workspace, 'sub/.git/config'), 'utf8')).not.toContain('evil')
  expect(await fixture.call('Bash', { command: 'git -C sub commit -q --allow-empty -m x' })).toMatchObject({
    success: true,
  })
  fixture[Symbol.dispose]()
})

test('SB33 a repository that appears where an older gitlink points is checked', async () => {
  const { fixture, git } = createRepository()
  const commit = git('rev-parse', 'HEAD').trim()
  const link = `git update-index --add --cacheinfo 160000,${commit},node_modules/deep/package`
  expect((await fixture.call('Bash', { command: link })).text).not.toContain('renamed')
  const create = 'git init -q node_modules/deep/package; git -C node_modules/deep/package config core.sshCommand evil'
  expect((await fixture.call('Bash', { command: create })).text).toContain('core.sshcommand')
  fixture[Symbol.dispose]()
})

const inside = (path: string) => !path.startsWith('/')

test.each([
  '[core]\n\tfsmonitor = evil',
  '[core]\n\tsshCommand = evil',
  '[diff]\n\texternal = evil',
  '[diff "x"]\n\ttextconv = evil',
  '[filter "x"]\n\tsmudge = evil',
  '[include]\n\tpath = more',
  '[includeIf "onbranch:main"]\n\tpath = more',
  '[submodule "x"]\n\tupdate = !evil',
  '[remote "x"]\n\turl = ext::evil',
  '[remote "x"]\n\turl = --upload-pack=evil',
  '[remote "x"]\n\tuploadpack = evil',
  '[remote "x"]\n\tvcs = evil',
  '[alias]\n\tst = !evil',
  '[core]\n\tworktree = /home/user',
  '[gpg]\n\tprogram = evil',
  '[credential]\n\thelper = evil',
  '[merge "x"]\n\tdriver = evil',
  '[url "ext::evil"]\n\tinsteadOf = https://',
])('SB33 a setting that may run a program is unsafe: %j', (config) => {
  expect(findUnsafeSetting(config, inside)).toBeDefined()
})

test.each([
  '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tworktree = ../../../sub',
  '[remote "origin"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*',
  '[remote "origin"]\n\turl = https://example.org/a.git\n[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main',
  '[submodule "x"]\n\tactive = true\n\turl = /srv/x.git\n\tupdate = rebase',
])('SB33 a harmless config is accepted: %j', (config) => {
  expect(findUnsafeSetting(config, inside)).toBeUndefined()
})

test('SB33 commands in todo lists and merge strategies given by a path are found', () => {
  expect(execLines('pick 1 exec x\n  exec a\nx b\nfixup 2\nexecute\n')).toEqual(['  exec a', 'x b'])
  expect(['ort', 'ours\n', '', '../evil', 'evil'].map(isUnsafeStrategy)).toEqual([false, false, false, true, true])
})
