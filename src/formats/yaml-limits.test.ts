import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parseDocument } from 'yaml'
import { readObjectFile } from '../surfaces/cli/pattern-flags.ts'
import { parseFrontmatter } from './frontmatter.ts'
import { parseTeamText } from './team-file.ts'
import { boundedUniqueKeys, safeYamlOptions } from './yaml-limits.ts'

const map = (keys: number) => `{${Array.from({ length: keys }, (_, index) => `k${index}: 1`).join(', ')}}`
const errors = (text: string) =>
  parseDocument(text, { uniqueKeys: boundedUniqueKeys() }).errors.map(({ message }) => message.split('\n')[0])

test('A29 the keys of a map are compared only up to a bound, whatever the length of the text', () => {
  expect(errors(map(3000)).join()).toContain('too many keys in one map')
  expect(errors(map(1900))).toEqual([])
  expect(errors('{a: 1, b: 2, a: 3}').join()).toContain('Map keys must be unique')
  expect(errors('{: 1, [x]: 2}')).toEqual([])
})

test('A29 a team file with too many keys in a map is an error; frontmatter keeps the value as plain text, with a warning', async () => {
  const { problems } = await parseTeamText({ text: `name: a\nx: ${map(3000)}`, path: 'a.yaml' })
  expect(problems.map(({ message }) => message).join()).toContain('too many keys in one map')
  const parsed = await parseFrontmatter(`---\nname: a\nx: ${map(3000)}\n---\nbody`, ['name'])
  expect(parsed).toMatchObject({ problems: [{ level: 'warning', message: expect.stringContaining('plain text') }] })
})

/** The time is linear: 1 MB, the largest file that is read, takes about 25 times as long. */
const LENGTH = 40_000
const deep = (start: string, end = '') =>
  start.repeat(Math.floor(LENGTH / (start.length + end.length))) + end.repeat(10)
const HOSTILE: readonly (readonly [string, string])[] = [
  ['nested lists', deep('[')],
  ['nested maps', deep('{a: ')],
  ['nested items', deep('- ')],
  ['nested keys', `${'? '.repeat(400)}a`],
  ['many nested keys', deep('? ')],
  ['a list as a key', `? ${'[ '.repeat(300)}${'] '.repeat(300)}\n: a`],
]

test.each(HOSTILE)(
  'A29 YAML with %s is an error of a team file and of an input file, and text in frontmatter',
  async (_, yaml) => {
    const { problems } = await parseTeamText({ text: yaml, path: 'a.yaml' })
    expect(problems.length).toBeGreaterThan(0)
    await expect(readObjectText(`x: 1\ny:\n  ${yaml}`)).rejects.toMatchObject({ code: 'invalid_input' })
    const [line = ''] = yaml.split('\n')
    const parsed = await parseFrontmatter(`---\nname: a\nx: ${line}\n---\nbody`, ['name'])
    expect(parsed).toMatchObject({
      body: 'body',
      entries: [
        { key: 'name', value: 'a' },
        { key: 'x', value: line.trim() },
      ],
    })
  },
  60_000,
)

test('A29 control: keys that are no texts, and merged maps, are read as before', () => {
  const parsed: unknown = parseDocument('base: &b {1: x}\ny: {<<: *b, 2: z, true: w}', safeYamlOptions()).toJS()
  expect(parsed).toEqual({ base: { 1: 'x' }, y: { 1: 'x', 2: 'z', true: 'w' } })
})

async function readObjectText(text: string): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-yaml-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'in.yaml'), text)
  return readObjectFile(join(folder, 'in.yaml'), '--input')
}
