import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { GitFixture } from '../../test/support/git-fixture.ts'
import { createGitFixture } from '../../test/support/git-fixture.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { requireSandbox } from '../../test/support/require-program.ts'
import { agent, createTestTroupe, functionModel, lastMessageText, taskCall } from '../../test/support/test-troupe.ts'
import type { ModelRequest } from '../entries/models.ts'
import type { TroupeOptions } from '../index.ts'
import { isEvent } from '../index.ts'

let fixture: GitFixture
beforeEach(() => {
  fixture = createGitFixture()
  fixture.write('a.txt', 'one\n')
  fixture.write('.gitignore', '.troupe/\n')
  fixture.commitAll('first')
  vi.stubEnv('XDG_STATE_HOME', fixture.worktrees)
  vi.stubEnv('HOME', join(fixture.folder, 'home'))
})
afterEach(() => {
  vi.unstubAllEnvs()
  fixture.remove()
})

type Reply = ReturnType<Parameters<typeof functionModel>[0]>
const call = (name: string, input: unknown) => ({ calls: [{ name, input }] })
const coder = agent('coder', { isolation: 'worktree', tools: ['Read', 'Write', 'Bash', 'Glob'] })
const options = (reply: (request: ModelRequest) => Reply, more: Partial<TroupeOptions> = {}): TroupeOptions => ({
  agents: [coder, agent('lead', { tools: ['task', 'Read'] })],
  model: functionModel(reply),
  workspace: { workspace: fixture.top, sandbox: 'none' },
  permissions: {},
  ...more,
})
const branches = () =>
  fixture.git('branch', '--list', 'troupe/*', '--format=%(refname:short)').split('\n').filter(Boolean)

/** Writes a file in turn 1 and answers in turn 2. */
const writer =
  (file: string, content: string) =>
  ({ session }: ModelRequest) =>
    session.turn === 1 ? call('Write', { file_path: file, content }) : { text: 'done' }

