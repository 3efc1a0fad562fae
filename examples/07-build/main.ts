import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTroupe } from 'troupe'

// An architect plans, a developer writes in a worktree, a reviewer approves; the result is a branch. Runs offline: the replies come from script.json.
const script = fileURLToPath(new URL('script.json', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'troupe-example-'))
const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' })
git('init', '--quiet', '--initial-branch=main')
writeFileSync(join(folder, 'README.md'), '# Calculator\n')
git('add', '--all')
git('-c', 'user.name=Example', '-c', 'user.email=example@example.com', 'commit', '--quiet', '--message=Begin')

const troupe = await createTroupe({
  store: 'memory',
  model: `scripted:${script}`,
  workspace: { workspace: folder, sandbox: 'none' },
  permissions: { allow: ['Write(src/**)'] },
})
const result = await troupe.run('build', { request: 'Write a function that adds two numbers', approve_plan: false })
assert.equal(result.status, 'completed', result.error?.message)
const branch = `troupe/result/${result.run_id}`
assert.match(git('show', `${branch}:src/add.ts`), /a \+ b/)
assert.equal(git('status', '--porcelain'), '')
console.log(git('diff', '--stat', `main...${branch}`))
await troupe.close()
rmSync(folder, { recursive: true })
