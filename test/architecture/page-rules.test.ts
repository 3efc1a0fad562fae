import { expect, test } from 'vitest'
import { readSources } from '../support/source-file.ts'
import { pageViolations } from './page-rules.ts'
import { describeViolation } from './violation.ts'

const page = [...readSources('web', '.ts'), ...readSources('web', '.tsx')]
const sources = readSources('src', '.ts')

test('the page imports only shared types and pure functions, makes no markup from strings, names no host and no pattern', () => {
  expect(page.length).toBeGreaterThan(0)
  expect(pageViolations(page, sources).map(describeViolation)).toEqual([])
})

const patterns = sources.filter(({ path }) => path.startsWith('src/patterns/'))
const violationsIn = (source: string, path = 'web/planted.tsx') =>
  pageViolations([{ path, source }], patterns).map(({ rule, message }) => `${rule}: ${message}`)

test.each([
  [
    `import { createTroupe } from '../src/index.ts'\nvoid createTroupe\n`,
    'page-import: the page may not import ../src/index.ts',
  ],
  [`import { readFile } from 'node:fs'\nvoid readFile\n`, 'page-import: the page may not import node:fs'],
  [
    `export const Raw = () => <p dangerouslySetInnerHTML={{ __html: '' }} />\n`,
    'page-sink: uses dangerouslySetInnerHTML',
  ],
  [`export const f = (e: Element) => { e['innerHTML'] = '' }\n`, 'page-sink: uses innerHTML'],
  [`export const f = () => eval('1')\n`, 'page-sink: uses eval'],
  [`export const Sheet = () => <style>a</style>\n`, 'page-sink: makes a <style> element'],
  [`export const Frame = () => <iframe title="a" />\n`, 'page-sink: makes a <iframe> element'],
  [`export const font = 'https://fonts.example/a.css'\n`, 'page-sink: names the address https://fonts.example/a.css'],
  [
    `export const isTeam = (pattern: string) => pattern === 'team'\n`,
    "pattern-mention: mentions the pattern in patterns/team: 'team'",
  ],
])('finds %s', (source, violation) => {
  expect(violationsIn(source)).toContain(violation)
})

test('accepts the style property, which sets properties one by one', () => {
  expect(violationsIn(`export const Bar = () => <i style={{ width: 3 }} />\n`)).toEqual([])
})