describe('an agent with `isolation: worktree`', () => {
  test('GT24 its changes are on a branch that the result names, and the checkout is unchanged', async () => {
    const { troupe, task } = await createTestTroupe(options(writer('b.txt', 'two\n')))
    const before = fixture.fingerprint()
    const { status, output, run_id } = await task('coder', 'go')
    expect(status).toBe('completed')
    const [branch = ''] = branches()
    expect(branch).toMatch(new RegExp(`^troupe/${run_id}/coder-`))
    expect((output as { response: string }).response).toContain(
      `done\n\n[worktree]\nThe changes are committed on the branch ${branch}, not in the checkout. To get them: git merge ${branch}\ncreated: b.txt`,
    )
    expect(fixture.git('show', `${branch}:b.txt`)).toBe('two')
    expect(fixture.git('log', '-1', '--format=%s', branch)).toBe('Work of coder')
    const end = (await troupe.events(run_id).all()).find((event) => isEvent(event, 'session:end'))
    expect(end?.data).toMatchObject({ worktree: { branch, files: [{ path: 'b.txt', change: 'created' }] } })
    const after = Object.entries(fixture.fingerprint()).filter(([path]) => !path.includes('heads/troupe/'))
    expect(Object.fromEntries(after.filter(([path]) => !path.startsWith('.troupe/')))).toEqual(before)
    expect(fixture.git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
    await troupe.close()
  })

  test('GT25 when it changes nothing, worktree and branch are removed', async () => {
    const { troupe, task } = await createTestTroupe(options(() => ({ text: 'looked' })))
    const { output } = await task('coder', 'go')
    expect((output as { response: string }).response).toBe('looked\n\n[worktree]\nNo files were changed.')
    expect(branches()).toEqual([])
    expect(
      existsSync(join(fixture.worktrees, 'troupe/worktrees'))
        ? readdirSync(join(fixture.worktrees, 'troupe/worktrees'))
        : [],
    ).toEqual([])
    await troupe.close()
  })

  test('GT26 its tools, and those of agents it calls, are confined to the worktree', async () => {
    const seen: string[] = []
    const { troupe, task } = await createTestTroupe(
      options(
        (request) => {
          seen.push(lastMessageText(request))
          const { session } = request
          if (session.agent === 'helper')
            return session.turn === 1 ? call('Write', { file_path: 'helped.txt', content: 'x' }) : { text: 'helped' }
          if (session.turn === 1) return call('Bash', { command: 'pwd; git branch --show-current; echo three > c.txt' })
          if (session.turn === 2) return call('Write', { file_path: join(fixture.top, 'escaped.txt'), content: 'x' })
          if (session.turn === 3) return { calls: [taskCall('helper', 'help')] }
          if (session.turn === 4) return call('Glob', { pattern: '*.txt' })
          return { text: 'done' }
        },
        { agents: [{ ...coder, tools: [...(coder.tools ?? []), 'task'] }, agent('helper', { tools: ['Write'] })] },
      ),
    )
    const { run_id } = await task('coder', 'go')
    const [branch = ''] = branches()
    expect(seen[1]).toContain(`/${run_id}/coder-`)
    expect(seen[1]).toContain(branch)
    expect(seen[2]).toContain('outside')
    expect(seen.at(-1)).toContain('helped.txt')
    expect(existsSync(join(fixture.top, 'escaped.txt'))).toBe(false)
    expect(existsSync(join(fixture.top, 'c.txt'))).toBe(false)
    expect(fixture.git('ls-tree', '--name-only', branch).split('\n')).toEqual([
      '.gitignore',
      'a.txt',
      'c.txt',
      'helped.txt',
    ])
    await troupe.close()
  })

  test('GT26 in the sandbox, commands see the worktree, read its repository, and write nowhere else', async () => {
    requireSandbox()
    const seen: string[] = []
    fixture.write('node_modules/greeting/index.js', 'module.exports = "hello"')
    fixture.write('.gitignore', '.troupe/\nnode_modules/\n')
    fixture.commitAll('ignore')
    const commands = [
      'echo two > b.txt; git status --short; node -p "require(\'greeting\')"',
      `echo x > '${fixture.top}/escaped.txt'; echo x > '${fixture.top}/.git/hooks/post-checkout'; git commit -qam x; echo end`,
    ]
    const { troupe, task } = await createTestTroupe(
      options(
        (request) => {
          seen.push(lastMessageText(request))
          const command = commands[request.session.turn - 1]
          return command ? call('Bash', { command }) : { text: 'done' }
        },
        { workspace: { workspace: fixture.top } },
      ),
    )
    const { status } = await task('coder', 'go')
    expect(status).toBe('completed')
    expect(seen[1]).toContain('?? b.txt')
    expect(seen[1]).toContain('hello')
    expect(seen[2]).toContain('end')
    expect(existsSync(join(fixture.top, 'escaped.txt'))).toBe(false)
    expect(existsSync(join(fixture.top, '.git/hooks/post-checkout'))).toBe(false)
    expect(fixture.git('show', `${branches()[0]}:b.txt`)).toBe('two')
    await troupe.close()
  })

  test('GT24 parallel sessions of one agent have worktrees of their own', async () => {
    const { troupe, task } = await createTestTroupe(
      options((request) => {
        const { session, messages } = request
        if (session.agent === 'lead')
          return session.turn === 1
            ? { calls: [taskCall('coder', 'one'), taskCall('coder', 'two')] }
            : { text: 'all done' }
        const first = messages[0]?.content.map((part) => ('text' in part ? part.text : '')).join('') ?? ''
        return session.turn === 1
          ? call('Write', { file_path: 'same.txt', content: first })
          : { text: `wrote ${first}` }
      }),
    )
    await task('lead', 'go')
    const contents = branches().map((branch) => fixture.git('show', `${branch}:same.txt`))
    expect(contents.sort()).toEqual(['one', 'two'])
    await troupe.close()
  })

  test('GT28 without a repository, it fails before any model request, and says what to do', async () => {
    rmSync(join(fixture.top, '.git'), { recursive: true })
    const model = functionModel(() => ({ text: 'done' }))
    const { troupe, task } = await createTestTroupe({ ...options(() => ({})), model })
    const { status, error } = await task('coder', 'go')
    expect(status).toBe('failed')
    expect(error).toMatchObject({
      message: `no git worktree can be opened: '${fixture.top}' is not in a git repository`,
      hint: expect.stringContaining('git init'),
    })
    expect(model.requests).toEqual([])
    await troupe.close()
    const { workspace: _none, ...rest } = options(() => ({}))
    const without = await createTestTroupe({ ...rest, agents: [{ ...coder, tools: [] }], model })
    expect((await without.task('coder', 'go')).error?.message).toContain(
      '`isolation: worktree`, but there is no workspace',
    )
    expect(model.requests).toEqual([])
  })

  test('GT29 a session that is resumed continues on its branch', async () => {
    const store = memoryStore()
    const first = await createTestTroupe(options(writer('b.txt', 'two\n'), { store }))
    const { run_id } = await first.task('coder', 'go')
    const opened = (await first.troupe.events(run_id).all()).find((event) => isEvent(event, 'session:open'))
    await first.troupe.close()
    const seen: string[] = []
    const second = await createTestTroupe(
      options(
        (request) => {
          seen.push(lastMessageText(request))
          const { turn } = request.session
          if (turn === 3) return call('Read', { file_path: 'b.txt' })
          return turn === 4 ? call('Write', { file_path: 'c.txt', content: 'three\n' }) : { text: 'more' }
        },
        { store },
      ),
    )
    const resumed = await second.troupe.run('task', { session_id: opened?.session_id, instruction: 'go on' })
    expect(resumed.status).toBe('completed')
    expect(seen[1]).toContain('two')
    expect(branches()).toHaveLength(1)
    expect(fixture.git('ls-tree', '--name-only', branches()[0] ?? '').split('\n')).toContain('c.txt')
    expect(await second.troupe.replay(run_id)).toMatchObject({ same: true, differences: [] })
    await second.troupe.close()
  })

  test('GT30 a member of a team keeps its worktree over its turns, and the others read where its work is', async () => {
    const seen: string[] = []
    const model = functionModel((request) => {
      const { session } = request
      const text = JSON.stringify(request.messages)
      if (session.agent === 'lead') {
        seen.push(text)
        return { text: 'look again' }
      }
      const results = request.messages.filter(({ role }) => role === 'tool').length
      const file = text.includes('look again') ? 'second.txt' : 'first.txt'
      return results === 0 ? call('Write', { file_path: file, content: 'x\n' }) : { text: `wrote ${file}` }
    })
    const { troupe } = await createTestTroupe({ ...options(() => ({})), model })
    const team = {
      name: 'Pair',
      agents: [
        { name: 'coder', uses: 'coder' },
        { name: 'lead', uses: 'lead' },
      ],
      handoffs: [
        { from_agent: 'coder', to_agent: 'lead' },
        { from_agent: 'lead', to_agent: 'coder', condition: 'round < 3' },
      ],
      after_work_behavior: 'terminate',
      limits: { max_rounds: 3 },
    }
    await troupe.run('team' as string, { team, message: 'Please write.' })
    expect(seen[0]).toContain('[worktree]')
    const [branch = '', ...others] = branches()
    expect(others).toEqual([])
    expect(fixture.git('ls-tree', '--name-only', branch).split('\n')).toEqual([
      '.gitignore',
      'a.txt',
      'first.txt',
      'second.txt',
    ])
    expect(existsSync(join(fixture.top, 'first.txt'))).toBe(false)
    await troupe.close()
  })

  test('GT30 the specialists of a collaboration work in worktrees, too', async () => {
    const { troupe } = await createTestTroupe(
      options((request) => {
        const { session } = request
        const wrote = request.messages.some(({ role }) => role === 'tool')
        if (session.agent !== 'coder') return { text: 'noted' }
        return wrote ? { text: 'written' } : call('Write', { file_path: 'b.txt', content: 'two\n' })
      }),
    )
    const { output, status } = await troupe.run('collaborate', { task: 'write', agents: ['coder', 'lead'] })
    expect(status).toBe('completed')
    expect(JSON.stringify(output)).toContain('[worktree]')
    expect(branches()).toHaveLength(1)
    expect(readFileSync(join(fixture.top, 'a.txt'), 'utf8')).toBe('one\n')
    expect(existsSync(join(fixture.top, 'b.txt'))).toBe(false)
    await troupe.close()
  })
})
