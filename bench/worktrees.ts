import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createRepository } from '../src/tools/git/git-repository.ts'

/* npm run bench:worktrees [-- FILES]: four developers on a generated repository: everything that is neither a model nor a test run. */

const FILES = Number(process.argv[2] ?? 5_000)
const DEVELOPERS = 4
const CHANGED_FILES = 20

function createSample(top: string): void {
  mkdirSync(top)
  for (let index = 0; index < FILES; index += 1) {
    const folder = join(top, `packages/p${index % 50}/src`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `file${index}.ts`), `export const value${index} = ${index}\n`.repeat(30))
  }
  const git = (...args: string[]) => execFileSync('git', ['-C', top, ...args], { stdio: 'pipe' })
  git('init', '--quiet')
  git('add', '--all')
  git('-c', 'user.name=Bench', '-c', 'user.email=bench@example.com', 'commit', '--quiet', '--message', 'Sample')
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-bench-worktrees-')))
const top = join(folder, 'project')
createSample(top)
const home = join(folder, 'home')
mkdirSync(home)
const path = process.env.PATH ?? ''
const repository = createRepository({ workspace: top, worktrees: join(folder, 'state'), home, path })
const developers = Array.from({ length: DEVELOPERS }, (_, index) => ({ run_id: 'bench', name: `task-${index + 1}` }))
const integration = { run_id: 'bench', name: 'integration' }
let total = 0

async function measure<T>(label: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  const result = await work()
  const ms = performance.now() - start
  total += ms
  console.log(`${label.padEnd(44)} ${ms.toFixed(0).padStart(7)} ms`)
  return result
}

console.log(`${FILES} files, ${DEVELOPERS} developers with ${CHANGED_FILES} changed files each`)
const state = await measure('inspect the checkout', () => repository.inspect())
if (state.files !== FILES) throw new Error(`the sample has ${state.files} files`)
const worktrees = await measure(`open ${DEVELOPERS + 1} worktrees`, () =>
  Promise.all([...developers, integration].map((id) => repository.openWorktree({ id }))),
)
for (const [number, worktree] of worktrees.slice(0, DEVELOPERS).entries()) {
  for (let index = 0; index < CHANGED_FILES; index += 1) {
    const file = number + index * 50
    writeFileSync(join(worktree.path, `packages/p${file % 50}/src/file${file}.ts`), `// task ${number}\n`)
  }
}
await measure('read the changes', () => Promise.all(developers.map((id) => repository.changes({ id }))))
await measure('commit', () => Promise.all(developers.map((id) => repository.commit({ id, message: id.name }))))
await measure('preflight and merge, one after the other', async () => {
  for (const { branch } of worktrees.slice(0, DEVELOPERS)) {
    const { conflicts } = await repository.preflightMerge({ ours: 'troupe/bench/integration', theirs: branch })
    const { merged } = await repository.merge({ into: integration, theirs: branch, message: `Merge ${branch}` })
    if (conflicts.length > 0 || !merged) throw new Error(`${branch} conflicts`)
  }
})
await measure('remove the worktrees and branches', () =>
  Promise.all([...developers, integration].map((id) => repository.removeWorktree({ id, branch: 'delete' }))),
)
console.log(`${'all'.padEnd(44)} ${total.toFixed(0).padStart(7)} ms; the aim is 3000 ms`)
rmSync(folder, { recursive: true, force: true })
