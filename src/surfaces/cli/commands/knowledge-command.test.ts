import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCommand } from '../../../../test/support/command-run.ts'

let folder: string
const before = process.cwd()

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'troupe-knowledge-cli-')))
  await mkdir(join(folder, 'project/docs'), { recursive: true })
  process.chdir(join(folder, 'project'))
  vi.stubEnv('HOME', join(folder, 'home'))
  vi.stubEnv('USERPROFILE', join(folder, 'home'))
  // The real embedder takes seconds to load; the words are enough here.
  await writeFile('troupe.config.json', JSON.stringify({ embedder: false }))
  await writeFile('docs/auth.md', '# Tokens\nThe API signs tokens with RS256.\n')
  await writeFile('docs/deploy.txt', 'Deploy with docker compose.\n')
})
afterEach(async () => {
  process.chdir(before)
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

async function knowledge(...argv: string[]) {
  const { code, ...lines } = await runCommand(['knowledge', ...argv, '--trust-project'])
  const [out, err] = [lines.out.join('\n'), lines.err.join('\n')]
  return { code, out, err, json: () => JSON.parse(out) }
}

test('L83 files are added, found, listed and forgotten', async () => {
  const added = await knowledge('add', 'docs')
  expect(added).toMatchObject({ code: 0, out: expect.stringContaining('2 files stored, 0 unchanged') })
  expect((await knowledge('add', 'docs')).out).toContain('0 files stored, 2 unchanged')
  const found = await knowledge('search', 'how', 'are', 'tokens', 'signed?')
  expect(found.out).toMatch(/docs\/auth\.md:1 .*\n.*RS256/)
  expect((await knowledge('list')).out).toBe('docs/auth.md  1 part\ndocs/deploy.txt  1 part')
  expect((await knowledge('forget', 'docs/auth.md')).out).toBe('1 document forgotten')
  expect((await knowledge('forget', '--all', '--yes')).out).toBe('1 document forgotten')
  expect((await knowledge('search', 'tokens')).out).toContain('nothing is stored yet')
})

test('L83 without an embedder the output says so once, and JSON says how each match was found', async () => {
  const added = await knowledge('add', 'docs')
  expect(added.err.match(/compared by words, not by meaning/g)).toHaveLength(1)
  const { matches, reason } = (await knowledge('search', 'tokens', '--json')).json()
  expect(matches).toMatchObject([{ document: { id: 'docs/auth.md#1' }, method: 'lexical' }])
  expect(reason).toContain('embedder: false')
})

test('L83 wrong input is refused with what to do', async () => {
  await writeFile('image.png', Uint8Array.from([0, 1, 2]))
  expect(await knowledge('add', 'image.png')).toMatchObject({
    code: 2,
    err: expect.stringContaining('not a text file'),
  })
  expect(await knowledge('add', 'nowhere')).toMatchObject({ code: 2, err: expect.stringContaining("'nowhere'") })
  expect(await knowledge('forget')).toMatchObject({ code: 2, err: expect.stringContaining('--all') })
  expect(await knowledge('forget', 'other.md')).toMatchObject({ code: 2, err: expect.stringContaining('other.md') })
  expect(await knowledge('find')).toMatchObject({ code: 2, err: expect.stringContaining('search') })
  expect(await knowledge('search', ' ')).toMatchObject({ code: 2, err: expect.stringContaining('empty') })
  expect(await knowledge('reindex')).toMatchObject({ code: 0 })
})
