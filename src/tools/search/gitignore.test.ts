import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { requireProgram } from '../../../test/support/require-program.ts'
import { isIgnored, parseIgnoreFile } from './gitignore.ts'

const atom = fc.constantFrom(
  'a',
  'b',
  'ab',
  '*',
  '?',
  '**',
  '[ab]',
  '[!a]',
  'a*',
  '*.b',
  '\\a',
  '\\!',
  'a\\ ',
  '.x',
  '{a,b}',
)
const segment = fc.array(atom, { minLength: 1, maxLength: 2 }).map((atoms) => atoms.join(''))
const pattern = fc
  .tuple(
    fc.constantFrom('', '', '!', '/'),
    fc.array(segment, { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '', '/'),
  )
  // Runs of three or more asterisks differ from git, see docs/decisions/0014.
  .map(([before, segments, after]) => `${before}${segments.join('/').replace(/\*{3,}/g, '**')}${after}`)
const name = fc.constantFrom('a', 'b', 'ab', 'c', '.x', 'a.b', '!', 'a ', 'ba', '{a,b}')
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'))

/** The paths that git itself ignores. */
function ignoredByGit(repository: string, paths: readonly string[]): string[] {
  const args = ['check-ignore', '--no-index', '-z', '--stdin']
  const { stdout } = spawnSync('git', args, { cwd: repository, input: paths.map((each) => `${each}\0`).join('') })
  return stdout.toString().split('\0').slice(0, -1)
}

function ignoredByUs(text: string, paths: readonly string[]): string[] {
  const file = parseIgnoreFile(text)
  const chain = file ? [{ depth: 0, file }] : []
  return paths.filter((each) => {
    const segments = each.split('/')
    return segments.some((_, index) => isIgnored(chain, segments.slice(0, index + 1), index + 1 < segments.length))
  })
}

test('TO21 a .gitignore excludes the same files as git itself', () => {
  requireProgram('git')
  const repository = mkdtempSync(join(tmpdir(), 'troupe-gitignore-'))
  try {
    spawnSync('git', ['init', '-q'], { cwd: repository })
    const lines = fc.array(pattern, { minLength: 1, maxLength: 4 })
    const paths = fc.uniqueArray(path, { minLength: 20, maxLength: 40 })
    let ignoredCount = 0
    fc.assert(
      fc.property(lines, paths, (patterns, tried) => {
        const text = `${patterns.join('\n')}\n`
        writeFileSync(join(repository, '.gitignore'), text)
        const ignored = ignoredByGit(repository, tried)
        ignoredCount += ignored.length
        expect(ignoredByUs(text, tried)).toEqual(ignored)
      }),
      { numRuns: 150 },
    )
    expect(ignoredCount).toBeGreaterThan(0)
  } finally {
    rmSync(repository, { recursive: true })
  }
})
