import { describe, expect, test } from 'vitest'
import { citationsIn, leadingIds } from './citations.ts'
import { specProblems } from './problems.ts'
import { specRules } from './rules.ts'

const specFile = (source: string) => ({ path: 'src/kernel/SPEC.md', source })

const spec = specFile(`# Journal

- **J1** Events have no holes.
- **J2.** Appends carry the epoch.

**ST12** A paragraph is a rule too,
and goes on.

A **J9** in the middle of a line is not a rule.
`)

const testFile = (source: string) => [{ path: 'src/kernel/journal.test.ts', source }]

describe('rules', () => {
  test('list lines and paragraphs with a bold id are rules', () => {
    expect(specRules(spec).map(({ id, line }) => [id, line])).toEqual([
      ['J1', 3],
      ['J2', 4],
      ['ST12', 6],
    ])
  })

  test('a code block holds no rules', () => {
    expect(specRules(specFile('```md\n**J1** an example\n```\n**J2** real\n')).map(({ id }) => id)).toEqual(['J2'])
  })
})

describe('citations', () => {
  test.each([
    ['J1 no holes', ['J1']],
    ['J1 J2 ST12 many', ['J1', 'J2', 'ST12']],
    ['J1, J2: with marks', ['J1', 'J2']],
    ['no holes, see J1', []],
    ['JOURNAL1 is a word', []],
    ['J1', ['J1']],
  ])('the title "%s" cites %j', (title, ids) => {
    expect(leadingIds(title)).toEqual(ids)
  })

  test.each([
    `test('J1 x', () => {})`,
    `it(\`J1 \${name}\`, () => {})`,
    `test.each([1])('J1 x', () => {})`,
    'test.each`a`("J1 x", () => {})',
    `test.skipIf(windows)('J1 x', () => {})`,
    `export function suite(make: () => void) { it('J1 x', make) }`,
    `runner.test('J1 x', () => {})`,
  ])('%s proves the rule', (source) => {
    const [file] = testFile(source)
    expect(file && citationsIn(file)).toMatchObject([{ id: 'J1', proves: true }])
  })

  test.each([`describe('J1 x', () => {})`, `/x/.test('J1 x')`, `const title = 'J1 x'`])(
    '%s cites nothing',
    (source) => {
      expect(testFile(source).flatMap(citationsIn)).toEqual([])
    },
  )
})

describe('problems', () => {
  test('rules that are all cited give no problem', () => {
    expect(specProblems([spec], testFile(`test('J1 J2 a')\nit('ST12 b')`))).toEqual([])
  })

  test('a rule without a test, or with only a skipped one, is reported', () => {
    expect(specProblems([spec], testFile(`test('J1 a')\ntest.skip('J2 b')\ntest.todo('ST12 c')`))).toEqual([
      'src/kernel/SPEC.md:4 J2 is cited by no test',
      'src/kernel/SPEC.md:6 ST12 is cited by no test',
    ])
  })

  test('a citation of an unknown rule is reported with its place', () => {
    expect(specProblems([specFile('**J1** x')], testFile(`test('J1 a')\ntest('J7 b')`))).toEqual([
      'src/kernel/journal.test.ts:2 cites J7, which no SPEC.md defines',
    ])
  })

  test('an id defined twice, including in another file, and a rule without text are reported', () => {
    const other = { path: 'src/store/SPEC.md', source: '**J1** y\n**J2**\n' }
    expect(specProblems([specFile('**J1** x\n'), other], testFile(`test('J1 J2 a')`))).toEqual([
      'src/store/SPEC.md:2 J2 has no text',
      'src/store/SPEC.md:1 J1 is already defined in src/kernel/SPEC.md:1',
    ])
  })
})
