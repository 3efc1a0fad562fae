import { describe, expect, test } from 'vitest'
import type { SourceFile } from '../support/source-file.ts'
import { readSources } from '../support/source-file.ts'
import { databaseFileViolations } from './database-files.ts'
import { errorTextViolations } from './error-texts.ts'
import type { AllowedMention } from './pattern-mentions.ts'
import { allowedPatternMentions, patternMentionViolations } from './pattern-mentions.ts'
import { architectureViolations } from './rules.ts'
import { sizeReport } from './size.ts'
import { describeViolation } from './violation.ts'
import { wideInterfaceViolations } from './wide-interfaces.ts'

function violationsIn(...files: [path: string, source: string][]): string[] {
  const sources: SourceFile[] = files.map(([path, source]) => ({ path: `src/${path}`, source }))
  const violations = architectureViolations(sources).filter(({ rule }) => rule !== 'pattern-mention')
  return violations.map(({ rule, message }) => `${rule}: ${message}`)
}

const empty = 'export {}\n'
const importFrom = (path: string) => `import { nothing } from '${path}'\nvoid nothing\n`

describe('import boundaries', () => {
  test('imports that the layout allows are accepted', () => {
    const allowed = violationsIn(
      ['errors.ts', empty],
      ['judgement/vote.ts', importFrom('../errors.ts')],
      ['kernel/step.ts', importFrom('../errors.ts')],
      ['kernel/run.ts', importFrom('./step.ts')],
      ['run-model/step-tree.ts', importFrom('../kernel/run.ts')],
      [
        'patterns/task/task.ts',
        `${importFrom('../../kernel/run.ts')}import '../../judgement/vote.ts'\nimport './prompts.ts'\n`,
      ],
      ['patterns/task/prompts.ts', empty],
      ['store/sqlite.ts', importFrom('../kernel/run.ts')],
      ['engine/embedded.ts', `${importFrom('../store/sqlite.ts')}import '../run-model/step-tree.ts'\n`],
      ['knowledge/vectors.ts', importFrom('../store/sqlite.ts')],
      ['audit/verify.ts', importFrom('../kernel/run.ts')],
      ['views/run-view.ts', `${importFrom('../kernel/run.ts')}import '../judgement/vote.ts'\n`],
      ['runtime/troupe.ts', `${importFrom('../engine/embedded.ts')}import '../patterns/task/task.ts'\n`],
      ['patterns/task/view.ts', importFrom('../../views/run-view.ts')],
      ['runtime/compose.ts', `${importFrom('../audit/verify.ts')}import '../views/run-view.ts'\n`],
      ['index.ts', `export { used } from './runtime/troupe.ts'\n`],
      ['surfaces/cli/main.ts', `import '../../index.ts'\n`],
      ['testing/store-suite.ts', importFrom('../store/sqlite.ts')],
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
    ['run-model/step-tree.ts', 'views/run-view.ts', 'run-model may not import views'],
    ['surfaces/cli/main.ts', 'run-model/step-tree.ts', 'surfaces may not import run-model'],
    ['store/sqlite.ts', 'engine/embedded.ts', 'store may not import engine'],
    ['audit/verify.ts', 'store/sqlite.ts', 'audit may not import store'],
    ['views/run-view.ts', 'runtime/troupe.ts', 'views may not import runtime'],
    ['runtime/troupe.ts', 'surfaces/cli/main.ts', 'runtime may not import surfaces'],
    ['runtime/troupe.ts', 'testing/store-suite.ts', 'runtime may not import testing'],
    ['testing/store-suite.ts', 'surfaces/cli/main.ts', 'testing may not import surfaces'],
    ['surfaces/cli/main.ts', 'store/sqlite.ts', 'surfaces may not import store'],
    ['surfaces/cli/main.ts', 'kernel/step.ts', 'surfaces may not import kernel'],
    ['surfaces/cli/main.ts', 'engine/engine.ts', 'surfaces may not import engine'],
    ['surfaces/cli/main.ts', 'runtime/compose.ts', 'surfaces use the public API, not the runtime'],
    ['surfaces/http/server.ts', 'surfaces/mcp/server.ts', 'surface http may not import surface mcp'],
    ['models/scripted.ts', 'models/scripted.test.ts', 'imports the test file'],
  ])('%s importing %s is rejected', (importer, imported, message) => {
    const up = '../'.repeat(importer.split('/').length - 1) || './'
    const found = violationsIn([importer, importFrom(`${up}${imported}`)], [imported, empty])
    expect(found).toHaveLength(1)
    expect(found[0]).toContain(message)
  })

  test.each([
    `export const late = () => import('../store/sqlite.ts')`,
    `export type { nothing } from '../store/sqlite.ts'`,
    `export type Late = import('../store/sqlite.ts').Store`,
  ])('%s counts as an import', (source) => {
    const found = violationsIn(['kernel/step.ts', `${source}\n`], ['store/sqlite.ts', empty])
    expect(found).toEqual(['import-boundary: kernel may not import store (src/store/sqlite.ts)'])
  })

  test('a file of the runtime for surfaces needs its entry, with a reason; a stale entry is rejected', () => {
    const sources = [
      { path: 'src/surfaces/cli/main.ts', source: importFrom('../../runtime/ports.ts') },
      { path: 'src/runtime/ports.ts', source: empty },
    ]
    const check = (runtimeFiles: Record<string, string>) =>
      architectureViolations(sources, { runtimeFiles }).map(({ message }) => message)
    expect(check({ ports: 'a reason' })).toEqual([])
    expect(check({})).toEqual([expect.stringContaining('not the runtime (src/runtime/ports.ts)')])
    expect(check({ ports: ' ' })).toEqual([expect.stringContaining('not the runtime (src/runtime/ports.ts)')])
    expect(check({ ports: 'a reason', gone: 'a reason' })).toEqual([
      'no surface imports src/runtime/gone.ts; remove it from the list',
    ])
  })

  test('an unknown folder and a missing file are rejected', () => {
    expect(violationsIn(['misc/thing.ts', empty])).toEqual(['layout: is in no known folder of src'])
    expect(violationsIn(['kernel/step.ts', importFrom('./gone.ts')])[0]).toContain('which is not in src')
  })
})

describe('cycles', () => {
  test('a cycle is rejected, even through a third file and through import()', () => {
    const found = violationsIn(
      ['kernel/a.ts', importFrom('./b.ts')],
      ['kernel/b.ts', importFrom('./c.ts')],
      ['kernel/c.ts', `export const late = () => import('./a.ts')\n`],
    )
    expect(found).toEqual(['cycle: import cycle: src/kernel/a.ts, src/kernel/b.ts, src/kernel/c.ts'])
  })

  test('a cycle through type imports is rejected as type-cycle', () => {
    const found = violationsIn(
      ['kernel/a.ts', `import type { B } from './b.ts'\nexport type A = B\n`],
      ['kernel/b.ts', `import { used } from './a.ts'\nexport type B = typeof used\n`],
    )
    expect(found).toEqual(['type-cycle: import cycle: src/kernel/a.ts, src/kernel/b.ts'])
  })

  test('a diamond import is not a cycle', () => {
    const found = violationsIn(
      ['kernel/a.ts', `import './b.ts'\nimport './c.ts'\n`],
      ['kernel/b.ts', importFrom('./d.ts')],
      ['kernel/c.ts', importFrom('./d.ts')],
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
  ])('%s is rejected', (source, rule) => {
    expect(violationsIn(['kernel/a.ts', `${source}\n`], ['kernel/b.ts', empty])[0]).toMatch(new RegExp(`^${rule}:`))
  })

  test('an entry point that contains code is rejected', () => {
    expect(violationsIn(['index.ts', empty])).toEqual(['entry: contains code; an entry point may only re-export names'])
  })

  test.each(['kernel/utils.ts', 'kernel/agent-types.ts', 'store/base.test.ts', 'tools/helpers/path.ts'])(
    'the name %s is rejected',
    (path) => {
      expect(violationsIn([path, empty])[0]).toMatch(/^name:/)
    },
  )
})

describe('ambient state', () => {
  const banned = [
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
  const bannedInDecisions = [
    'Promise.race([])',
    'Promise.any([])',
    'setImmediate(() => {})',
    'queueMicrotask(() => {})',
  ]

  test.each([...banned, ...bannedInDecisions])('%s is rejected in patterns and judgement', (expression) => {
    const source = `export const x = () => ${expression}\n`
    expect(violationsIn(['patterns/task/task.ts', source])[0]).toMatch(/^ambient-state:/)
    expect(violationsIn(['judgement/vote.ts', source])[0]).toMatch(/^ambient-state:/)
  })

  test.each(banned)('%s is rejected in the kernel', (expression) => {
    expect(violationsIn(['kernel/step.ts', `export const x = () => ${expression}\n`])[0]).toMatch(/^ambient-state:/)
  })

  test.each(bannedInDecisions)('%s is allowed in the kernel', (expression) => {
    expect(violationsIn(['kernel/step.ts', `export const x = () => ${expression}\n`])).toEqual([])
  })

  test.each([
    `import { readFileSync } from 'node:fs'`,
    `import { readFile } from 'fs/promises'`,
    `import { setTimeout as sleep } from 'node:timers/promises'`,
    `import { randomUUID } from 'node:crypto'`,
    'const { random } = Math',
  ])('%s is rejected in kernel and patterns', (source) => {
    expect(violationsIn(['kernel/step.ts', `${source}\nexport {}\n`])[0]).toMatch(/^ambient-state:/)
    expect(violationsIn(['patterns/task/task.ts', `${source}\nexport {}\n`])[0]).toMatch(/^ambient-state:/)
  })

  test('new Date(ms) may format a given time', () => {
    const source = 'export const written = (ms: number) => new Date(ms).toISOString()\n'
    expect(violationsIn(['patterns/task/task.ts', source])).toEqual([])
  })

  test('fields of the same name, hashes and adapters are allowed', () => {
    const source = `import { createHash } from 'node:crypto'\nexport const x = { Date: createHash, process: 1 }.process\n`
    expect(violationsIn(['kernel/step.ts', source])).toEqual([])
    expect(violationsIn(['engine/clock.ts', 'export const now = () => Date.now()\n'])).toEqual([])
  })
})

test('zod is imported in one module, which the build bundles', () => {
  const found = violationsIn(['schema/zod.ts', `export { object } from 'zod'\n`], ['kernel/step.ts', importFrom('zod')])
  expect(found).toEqual(['import-boundary: imports zod; use src/schema/zod.ts, which the build bundles'])
})

describe('heavy imports', () => {
  const sqlite = `import { DatabaseSync } from 'node:sqlite'\nexport const open = DatabaseSync\n`

  test('a heavy package that index.ts loads statically is rejected, with the import chain', () => {
    const found = violationsIn(
      ['index.ts', `export { opened } from './runtime/troupe.ts'\n`],
      ['runtime/troupe.ts', `import { open } from '../store/sqlite.ts'\nexport const opened = open\n`],
      ['store/sqlite.ts', sqlite],
    )
    expect(found).toEqual([
      'heavy-import: loads node:sqlite at start-up (src/index.ts → src/runtime/troupe.ts → src/store/sqlite.ts); use a dynamic import()',
    ])
  })

  test('a heavy package behind import() or as a type is allowed', () => {
    const found = violationsIn(
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
    '%s is rejected in the kernel even if nothing imports the file',
    (name) => {
      expect(violationsIn(['kernel/step.ts', `import { x } from '${name}'\nexport const y = x\n`])[0]).toMatch(
        /^heavy-import:/,
      )
    },
  )
})

describe('size', () => {
  const lines = (count: number) => `${'// a line\n'.repeat(count - 1)}export {}\n`

  test('a file above 400 lines is rejected, except a test file', () => {
    expect(violationsIn(['kernel/run.ts', lines(400)])).toEqual([])
    expect(violationsIn(['kernel/run.ts', lines(401)])).toEqual(['size: has 401 lines, more than 400'])
    expect(violationsIn(['kernel/run.test.ts', lines(401)])).toEqual([])
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
  ])('%s is rejected', (source) => {
    expect(violationsIn(['kernel/a.ts', `${source}\n`])).toEqual([
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
    expect(violationsIn(['kernel/a.ts', `${source}\n`])).toEqual([])
  })

  test('test files are exempt', () => {
    expect(violationsIn(['kernel/a.test.ts', 'async function gathered() {}\nvoid gathered\n'])).toEqual([])
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
  ])('%s is rejected', (source) => {
    expect(violationsIn(['kernel/a.ts', `${source}\n`])).toEqual([
      expect.stringMatching(/^parameters: .+ has 4 positional parameters, more than 3; pass an object$/),
    ])
  })

  test.each([
    'export function move(a: number, b: number, c: number): void {}',
    'export function move(this: Cart, a: number, b: number, c: number): void {}',
    'export function move({ a, b, c, d }: Move): void {}',
  ])('%s is allowed', (source) => {
    expect(violationsIn(['kernel/a.ts', `${source}\n`])).toEqual([])
  })
})

describe('type names', () => {
  test.each(['export interface CallSite { a: 1 }', 'type CallSite = { a: 1 }', 'class CallSite {}'])(
    '%s is rejected',
    (source) => {
      expect(violationsIn(['kernel/a.ts', `${source}\n`])).toEqual([expect.stringMatching(/^site-type: CallSite/)])
    },
  )

  test('other types, and values, are allowed', () => {
    expect(violationsIn(['kernel/a.ts', 'export type Website = 1\nexport const callSite = 1\n'])).toEqual([])
  })
})

describe('unexplained', () => {
  const asserted = 'export const port = {} as unknown as Port\n'
  const ignored = (inside: string) => `export function f() {\n  // The caller retries.\n  try {} catch {${inside}}\n}\n`

  test.each([
    [asserted, 'double-assertion'],
    [`// A stub.\n\n${asserted}`, 'double-assertion'],
    [`// ---\n${asserted}`, 'double-assertion'],
    ['export const rows = ([] as readonly unknown[]) as Port[]\n', 'double-assertion'],
    [ignored(''), 'empty-catch'],
    [ignored(' /* */ '), 'empty-catch'],
  ])('%s is rejected', (source, rule) => {
    expect(violationsIn(['kernel/a.ts', source])).toEqual([expect.stringMatching(new RegExp(`^${rule}: `))])
  })

  test.each([
    `// A stub: no test calls its methods.\n${asserted}`,
    asserted.replace('\n', ' // a stub\n'),
    'export const port = {} as Port\n',
    ignored(' /* The file is gone. */ '),
  ])('%s is allowed', (source) => {
    expect(violationsIn(['kernel/a.ts', source])).toEqual([])
  })
})

describe('duplicate exports', () => {
  test('a name that several files declare and export is rejected, whatever the kind of declaration', () => {
    const found = violationsIn(
      ['kernel/a.ts', 'export type Answer = 1\n'],
      ['kernel/b.ts', 'class Answer {}\nexport { Answer }\n'],
      ['kernel/c.ts', 'const reply = 1\nexport { reply as Answer }\n'],
    )
    expect(found).toEqual([
      'duplicate-export: exports Answer, and so does src/kernel/b.ts, src/kernel/c.ts; use distinct names',
    ])
  })

  test('re-exports, local names, overloads and test files are allowed', () => {
    const found = violationsIn(
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
  ])('%s is rejected', (source) => {
    expect(violationsIn(['kernel/a.ts', `${source}\n`])).toEqual([
      'wide-interface: Port has 13 members, more than 12; split it, or allow it with a reason',
    ])
  })

  test('twelve members, overloads of one of them, and inherited members are allowed', () => {
    const source = `export interface Port extends Other { ${members(11)}; f(a: string): void; f(a: number): void }\n`
    expect(violationsIn(['kernel/a.ts', source])).toEqual([])
  })

  test('an allowed interface may be wide; a stale entry is rejected', () => {
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

describe('error texts', () => {
  const options = 'export interface Options { max_turns: number; timeout: number }\n'
  const errorsIn = (source: string, allowed = {}) =>
    errorTextViolations([{ path: 'src/kernel/a.ts', source: `${options}${source}` }], allowed).map(({ message }) =>
      message.replace(/: .*/, ''),
    )
  const UNNAMED = 'names no option, field, flag, file, variable or command'

  test.each([
    ["new TroupeError('invalid_input', '`timeout` is too small', { hint: 'raise it' })"],
    ["new TroupeError('invalid_input', 'too many turns', { hint: 'raise max_turns' })"],
    [`new TroupeError('invalid_input', \`timeout '\${value}' is not a number\`, { hint: 'write a number' })`],
    ["new TroupeError('invalid_input', 'too slow', { hint: 'pass --timeout' })"],
    [`new TroupeError('invalid_input', \`\${path} is not readable\`, { hint: 'check the file' })`],
    ["new TroupeError('internal', 'a defect')"],
    ['new TroupeError(thrown.code, thrown.message, { hint: thrown.hint })'],
  ])('accepts %s', (source) => {
    expect(errorsIn(source)).toEqual([])
  })

  test.each([
    ["new TroupeError('invalid_input', '`timeout` is too small')", 'has no hint'],
    ["new TroupeError('invalid_input', '`timeout` is too small', { hint: '' })", 'has no hint'],
    ["new TroupeError('invalid_input', '`timeout` is too small', known ? { hint: 'x' } : {})", 'has no hint'],
    ["new TroupeError('invalid_input', '', { hint: 'raise max_turns' })", 'has no message'],
    ["new TroupeError('invalid_input', 'something is wrong', { hint: 'try again' })", UNNAMED],
    ["new TroupeError('invalid_input', '`retries` is too small', { hint: 'try again' })", UNNAMED],
    [`new TroupeError('invalid_input', \`it redirects to \${host}\`, { hint: 'try again' })`, UNNAMED],
  ])('reports %s', (source, problem) => {
    expect(errorsIn(source)).toEqual([problem])
  })

  test('the callers of a function that takes the text are checked', () => {
    const factory = `export function failure(message: string, hint: string) {
      return new TroupeError('invalid_input', message, { hint })
    }\n`
    expect(errorsIn(`${factory}failure('\`timeout\` is too small', 'raise it')`)).toEqual([])
    expect(errorsIn(`${factory}failure('something is wrong', 'try again')`)).toEqual([UNNAMED])
    expect(errorsIn(`${factory}failure('\`timeout\` is too small', '')`)).toEqual(['has no hint'])
  })

  test('a file can be exempt, and a stale exemption is reported', () => {
    const source = "new TroupeError('invalid_input', 'something is wrong', { hint: 'try again' })"
    expect(errorsIn(source, { 'src/kernel/a.ts': 'reason' })).toEqual([])
    expect(errorsIn('', { 'src/kernel/a.ts': 'reason' })).toHaveLength(1)
  })
})

describe('pattern mentions', () => {
  const review: SourceFile = {
    path: 'src/patterns/review/review.ts',
    source: `export const review = definePattern({ name: 'review', aliases: ['Audit'] })\n`,
  }
  const events: SourceFile = {
    path: 'src/patterns/review/events.ts',
    source: `export const reviewEvents = { 'review:vote': 1 }\n`,
  }
  const load = `async () => (await import('../patterns/review/review.ts')).review`
  const registration = (entries: string) => `export const BUILT_IN_PATTERNS = { ${entries} } as const\n`
  const check = (path: string, source: string, allowed: readonly AllowedMention[] = []) =>
    patternMentionViolations([review, events, { path: `src/${path}`, source }], allowed).map(({ message }) => message)

  test.each([
    [`import { review } from '../patterns/review/review.ts'\nvoid review\n`, 'imports src/patterns/review/review.ts'],
    [`export const isReview = (name: string) => name === 'review'\n`, "'review'"],
    [`export const alias = 'Audit'\n`, "'Audit'"],
    ['export const alias = `Audit`\n', "'Audit'"],
    [`export type Vote = { type: 'review:vote' }\n`, "'review:vote'"],
  ])('%s is rejected outside the folder of the pattern', (source, what) => {
    expect(check('engine/a.ts', source)).toEqual([`mentions the pattern in patterns/review: ${what}`])
    expect(check('patterns/review/a.ts', source)).toEqual([])
    expect(check('runtime/built-in-patterns.ts', `${source}${registration(`review: ${load}`)}`)).toEqual([])
    expect(check('engine/a.test.ts', source)).toEqual([])
  })

  test('an allowed mention needs its entry; a stale entry is rejected', () => {
    const allowed = [{ path: 'src/engine', folder: 'review', reason: 'a reason' }]
    expect(check('engine/a.ts', `export const name = 'review'\n`, allowed)).toEqual([])
    expect(check('engine/a.ts', `export const name = 'reviews'\n`, allowed)).toEqual([
      'src/engine no longer mentions patterns/review; remove it from the list',
    ])
  })

  test("a name that the definition spreads is found: 'consult' outside its folder is rejected", () => {
    const planted = { path: 'src/engine/planted.ts', source: `export const name = 'consult'\n` }
    const found = patternMentionViolations([...readSources('src', '.ts'), planted], allowedPatternMentions)
    expect(found.map(describeViolation)).toEqual([
      "src/engine/planted.ts:1 [pattern-mention] mentions the pattern in patterns/consult: 'consult'",
    ])
  })

  test('a registered name that is found in no definition of its folder is rejected', () => {
    const messagesFor = (entries: string) => check('runtime/built-in-patterns.ts', registration(entries))
    expect(messagesFor(`review: ${load}`)).toEqual([])
    expect(messagesFor(`reviews: ${load}`)).toEqual([
      "registers 'reviews', but no definePattern in patterns/review has this name",
    ])
    expect(messagesFor('')).toEqual(['registers no pattern in BUILT_IN_PATTERNS'])
  })
})

describe('files of SQLite', () => {
  const found = (path: string, statements: string, allowed: Record<string, string> = {}) => {
    const names = 'openSync, writeFileSync, truncateSync, copyFileSync, renameSync, rmSync, constants, readFileSync'
    const source = `import { ${names} } from 'node:fs'\nimport { open as openFile } from 'node:fs/promises'\n${statements}\n`
    return databaseFileViolations([{ path, source }], allowed).map(
      ({ line, message }) => `${line} ${message.split(' ')[1]}`,
    )
  }

  test.each([
    ["openSync(path, 'r+')", 'openSync'],
    ['const FLAGS = constants.O_RDWR | constants.O_NOFOLLOW\nopenSync(path, FLAGS)', 'openSync'],
    ["await openFile(path, 'a')", 'open'],
    ['openSync(path, flags)', 'openSync'],
    ['truncateSync(path)', 'truncateSync'],
    ["writeFileSync(path, '')", 'writeFileSync'],
    ['copyFileSync(from, path)', 'copyFileSync'],
    ['renameSync(path, aside)', 'renameSync'],
    ['rmSync(path)', 'rmSync'],
  ])('%s is rejected in the store, and in a file that names one of SQLite', (statement, name) => {
    const line = 2 + statement.split('\n').length
    expect(found('src/store/sqlite/log.ts', statement)).toEqual([`${line} ${name}`])
    expect(found('src/tools/log.ts', statement)).toEqual([])
    expect(found('src/tools/log.ts', `${statement} // -wal`)).toEqual([`${line} ${name}`])
  })

  test.each([
    "openSync(path, 'r')",
    "openSync(path, 'wx', 0o600)",
    'openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)',
    "writeFileSync(path, '', { flag: 'wx' })",
    'readFileSync(path)',
    "sessions.open(path, 'r+')",
  ])('%s reads, or creates a new file', (statement) => {
    expect(found('src/store/sqlite/log.ts', statement)).toEqual([])
  })

  test('a named exception is accepted, and rejected once it is needless; node:fs is imported by name', () => {
    const allowed = { 'src/store/sqlite/log.ts': 'the mark' }
    expect(found('src/store/sqlite/log.ts', "openSync(path, 'r+')", allowed)).toEqual([])
    expect(found('src/store/sqlite/log.ts', '', allowed)).toEqual(['1 no'])
    for (const all of [
      "import * as fs from 'node:fs'",
      "import { promises } from 'node:fs'",
      "await import('node:fs')",
    ])
      expect(found('src/store/sqlite/log.ts', all)).toEqual(['3 all'])
  })
})
