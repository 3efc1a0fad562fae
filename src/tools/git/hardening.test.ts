import { appendFileSync, chmodSync, cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { GitFixture } from '../../../test/support/git-fixture.ts'
import { createGitFixture } from '../../../test/support/git-fixture.ts'
import { createProgramSettings } from './program-settings.ts'

let fixture: GitFixture
beforeEach(() => {
  fixture = createGitFixture()
  fixture.write('a.txt', 'one\ntwo\nthree\n')
  fixture.commitAll('first')
})
afterEach(() => {
  vi.unstubAllEnvs()
  fixture.remove()
})

const ONE = { run_id: 'run_1', name: 'one' }
const TWO = { run_id: 'run_1', name: 'two' }

/** Every operation that reads or writes files, with a conflict on the way. */
async function useEverything(): Promise<void> {
  const { repository } = fixture
  await repository.inspect()
  const one = await repository.openWorktree({ id: ONE })
  const two = await repository.openWorktree({ id: TWO })
  writeFileSync(join(one.path, 'a.txt'), 'one\nONE\nthree\n')
  writeFileSync(join(two.path, 'a.txt'), 'one\nTWO\nthree\n')
  writeFileSync(join(one.path, 'new.txt'), 'new\n')
  await repository.changes({ id: ONE })
  await repository.commit({ id: ONE, message: 'One' })
  await repository.commit({ id: TWO, message: 'Two' })
  await repository.preflightMerge({ ours: one.branch, theirs: two.branch })
  await repository.merge({ into: ONE, theirs: two.branch, message: 'Merge' })
  await repository.startMerge({ into: TWO, theirs: one.branch, message: 'Merge' })
  await repository.diff({ from: one.base, to: one.branch, max_chars: 1000 })
  await repository.readFile({ ref: one.branch, path: 'a.txt' })
  await repository.discardChanges(TWO)
  await repository.restorePaths({ id: ONE, base: one.base, paths: ['a.txt', 'new.txt'] })
  await repository.leftovers()
  for (const id of [ONE, TWO]) await repository.removeWorktree({ id, branch: 'delete' })
}

describe('programs of the repository', () => {
  test('GT3 nothing that the config, the attributes or the hooks name is executed', async () => {
    const trace = join(fixture.folder, 'trace')
    const program = join(fixture.folder, 'program')
    writeFileSync(program, `#!/bin/sh\necho "$0 $@" >> '${trace}'\ncat\n`)
    chmodSync(program, 0o755)
    fixture.write('.gitattributes', '* filter=evil merge=evil diff=evil\n')
    fixture.commitAll('attributes')
    const hooks = [
      'post-checkout',
      'pre-commit',
      'post-commit',
      'reference-transaction',
      'post-index-change',
      'post-merge',
    ]
    for (const hook of hooks) {
      writeFileSync(join(fixture.top, '.git/hooks', hook), readFileSync(program))
      chmodSync(join(fixture.top, '.git/hooks', hook), 0o755)
    }
    const quoted = `'${program}'`
    const settings = `
[core]
	fsmonitor = "${quoted}"
	sshCommand = "${quoted}"
	editor = "${quoted}"
	pager = "${quoted}"
	askPass = "${program}"
[filter "evil"]
	clean = "${quoted}"
	smudge = "${quoted}"
	process = "${quoted}"
	required = true
[merge "evil"]
	driver = "${quoted}"
[diff]
	external = "${program}"
[diff "evil"]
	command = "${quoted}"
	textconv = "${quoted}"
[commit]
	gpgSign = true
[gpg]
	program = "${program}"
[gpg "ssh"]
	program = "${program}"
[log]
	showSignature = true
[hook "evil"]
	event = post-checkout
	event = reference-transaction
	event = post-index-change
	command = "${quoted}"
[credential]
	helper = "!${quoted}"
[alias]
	status = "!${quoted}"
`
    const included = join(fixture.folder, 'included')
    writeFileSync(included, settings)
    for (const config of [settings, `[include]\n\tpath = "${included}"\n`]) {
      const file = join(fixture.top, '.git/config')
      const before = readFileSync(file, 'utf8')
      writeFileSync(file, `${before}${config}`)
      await useEverything()
      writeFileSync(file, before)
      expect(existsSync(trace) ? readFileSync(trace, 'utf8') : '').toBe('')
    }
  })

  // The git of this machine may be older than 2.54, which knows no hooks in its config: hence the settings themselves.
  test('GT3 hooks of the config are disabled by name, also those of included files', async () => {
    const program = { program: 'git', path: process.env.PATH ?? '', signal: undefined }
    fixture.git('config', 'hook.a b.c.command', 'touch x')
    const included = join(fixture.folder, 'included')
    writeFileSync(included, '[hook "included"]\n\tevent = post-checkout\n')
    fixture.git('config', 'include.path', included)
    const settings = await createProgramSettings()(program, fixture.top)
    expect(settings).toContainEqual(['hook.a b.c.enabled', 'false'])
    expect(settings).toContainEqual(['hook.included.enabled', 'false'])
  })

  test('GT3 a program that the config names only since the last operation is not executed either', async () => {
    const { repository, git, folder, top } = fixture
    const trace = join(folder, 'trace')
    git('config', 'extensions.worktreeConfig', 'true')
    const worktree = await repository.openWorktree({ id: ONE })
    await repository.commit({ id: ONE, message: 'Nothing' })
    const configs = {
      config: join(top, '.git/config'),
      'config of the worktree': join(top, '.git/worktrees/one/config.worktree'),
      'included file': join(folder, 'included'),
    }
    for (const [index, [place, file]] of Object.entries(configs).entries()) {
      if (place === 'included file') {
        git('config', 'include.path', file)
        await repository.changes({ id: ONE })
      }
      appendFileSync(file, `[filter "evil${index}"]\n\tclean = "echo '${place}' >> '${trace}'; cat"\n`)
      writeFileSync(join(worktree.path, '.gitattributes'), `* filter=evil${index}\n`)
      writeFileSync(join(worktree.path, 'a.txt'), `${place}\n`)
      expect((await repository.changes({ id: ONE })).files.map(({ path }) => path)).toContain('a.txt')
      await repository.commit({ id: ONE, message: place })
    }
    expect(existsSync(trace)).toBe(false)
    // The programs would run: git of the user does.
    writeFileSync(join(worktree.path, 'a.txt'), 'changed\n')
    git('-C', worktree.path, 'add', '--all')
    expect(readFileSync(trace, 'utf8')).toContain('included file')
  })

  test('GT3 a worktree whose `.git` leads to another config is read again', async () => {
    const { repository, folder } = fixture
    const trace = join(folder, 'trace')
    const worktree = await repository.openWorktree({ id: ONE })
    await repository.changes({ id: ONE })
    const other = join(folder, 'other')
    cpSync(join(fixture.top, '.git'), other, { recursive: true })
    appendFileSync(join(other, 'config'), `[filter "evil"]\n\tclean = "touch '${trace}'; cat"\n`)
    writeFileSync(join(worktree.path, '.gitattributes'), '* filter=evil\n')
    writeFileSync(join(worktree.path, 'a.txt'), 'changed\n')
    writeFileSync(join(worktree.path, '.git'), `gitdir: ${other}\n`)
    await repository.changes({ id: ONE }).catch(() => {})
    expect(existsSync(trace)).toBe(false)
  })

  test('GT3 variables of the process have no effect', async () => {
    const trace = join(fixture.folder, 'trace')
    vi.stubEnv('GIT_DIR', '/nonexistent')
    vi.stubEnv('GIT_WORK_TREE', '/nonexistent')
    vi.stubEnv('GIT_INDEX_FILE', join(fixture.folder, 'index'))
    vi.stubEnv('GIT_TRACE', trace)
    vi.stubEnv('GIT_EXTERNAL_DIFF', `touch '${trace}'`)
    vi.stubEnv('GIT_CONFIG_COUNT', '1')
    vi.stubEnv('GIT_CONFIG_KEY_0', 'core.fsmonitor')
    vi.stubEnv('GIT_CONFIG_VALUE_0', `touch '${trace}'`)
    await useEverything()
    expect(existsSync(trace)).toBe(false)
    expect(existsSync(join(fixture.folder, 'index'))).toBe(false)
  })

  test('GT15 a file whose merge driver is disabled is a conflict, even if one side could be taken', async () => {
    const { repository, git } = fixture
    fixture.write('.gitattributes', 'a.txt merge=ours\n')
    fixture.commitAll('attributes')
    git('config', 'merge.ours.driver', 'true')
    const one = await repository.openWorktree({ id: ONE })
    const two = await repository.openWorktree({ id: TWO })
    writeFileSync(join(one.path, 'a.txt'), 'ONE\ntwo\nthree\n')
    writeFileSync(join(two.path, 'a.txt'), 'one\ntwo\nTWO\n')
    for (const id of [ONE, TWO]) await repository.commit({ id, message: 'Change' })
    const { conflicts } = await repository.preflightMerge({ ours: one.branch, theirs: two.branch })
    expect(conflicts.map(({ path }) => path)).toEqual(['a.txt'])
  })
})
