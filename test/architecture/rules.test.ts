import { describe, expect, test } from 'vitest'
import type { SourceFile } from '../support/source-file.ts'
import { architectureViolations } from './rules.ts'
import { sizeReport } from './size.ts'
import { wideInterfaceViolations } from './wide-interfaces.ts'

function complaints(...files: [path: string, source: string][]): string[] {
  const sources: SourceFile[] = files.map(([path, source]) => ({ path: `src/${path}`, source }))
  return architectureViolations(sources).map(({ rule, message }) => `${rule}: ${message}`)
}

const empty = 'export {}\n'
const from = (path: string) => `import { nothing } from '${path}'\nvoid nothing\n`

describe('arrows', () => {
  test('what the layout allows passes', () => {
    const allowed = complaints(
      ['errors.ts', empty],
      ['judgement/vote.ts', from('../errors.ts')],
      ['kernel/step.ts', from('../errors.ts')],
      ['kernel/run.ts', from('./step.ts')],
      [
        'patterns/task/task.ts',
        `${from('../../kernel/run.ts')}import '../../judgement/vote.ts'\nimport './prompts.ts'\n`,
      ],
      ['patterns/task/prompts.ts', empty],
      ['store/sqlite.ts', from('../kernel/run.ts')],
      ['engine/embedded.ts', from('../store/sqlite.ts')],
      ['knowledge/vectors.ts', from('../store/sqlite.ts')],
      ['audit/verify.ts', from('../kernel/run.ts')],
      ['views/run-view.ts', `${from('../kernel/run.ts')}import '../judgement/vote.ts'\n`],
      ['runtime/troupe.ts', `${from('../engine/embedded.ts')}import '../patterns/task/task.ts'\n`],
      ['runtime/compose.ts', `${from('../audit/verify.ts')}import '../views/run-view.ts'\n`],
      ['index.ts', `export { used } from './runtime/troupe.ts'\n`],
      ['surfaces/cli/main.ts', `import type { used } from '../../kernel/run.ts'\nimport '../../index.ts'\n`],
      ['testing/store-suite.ts', from('../store/sqlite.ts')],
      ['store/sqlite.test.ts', `import '../testing/store-suite.ts'\n`],
    )
    expect(allowed).toEqual([])
  })

  test.each([
    ['errors.ts', 'kernel/step.ts', 'errors may not import kernel'],
    ['judgement/vote.ts', 'kernel/step.ts', 'judgement may not import kernel'],
    ['kernel/step.ts', 'store/sqlite.ts', 'kernel may not import store'],
    ['kernel/step.ts', 'judgement/vote.ts', 'kernel may not import judgement'],
    ['kernel/step.ts', 'patterns/task/task.ts', 'kernel may not import patterns'],
    ['patterns/task/task.ts', 'patterns/team/team.ts', 'pattern task may not import pattern team'],
    ['patterns/task/task.ts', 'models/scripted.ts', 'patterns may not import models'],
    ['models/scripted.ts', 'store/sqlite.ts', 'models may not import store'],
    ['store/sqlite.ts', 'engine/embedded.ts', 'store may not import engine'],
    ['audit/verify.ts', 'store/sqlite.ts', 'audit may not import store'],
    ['views/run-view.ts', 'runtime/troupe.ts', 'views may not import runtime'],
    ['runtime/troupe.ts', 'surfaces/cli/main.ts', 'runtime may not import surfaces'],
    ['runtime/troupe.ts', 'testing/store-suite.ts', 'runtime may not import testing'],
    ['testing/store-suite.ts', 'surfaces/cli/main.ts', 'testing may not import surfaces'],
    ['surfaces/cli/main.ts', 'store/sqlite.ts', 'surfaces may not import store'],
    ['surfaces/cli/main.ts', 'kernel/step.ts', 'surfaces take only types from kernel'],
    ['surfaces/http/server.ts', 'surfaces/mcp/server.ts', 'surface http may not import surface mcp'],
    ['models/scripted.ts', 'models/scripted.test.ts', 'imports the test file'],
  ])('%s importing %s is refused', (importer, imported, message) => {
    const up = '../'.repeat(importer.split('/').length - 1) || './'
    const found = complaints([importer, from(`${up}${imported}`)], [imported, empty])
    expect(found).toHaveLength(1)
    expect(found[0]).toContain(message)
  })

  test.each([
    `export const late = () => import('../store/sqlite.ts')`,
    `export type { nothing } from '../store/sqlite.ts'`,
    `export type Late = import('../store/sqlite.ts').Store`,
  ])('%s draws an arrow too', (source) => {
    const found = complaints(['kernel/step.ts', `${source}\n`], ['store/sqlite.ts', empty])
    expect(found).toEqual(['arrows: kernel may not import store (src/store/sqlite.ts)'])
  })

  test('a folder that the layout does not know and a file that is not there are refused', () => {
    expect(complaints(['misc/thing.ts', empty])).toEqual(['layout: has no place in the layout'])
    expect(complaints(['kernel/step.ts', from('./gone.ts')])[0]).toContain('which is not in src')
  })
})

