import { expect, test } from 'vitest'
import { entrySources, publicNames, surfaceReport } from './surface.ts'

const files: Record<string, string> = {
  'src/index.ts': `
    export { createTroupe, type Options, Journal as Log } from './troupe.ts'
    export type { TroupeError, Code } from './errors.ts'
  `,
  'src/troupe.ts': `
    import { Journal } from './kernel/journal.ts'
    export interface Options { store: string }
    export function createTroupe(): void {}
    export { Journal }
  `,
  'src/kernel/journal.ts': 'export class Journal {}',
  'src/errors.ts': 'export class TroupeError extends Error {}\nexport type Code = string\nexport const codes = []',
}
const read = (path: string) => files[path] ?? ''

test('re-exports are resolved to their declarations', () => {
  expect(publicNames('src/index.ts', read)).toEqual([
    { name: 'Code', kind: 'type' },
    { name: 'createTroupe', kind: 'function' },
    { name: 'Log', kind: 'class' },
    { name: 'Options', kind: 'interface' },
    { name: 'TroupeError', kind: 'class (type only)' },
  ])
})

test('a value and a type with the same name are both reported, overloads once', () => {
  const source = `export const Input = 1\nexport type Input = 1\nexport function f(): void\nexport function f() {}\n`
  expect(publicNames('a.ts', () => source)).toEqual([
    { name: 'f', kind: 'function' },
    { name: 'Input', kind: 'const and type' },
  ])
})

test('the report contains the name and the kind', () => {
  const report = (kind: string, name = 'run') => surfaceReport([{ entry: '.', names: [{ name, kind }] }])
  expect(report('function')).toContain('| `run` | function |')
  expect(report('function')).not.toBe(report('const'))
  expect(report('function')).not.toBe(report('function', 'runs'))
})

test('a missing export and export * are errors', () => {
  expect(() => publicNames('a.ts', () => `export { gone } from './b.ts'`)).toThrow()
  expect(() => publicNames('a.ts', () => `export * from './b.ts'`)).toThrow('list the names')
})

test('the entry points of package.json map to their sources', () => {
  const field = { '.': { default: './dist/index.js' }, './testing': { default: './dist/testing/index.js' } }
  expect(entrySources({ ...field, './package.json': './package.json' })).toEqual([
    { entry: '.', source: 'src/index.ts' },
    { entry: './testing', source: 'src/testing/index.ts' },
  ])
})
