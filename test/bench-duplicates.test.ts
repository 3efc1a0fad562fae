import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const execute = promisify(execFile)
const bench = fileURLToPath(new URL('../bench/duplicates.ts', import.meta.url))

test('the bench prints precision and recall of labelled pairs, and without a file what it needs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-duplicates-'))
  const file = join(folder, 'pairs.tsv')
  const pairs = Array.from({ length: 6 }, (_, index) => [
    `1\tHow do I deploy service${index}?\tHow can I deploy service${index}?`,
    `0\tHow do I start service${index}?\tHow do I stop service${index}?`,
  ])
  writeFileSync(file, pairs.flat().join('\n'))
  const { stdout } = await execute(process.execPath, ['--no-warnings', bench, file])
  expect(stdout).toContain('12 pairs')
  expect(stdout).toMatch(/as shipped: isSameQuestion, all pairs \| 0\.85 \| 1\.00 \| 1\.00/)
  const failed = await execute(process.execPath, ['--no-warnings', bench]).catch((error: unknown) => error)
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('separated by tabs') })
  rmSync(folder, { recursive: true })
})
