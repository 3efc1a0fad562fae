import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Figure } from './measurements.ts'
import { measure } from './measurements.ts'
import { FIGURES_FILE, findRises, findUnstatedRaises, readCommitted, totalOf, writeCommitted } from './ratchet.ts'
import type { Places, RatchetFigures } from './ratchet-figures.ts'
import { measureRatchets } from './ratchet-figures.ts'

function figures(...files: [path: string, source: string][]): Figure[] {
  return measure({ sources: files.map(([path, source]) => ({ path: `src/${path}`, source })), specs: [] })
}

function figure(title: string, ...files: [path: string, source: string][]): Omit<Figure, 'title'> | undefined {
  const found = figures(...files).find((each) => each.title.startsWith(title))
  return found && { value: found.value, items: found.items }
}

function ratchet(title: string, ...files: [path: string, source: string][]): Places | undefined {
  const root = writeTree(Object.fromEntries(files.map(([path, source]) => [`src/${path}`, source])))
  return Object.entries(measureRatchets(root)).find(([each]) => each.startsWith(title))?.[1]
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
    expect(ratchet('file names', ...tree)).toEqual({ src: 'steer.ts' })
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
    expect(ratchet('files of 30 lines', ...tree)).toEqual({ src: 'src/kernel/one.ts' })
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

function writeTree(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'figures-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), source)
  }
  return folder
}

function commit(root: string, measured: RatchetFigures = measureRatchets(root)): void {
  mkdirSync(dirname(join(root, FIGURES_FILE)), { recursive: true })
  const figures = Object.entries(measured).map(([title, places]) => [
    title,
    { value: totalOf(places), raised: {}, places },
  ])
  writeCommitted(root, Object.fromEntries(figures))
}

describe('ratchets', () => {
  const script = fileURLToPath(new URL('./figures.ts', import.meta.url))
  const code = (count: number) => 'void 0\n'.repeat(count)
  const command = (...args: string[]) => spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' })
  const lines = (root: string) => readCommitted(root)['code lines of src']
  const edit = (root: string, change: (text: string) => string) =>
    writeFileSync(join(root, FIGURES_FILE), change(readFileSync(join(root, FIGURES_FILE), 'utf8')))

  test('a code line is not blank, no comment, and in any file that is executed, bundled or sent to a model', () => {
    const root = writeTree({
      'src/a.ts': "// a\n/* b\n * c\n */\n\n  \nconst a = '// d'\n  void a\n",
      'src/tools/prompt.md': 'Answer.\n\nBriefly.\n',
      'src/tools/deep/er/table.sql': 'SELECT 1\n',
      'src/fixtures/b.json': '{}\n',
      ...{
        'src/a.test.ts': code(9),
        'src/testing/a.ts': code(9),
        'src/SPEC.md': 'one two\nthree\n',
        'SPEC.md': 'four',
      },
      ...{ 'web/a.tsx': code(2), 'web/a.css': 'a {\n}\n', 'web/index.html': '<p>\n', 'web/a.test.tsx': code(9) },
    })
    const figures = measureRatchets(root)
    expect(figures['code lines of src']).toEqual({ src: 2, 'src/fixtures': 1, 'src/tools': 2, 'src/tools/deep': 1 })
    expect(figures['code lines of web']).toEqual({ web: 5 })
    expect(figures['words of SPEC.md files']).toEqual({ '.': 1, src: 3 })
  })

  test('a rise names the figure, the amount, and the places and names that are new', () => {
    const root = writeTree({})
    commit(root, {
      'places of flags': { run: '--json --model', show: '--all' },
      'code lines of src': { src: 3, 'src/a': 2 },
    })
    const grown = {
      'places of flags': { run: '--json --fast --model', show: '--all' },
      'code lines of src': { src: 1, 'src/a': 6 },
    }
    const [flags, size, ...more] = findRises(readCommitted(root), grown)
    expect(flags).toContain('places of flags: 4, committed 3. New: run --fast.')
    expect(flags).toContain(
      '"Raises `places of flags` by 1; deleted for it: …" into a decision record and run: npm run figures -- --raise NNNN',
    )
    expect(size).toContain('code lines of src: 7, committed 5. New: src/a +4.')
    expect(more).toEqual([])
  })

  test('--lower writes lower figures and refuses higher ones', () => {
    const root = writeTree({ 'src/a.ts': code(5), 'web/b.ts': code(5) })
    commit(root)
    writeFileSync(join(root, 'src/a.ts'), code(3))
    writeFileSync(join(root, 'web/b.ts'), code(6))
    const { status, stderr } = command(root, '--lower')
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^code lines of web: 6, committed 5. New: web \+1.*\n$/),
    ])
    expect(lines(root)).toEqual({ value: 3, raised: {}, places: { src: 3 } })
    expect(readCommitted(root)['code lines of web']?.value).toBe(5)
  })

  test('--raise adds what a decision record states, once, and a raise without its line is reported', () => {
    const record = 'docs/decisions/0041-more.md'
    const root = writeTree({
      'src/a.ts': code(5),
      [record]: 'Raises `code lines of src` by 2; deleted for it: the old a.\n',
    })
    commit(root)
    writeFileSync(join(root, 'src/a.ts'), code(8))
    expect(command(root, '--raise', '0040').stderr).toContain('decision 0040 has no line')
    expect(command(root, '--raise', '0041').stderr).toContain('code lines of src: 8, committed 7')
    writeFileSync(join(root, 'src/a.ts'), code(7))
    expect(command(root, '--raise', '0041').status).toBe(0)
    expect(lines(root)).toEqual({ value: 7, raised: { '0041': 2 }, places: { src: 7 } })
    expect(findUnstatedRaises(root, readCommitted(root))).toEqual([])
    writeFileSync(join(root, record), 'Raises `code lines of src` by 2; deleted for it:\n')
    expect(findUnstatedRaises(root, readCommitted(root))).toEqual([
      expect.stringContaining('decision 0041 has no line "Raises `code lines of src` by 2;'),
    ])
  })

  test('a file that is missing, edited by hand or without a figure is refused, with the command to run', () => {
    const root = writeTree({ 'src/a.ts': code(5) })
    expect(command(root, '--lower').stderr).toContain(`${FIGURES_FILE} is missing: restore it`)
    const edits: ((text: string) => string)[] = [
      (text) => text.replace('"value": 5', '"value": 6'),
      (text) => text.replace('"code lines of src"', '"lines"'),
      (text) => text.replace('{\n', '<<<<<<< HEAD\n{\n'),
    ]
    for (const change of edits) {
      commit(root)
      edit(root, change)
      expect(() => readCommitted(root)).toThrow(
        'was edited by hand: restore it from the last commit (git checkout HEAD -- ',
      )
      expect(command(root, '--lower').status).toBe(1)
    }
    commit(root, {})
    expect(findRises(readCommitted(root), { commands: { run: 1 } })).toEqual([
      expect.stringContaining(`commands: 1, ${FIGURES_FILE} has no such figure: restore it from the last commit`),
    ])
  })
})

describe('the command', () => {
  const script = fileURLToPath(new URL('./figures.ts', import.meta.url))
  const run = (...args: string[]) => execFileSync(process.execPath, [script, ...args], { encoding: 'utf8' }).split('\n')

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
