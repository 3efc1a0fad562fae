import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createRepository } from '../../src/tools/git/git-repository.ts'

/* Works in worktrees of a repository from beginning to end. Killed and started again, it repeats every operation. */

const [workspace = '', worktrees = '', home = '', path = '', isEnd = ''] = process.argv.slice(2)
const repository = createRepository({ workspace, worktrees, home, path })
const id = (name: string) => ({ run_id: 'run_1', name })

function write(folder: string, file: string, content: string): void {
  const target = join(folder, file)
  if (existsSync(target) && file !== 'a.txt') return
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, content)
}

const main = await repository.openWorktree({ id: id('integration') })
const one = await repository.openWorktree({ id: id('one'), base: main.base })
write(one.path, 'src/one.txt', 'one\n')
await repository.commit({ id: id('one'), message: 'One' })
await repository.merge({ into: id('integration'), theirs: one.branch, message: 'Merge one' })
await repository.setBranch({ id: id('integration'), branch: 'troupe/run_1/result' })
const result = await repository.listFiles('troupe/run_1/result')
for (const name of ['one', 'integration']) await repository.removeWorktree({ id: id(name), branch: 'delete' })
if (isEnd !== '') writeFileSync(isEnd, result.join('\n'))