describe('cycles', () => {
  test('files that load each other are refused, through a third one and through import() as well', () => {
    const found = complaints(
      ['kernel/a.ts', from('./b.ts')],
      ['kernel/b.ts', from('./c.ts')],
      ['kernel/c.ts', `export const late = () => import('./a.ts')\n`],
    )
    expect(found).toEqual(['cycle: import each other: src/kernel/a.ts, src/kernel/b.ts, src/kernel/c.ts'])
  })

  test('a cycle that only types close is refused under its own name', () => {
    const found = complaints(
      ['kernel/a.ts', `import type { B } from './b.ts'\nexport type A = B\n`],
      ['kernel/b.ts', `import { used } from './a.ts'\nexport type B = typeof used\n`],
    )
    expect(found).toEqual(['type-cycle: import each other: src/kernel/a.ts, src/kernel/b.ts'])
  })

  test('two ways to the same file are not a cycle', () => {
    const found = complaints(
      ['kernel/a.ts', `import './b.ts'\nimport './c.ts'\n`],
      ['kernel/b.ts', from('./d.ts')],
      ['kernel/c.ts', from('./d.ts')],
      ['kernel/d.ts', empty],
    )
    expect(found).toEqual([])
  })
})

describe('exports and names', () => {
  test.each([
    ['export default 1', 'default-export'],
    ['const x = 1\nexport { x as default }', 'default-export'],
    [`export * from './b.ts'`, 'export-all'],
    [`export * as b from './b.ts'`, 'export-all'],
  ])('%s is refused', (source, rule) => {
    expect(complaints(['kernel/a.ts', `${source}\n`], ['kernel/b.ts', empty])[0]).toMatch(new RegExp(`^${rule}:`))
  })

  test('an entry that holds code is refused', () => {
    expect(complaints(['index.ts', empty])).toEqual(['entry: holds code; an entry only re-exports names'])
  })

  test.each(['kernel/utils.ts', 'kernel/agent-types.ts', 'store/base.test.ts', 'tools/helpers/path.ts'])(
    'the name %s is refused',
    (path) => {
      expect(complaints([path, empty])[0]).toMatch(/^name:/)
    },
  )
})

describe('hidden world', () => {
  const everywhere = [
    'new Date()',
    'new Date(...[])',
    'new Date(2030, 1)',
    'Date()',
    'Date.now()',
    'new Date(Date.now())',
    '[1].map(Date)',
    'globalThis.Date.now()',
    'Math.random()',
    `Math['random']()`,
    'crypto.randomUUID()',
    'process.env',
    'setTimeout(() => {}, 1)',
    'AbortSignal.timeout(5)',
    'performance.now()',
  ]
  const decisionsOnly = ['Promise.race([])', 'Promise.any([])', 'setImmediate(() => {})', 'queueMicrotask(() => {})']

  test.each([...everywhere, ...decisionsOnly])('%s is refused in a pattern and in a judgement', (expression) => {
    const source = `export const x = () => ${expression}\n`
    expect(complaints(['patterns/task/task.ts', source])[0]).toMatch(/^hidden-world:/)
    expect(complaints(['judgement/vote.ts', source])[0]).toMatch(/^hidden-world:/)
  })

  test.each(everywhere)('%s is refused in the kernel', (expression) => {
    expect(complaints(['kernel/step.ts', `export const x = () => ${expression}\n`])[0]).toMatch(/^hidden-world:/)
  })

  test.each(decisionsOnly)('%s is allowed in the kernel', (expression) => {
    expect(complaints(['kernel/step.ts', `export const x = () => ${expression}\n`])).toEqual([])
  })

  test.each([
    `import { readFileSync } from 'node:fs'`,
    `import { readFile } from 'fs/promises'`,
    `import { setTimeout as sleep } from 'node:timers/promises'`,
    `import { randomUUID } from 'node:crypto'`,
    'const { random } = Math',
  ])('%s is refused in kernel and patterns', (source) => {
    expect(complaints(['kernel/step.ts', `${source}\nexport {}\n`])[0]).toMatch(/^hidden-world:/)
    expect(complaints(['patterns/task/task.ts', `${source}\nexport {}\n`])[0]).toMatch(/^hidden-world:/)
  })

  test('a time that was given may be written down', () => {
    const source = 'export const written = (ms: number) => new Date(ms).toISOString()\n'
    expect(complaints(['patterns/task/task.ts', source])).toEqual([])
  })

  test('fields of the same name, hashes and adapters are left alone', () => {
    const source = `import { createHash } from 'node:crypto'\nexport const x = { Date: createHash, process: 1 }.process\n`
    expect(complaints(['kernel/step.ts', source])).toEqual([])
    expect(complaints(['engine/clock.ts', 'export const now = () => Date.now()\n'])).toEqual([])
  })
})

