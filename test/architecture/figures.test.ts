import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Figure } from './measurements.ts'
import { measure } from './measurements.ts'

function figures(...files: [path: string, source: string][]): Figure[] {
  return measure({ sources: files.map(([path, source]) => ({ path: `src/${path}`, source })), specs: [] })
}

function figure(title: string, ...files: [path: string, source: string][]): Omit<Figure, 'title'> | undefined {
  const found = figures(...files).find((each) => each.title.startsWith(title))
  return found && { value: found.value, items: found.items }
}

const lines = (count: number) => '// a line\n'.repeat(count)

describe('sizes', () => {
  const tree: [string, string][] = [
    ['kernel/a.ts', lines(10)],
    ['kernel/b.ts', lines(20)],
    ['store/c.ts', lines(90)],
    ['kernel/a.test.ts', lines(500)],
    ['testing/suite.ts', lines(500)],
  ]

  test('files and their lines are counted without test files and src/testing', () => {
    expect(figure('files (', ...tree)?.value).toBe('3')
    expect(figure('lines (', ...tree)?.value).toBe('120')
    expect(figure('lines per file', ...tree)?.value).toBe('20 / 90 / 90')
  })

  test('the kernel and the largest folder are measured', () => {
    expect(figure('src/kernel', ...tree)?.value).toBe('30 / 2')
    expect(figure('most files in one folder', ...tree)?.value).toBe('2 (src/kernel)')
  })

  test('function lengths ignore signatures without a body', () => {
    const source = 'export interface Port {\n  run: (\n    a: 1,\n  ) => void\n}\nexport const run = () => {\n}\n'
    expect(figure('lines per function', ['kernel/a.ts', source])?.value).toBe('2 / 2')
  })

  test('an empty tree yields figures without NaN', () => {
    expect(figures().map(({ value }) => value)).not.toContain('NaN')
  })
})

describe('counts', () => {
  test('cycles, any, participles, Site types, parameters and members are listed with their locations', () => {
    const members = Array.from({ length: 13 }, (_, index) => `m${index}: 1`).join('; ')
    const tree: [string, string][] = [
      ['kernel/a.ts', `import './b.ts'\nexport async function told(a: any) {}\n`],
      ['kernel/b.ts', `import type {} from './a.ts'\nexport interface CallSite { ${members} }\n`],
      ['store/c.ts', 'export default (a: 1, b: 1, c: 1, d: 1) => a\n'],
    ]
    expect(figure('files in the largest', ...tree)).toEqual({ value: '2', items: ['src/kernel/a.ts, src/kernel/b.ts'] })
    expect(figure('uses of any', ...tree)).toEqual({ value: '1', items: ['src/kernel/a.ts:2'] })
    expect(figure('async functions', ...tree)).toEqual({ value: '1', items: ['told src/kernel/a.ts:2'] })
    expect(figure('types named', ...tree)).toEqual({ value: '1', items: ['CallSite src/kernel/b.ts:2'] })
    expect(figure('functions with more', ...tree)).toEqual({ value: '1', items: ['4 (anonymous) src/store/c.ts:1'] })
    expect(figure('interfaces with more', ...tree)).toEqual({ value: '1', items: ['13 CallSite src/kernel/b.ts:2'] })
  })

  test('duplicate export and file names are counted, except index.ts and test files', () => {
    const tree: [string, string][] = [
      ['kernel/steer.ts', 'export const a = 1\n'],
      ['engine/steer.ts', 'export const a = 1\n'],
      ['index.ts', `export { a } from './kernel/steer.ts'\n`],
      ['testing/index.ts', 'export {}\n'],
      ['kernel/a.test.ts', 'export const a = 1\n'],
      ['engine/a.test.ts', ''],
    ]
    const locations = 'src/kernel/steer.ts, src/engine/steer.ts'
    expect(figure('exported names', ...tree)).toEqual({ value: '1', items: [`a: ${locations}`] })
    expect(figure('file names', ...tree)).toEqual({ value: '1', items: [`steer.ts: ${locations}`] })
  })

  test('a small file counts when exactly one file other than tests imports it', () => {
    const tree: [string, string][] = [
      ['kernel/one.ts', lines(30)],
      ['kernel/two.ts', lines(30)],
      ['kernel/long.ts', lines(31)],
      ['kernel/a.ts', `import './one.ts'\nimport type {} from './one.ts'\nimport './two.ts'\nimport './long.ts'\n`],
      ['kernel/b.ts', `import './two.ts'\n`],
      ['kernel/one.test.ts', `import './one.ts'\n`],
    ]
    const items = ['src/kernel/one.ts (30 lines, for src/kernel/a.ts)']
    expect(figure('files of 30 lines', ...tree)).toEqual({ value: '1', items })
  })

  test('adjacent line comments count as one, and doc comments are read without their asterisks', () => {
    const source = `// What a
// Who goes on
const a = 1 // Nobody

// A plain one
/**
 * Those
 */
/** Whether */
const b = 2 // Somebody
`
    expect(figure('comments that begin with What', ['kernel/a.ts', source])?.value).toBe('50 % (3 of 6)')
    expect(figure('comments that begin with these', ['kernel/a.ts', source])?.value).toBe('67 % (4 of 6)')
  })
})

describe('the command', () => {
  const script = fileURLToPath(new URL('./figures.ts', import.meta.url))
  const run = (...args: string[]) => execFileSync(process.execPath, [script, ...args], { encoding: 'utf8' }).split('\n')

  function writeTree(files: Record<string, string>): string {
    const folder = mkdtempSync(join(tmpdir(), 'figures-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    for (const [path, source] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), source)
    }
    return folder
  }

  test('--compare prints two columns, and --verbose lists the counted locations', () => {
    const before = writeTree({
      'src/a.ts': 'export type CallSite = 1\nexport type RunSite = 1\n',
      'SPEC.md': '**J1** x\n',
    })
    const after = writeTree({ 'src/a.ts': 'export type CallSite = 1\n', 'src/kernel/SPEC.md': '**J1** x\n**J2** y\n' })
    const printed = run(after, '--compare', before, '--verbose')
    expect(printed[0]).toMatch(/^ +before +after$/)
    expect(printed).toContainEqual(expect.stringMatching(/^types named …Site +2 +1$/))
    expect(printed).toContainEqual(expect.stringMatching(/^rules in SPEC.md files +1 +2$/))
    expect(printed.slice(printed.indexOf('types named …Site: 1'))).toContain('  CallSite src/a.ts:1')
  })

  test('without options one column and no lists are printed', () => {
    const printed = run(writeTree({ 'src/a.ts': 'export type CallSite = 1\n' }))
    expect(printed).toContainEqual(expect.stringMatching(/^types named …Site +1$/))
    expect(printed.join()).not.toContain('CallSite')
  })
})
