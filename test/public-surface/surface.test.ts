import { expect, test } from 'vitest'
import { apiReference } from './api-reference.ts'
import { entrySources, publicNames } from './surface.ts'

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

const namesAndKinds = (entry: string, source = read) =>
  publicNames(entry, source).map(({ name, kind }) => ({ name, kind }))

test('re-exports are resolved to their declarations', () => {
  expect(namesAndKinds('src/index.ts')).toEqual([
    { name: 'Code', kind: 'type' },
    { name: 'createTroupe', kind: 'function' },
    { name: 'Log', kind: 'class' },
    { name: 'Options', kind: 'interface' },
    { name: 'TroupeError', kind: 'class (type only)' },
  ])
})

test('a value and a type with the same name are both reported, overloads once', () => {
  const source = `export const Input = 1\nexport type Input = 1\nexport function f(): void\nexport function f() {}\n`
  expect(namesAndKinds('a.ts', () => source)).toEqual([
    { name: 'f', kind: 'function' },
    { name: 'Input', kind: 'const and type' },
  ])
})

function referenceOf(source: string): string {
  return apiReference([{ entry: '.', names: publicNames('b.ts', () => source) }], () => source)
}

test('the reference has the comment and the type of each name, without bodies of functions', () => {
  const reference = referenceOf(`/**
 * Adds two numbers.
 */
export function add(a: number, b: number): number {
  return a + b
}
/** Whole numbers only. */
export interface Sum { total: number }
`)
  expect(reference).toContain('### add\n\nAdds two numbers.\n\n```ts\nfunction add(a: number, b: number): number\n```')
  expect(reference).toContain('Whole numbers only.\n\n```ts\ninterface Sum { total: number }\n```')
  expect(reference.indexOf('### add')).toBeLessThan(reference.indexOf('### Sum'))
  expect(reference).not.toContain('return')
})

test('the reference has every overload without the implementation, and no private members of classes', () => {
  const overloads = referenceOf(
    `export function f(a: 1): 1\nexport function f(a: 2): 2\nexport function f(a: 1 | 2) { return a }\n`,
  )
  expect(overloads).toContain('```ts\nfunction f(a: 1): 1\nfunction f(a: 2): 2\n```')
  const members = referenceOf(
    `export class Log {\n  #size = 0\n  readonly name = 'log'\n  add(line: string): void { this.#size++ }\n}\n`,
  )
  expect(members).toContain("```ts\nclass Log {\n  readonly name = 'log'\n  add(line: string): void\n}\n```")
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