describe('heavy imports', () => {
  const sqlite = `import { DatabaseSync } from 'node:sqlite'\nexport const open = DatabaseSync\n`

  test('a heavy package that the core reaches statically is refused, with the way to it', () => {
    const found = complaints(
      ['index.ts', `export { opened } from './runtime/troupe.ts'\n`],
      ['runtime/troupe.ts', `import { open } from '../store/sqlite.ts'\nexport const opened = open\n`],
      ['store/sqlite.ts', sqlite],
    )
    expect(found).toEqual([
      'heavy-import: loads node:sqlite with the core (src/index.ts → src/runtime/troupe.ts → src/store/sqlite.ts); use import() where it is needed',
    ])
  })

  test('the same package behind import() or a type is allowed', () => {
    const found = complaints(
      ['index.ts', `export { opened } from './runtime/troupe.ts'\n`],
      [
        'runtime/troupe.ts',
        `export const opened = () => import('../store/sqlite.ts')\nexport type Y = import('yaml').Document\n`,
      ],
      ['store/sqlite.ts', sqlite],
    )
    expect(found).toEqual([])
  })

  test.each(['commander', 'yaml', '@ai-sdk/openai', 'ai'])(
    '%s is refused in the kernel even if nothing loads it',
    (name) => {
      expect(complaints(['kernel/step.ts', `import { x } from '${name}'\nexport const y = x\n`])[0]).toMatch(
        /^heavy-import:/,
      )
    },
  )
})

describe('size', () => {
  const lines = (count: number) => `${'// a line\n'.repeat(count - 1)}export {}\n`

  test('a file above 400 lines is refused, a test file only warned about', () => {
    expect(complaints(['kernel/run.ts', lines(400)])).toEqual([])
    expect(complaints(['kernel/run.ts', lines(401)])).toEqual(['size: has 401 lines, more than 400'])
    expect(complaints(['kernel/run.test.ts', lines(401)])).toEqual([])
  })

  test('the report names files above 250 lines and functions above 60', () => {
    const long = `export function drive() {\n${'  // a line\n'.repeat(60)}}\n`
    const report = sizeReport([
      { path: 'src/kernel/run.ts', source: lines(251) },
      { path: 'src/kernel/turn.ts', source: long },
      { path: 'src/kernel/gate.ts', source: lines(250) },
    ])
    expect(report).toEqual([
      '3 files, 563 lines, median 250, longest 251',
      '251 lines: src/kernel/run.ts',
      '62 lines: drive in src/kernel/turn.ts:1',
    ])
  })
})

describe('participles', () => {
  test.each([
    'export async function gathered() {}',
    'export function told(): Promise<void> { return Promise.resolve() }',
    'export function held(): void | Promise<void> {}',
    'export const settled = async () => {}',
    'export const port = { async written() {} }',
    'export const port = { asked: async () => {} }',
    'export class Journal { async committed() {} }',
    'export class Journal { async #caughtUp() {} }',
    'export interface Port { spent(key: string): Promise<number> }',
    'export interface Port { cached: (key: string) => Promise<number> }',
    'export async function agreed() {}',
    'export async function endedAs() {}',
  ])('%s is refused', (source) => {
    expect(complaints(['kernel/a.ts', `${source}\n`])).toEqual([
      expect.stringMatching(/^participle: async function \w+ is named by a participle; use an imperative verb$/),
    ])
  })

  test.each([
    'export function gathered(): string[] { return [] }',
    'export async function gather() {}',
    'export async function embed() {}',
    'export async function feed() {}',
    'export async function need() {}',
    'export async function read() {}',
    'export async function readEntries() {}',
    'export async function cachedResult() {}',
    'export const settled = 1',
  ])('%s is allowed', (source) => {
    expect(complaints(['kernel/a.ts', `${source}\n`])).toEqual([])
  })

  test('a test file may name its functions as it likes', () => {
    expect(complaints(['kernel/a.test.ts', 'async function gathered() {}\nvoid gathered\n'])).toEqual([])
  })
})

describe('parameters', () => {
  test.each([
    'export function move(a: number, b: number, c: number, d: number): void {}',
    'export const move = (a: number, b: number, c: number, d = 1) => {}',
    'export const move = (a: number, b: number, c: number, ...rest: number[]) => {}',
    'export class Cart { move(a: number, b: number, c: number, d?: number) {} }',
    'export class Cart { constructor(a: number, b: number, c: number, d: number) {} }',
    'export interface Cart { move(a: number, b: number, c: number, d: number): void }',
    'export interface Cart { move: (a: number, b: number, c: number, d: number) => void }',
    'export type Move = (a: number, b: number, c: number, d: number) => void',
    '[1].map((a, b, c, d) => a)',
  ])('%s is refused', (source) => {
    expect(complaints(['kernel/a.ts', `${source}\n`])).toEqual([
      expect.stringMatching(/^parameters: .+ has 4 positional parameters, more than 3; pass an object$/),
    ])
  })

  test.each([
    'export function move(a: number, b: number, c: number): void {}',
    'export function move(this: Cart, a: number, b: number, c: number): void {}',
    'export function move({ a, b, c, d }: Move): void {}',
  ])('%s is allowed', (source) => {
    expect(complaints(['kernel/a.ts', `${source}\n`])).toEqual([])
  })
})

describe('type names', () => {
  test.each(['export interface CallSite { a: 1 }', 'type CallSite = { a: 1 }', 'class CallSite {}'])(
    '%s is refused',
    (source) => {
      expect(complaints(['kernel/a.ts', `${source}\n`])).toEqual([expect.stringMatching(/^site-type: CallSite/)])
    },
  )

  test('other types, and values, are allowed', () => {
    expect(complaints(['kernel/a.ts', 'export type Website = 1\nexport const callSite = 1\n'])).toEqual([])
  })
})

describe('duplicate exports', () => {
  test('a name that two files declare and export is refused, whatever the kind of declaration', () => {
    const found = complaints(
      ['kernel/a.ts', 'export type Answer = 1\n'],
      ['kernel/b.ts', 'class Answer {}\nexport { Answer }\n'],
      ['kernel/c.ts', 'const reply = 1\nexport { reply as Answer }\n'],
    )
    expect(found).toEqual([
      'duplicate-export: exports Answer, and so does src/kernel/b.ts, src/kernel/c.ts; one name belongs to one file',
    ])
  })

  test('re-exports, local names, overloads and test files are allowed', () => {
    const found = complaints(
      ['kernel/a.ts', 'export const Answer = 1\nexport type Answer = 1\n'],
      ['kernel/b.ts', `export { Answer } from './a.ts'\n`],
      ['kernel/c.ts', `import { Answer } from './a.ts'\nexport { Answer }\n`],
      ['kernel/d.ts', 'const Answer = 1\nvoid Answer\n'],
      ['kernel/e.test.ts', 'export const Answer = 1\n'],
    )
    expect(found).toEqual([])
  })
})

describe('wide interfaces', () => {
  const members = (count: number) => Array.from({ length: count }, (_, index) => `m${index}: number`).join('; ')

  test.each([
    `export interface Port { ${members(13)} }`,
    `export type Port = { ${members(13)} }`,
    `export type Port = Readonly<{ ${members(13)} }>`,
    `export type Port = Other & { ${members(12)} } & { more: number }`,
    `export type Port = { few: number } | { ${members(13)} }`,
  ])('%s is refused', (source) => {
    expect(complaints(['kernel/a.ts', `${source}\n`])).toEqual([
      'wide-interface: Port has 13 members, more than 12; split it, or allow it with a reason',
    ])
  })

  test('twelve members, overloads of one of them, and inherited members are allowed', () => {
    const source = `export interface Port extends Other { ${members(11)}; f(a: string): void; f(a: number): void }\n`
    expect(complaints(['kernel/a.ts', source])).toEqual([])
  })

  test('an allowed interface may be wide; an entry that is no longer needed is refused', () => {
    const check = (source: string) =>
      wideInterfaceViolations([{ path: 'src/kernel/a.ts', source }], { Port: 'one member per column' })
    expect(check(`export interface Port { ${members(13)} }`)).toEqual([])
    expect(check(`export interface Port { ${members(12)} }`)).toEqual([
      {
        rule: 'wide-interface',
        path: 'test/architecture/wide-interfaces.ts',
        line: 1,
        message: 'Port has at most 12 members now; remove it from the list',
      },
    ])
  })
})
