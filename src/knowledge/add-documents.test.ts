import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { redactField } from '../judgement/redaction/redaction.ts'
import { openSqlite } from '../store/sqlite.ts'
import type { Store } from '../store/store.ts'
import { wordEmbedder } from '../testing/word-embedder.ts'
import type { FileData } from './add-documents.ts'
import { addFiles } from './add-documents.ts'
import { splitDocument } from './document-chunks.ts'
import { knowledgeByProject } from './embedded-knowledge.ts'

const execute = promisify(execFile)

let root: string
let store: Store
let revision = 0

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'troupe-documents-'))
  mkdirSync(join(root, 'docs'))
  store = await openSqlite(join(root, 'store.db'))
})
afterEach(async () => {
  await store.close()
  rmSync(root, { recursive: true, force: true })
})

const knowledge = () =>
  knowledgeByProject({ store, embedder: wordEmbedder(), newRevision: () => `r${++revision}` })('p')
const redactor = { redact: (text: string, field: string) => redactField(text, field, []) }
const add = (...paths: string[]) =>
  addFiles(
    { knowledge: knowledge(), redactor, now: () => 0 },
    paths.map((path) => join(root, path)),
    { root },
  )
const write = (path: string, content: string | Uint8Array) => writeFileSync(join(root, path), content)

describe('parts of a document', () => {
  test('KN20 a text is split at headings outside of code blocks, and each part knows its place', () => {
    const filler = 'word '.repeat(60).trim()
    const text = `# Guide\n${filler}\n## Install\n${filler}\n\`\`\`sh\n# not a heading\n\`\`\`\n## Use\n${filler}\n# Other\n${filler}`
    const parts = splitDocument(text)
    expect(parts.map(({ headings, line }) => [headings.join('/'), line])).toEqual([
      ['Guide', 1],
      ['Guide/Install', 3],
      ['Guide/Use', 8],
      ['Other', 10],
    ])
    expect(parts[1]?.text).toContain('# not a heading')
  })

  test('KN20 long sections are split at paragraphs, and long lines anywhere; no text is lost', () => {
    const paragraph = 'A sentence about something. '.repeat(20).trim()
    const text = [paragraph, '', paragraph, '', paragraph, '', '😀'.repeat(3000)].join('\n')
    const parts = splitDocument(text)
    expect(parts.length).toBeGreaterThan(4)
    expect(Math.max(...parts.map((part) => part.text.length))).toBeLessThanOrEqual(2000)
    const letters = (value: string) => value.replace(/\s/g, '')
    expect(letters(parts.map((part) => part.text).join(''))).toBe(letters(text))
  })
})

describe('files', () => {
  test('KN20 a match in a file names its path, headings and line', async () => {
    write('docs/auth.md', '# Auth\n\nTokens are signed with RS256.\n')
    expect(await add('docs')).toMatchObject({ added: [{ path: 'docs/auth.md', parts: 1 }], method: 'embedding' })
    const [match] = await knowledge().search({ text: 'tokens signed', kind: 'document', now: 0 })
    const { hash: _hash, ...data } = (match?.document.data ?? {}) as FileData
    expect(data).toEqual({ path: 'docs/auth.md', headings: ['Auth'], line: 1 })
  })

  test('KN21 a changed file is replaced, an unchanged one skipped, one that is gone removed', async () => {
    write('docs/a.md', `# One\n${'old words '.repeat(40)}\n# Two\n${'more words '.repeat(40)}`)
    write('docs/b.txt', 'stays')
    write('docs/c.md', 'goes')
    expect((await add('docs')).added.map(({ parts }) => parts)).toEqual([2, 1, 1])
    write('docs/a.md', '# One\nnew words')
    rmSync(join(root, 'docs/c.md'))
    const report = await add('docs')
    expect(report).toMatchObject({ added: [{ path: 'docs/a.md' }], unchanged: ['docs/b.txt'], removed: ['docs/c.md'] })
    const listed = await knowledge().list('document')
    expect(listed.map(({ id }) => id)).toEqual(['docs/a.md#1', 'docs/b.txt#1'])
  })

  test('KN22 what lies outside the project is refused, and a link to it in a folder is skipped', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'troupe-outside-'))
    writeFileSync(join(outside, 'x.md'), 'private')
    symlinkSync(join(outside, 'x.md'), join(root, 'docs/link.md'))
    symlinkSync(join(root, 'docs'), join(root, 'docs/cycle'))
    await expect(add('docs/link.md')).rejects.toMatchObject({
      code: 'invalid_input',
      message: /is not inside the project/,
    })
    await expect(add('../missing.md')).rejects.toMatchObject({ code: 'invalid_input' })
    const report = await add('docs')
    expect(report.skipped).toEqual([{ path: 'docs/link.md', reason: expect.stringContaining('link') }])
    expect(report.added).toEqual([])
    rmSync(outside, { recursive: true })
  })

  test('KN23 a binary file, one in another encoding and a huge one are refused, in a folder skipped', async () => {
    write('docs/image.md', Uint8Array.from([0x89, 0x50, 0, 1]))
    write('docs/latin1.txt', Uint8Array.from([0x66, 0xfc, 0x72]))
    write('docs/huge.txt', 'x'.repeat(5_000_001))
    await expect(add('docs/image.md')).rejects.toMatchObject({ code: 'invalid_input', message: /not a text file/ })
    await expect(add('docs/huge.txt')).rejects.toMatchObject({ code: 'invalid_input', message: /5000001 bytes/ })
    expect((await add('docs')).skipped.map(({ path }) => path)).toEqual([
      'docs/huge.txt',
      'docs/image.md',
      'docs/latin1.txt',
    ])
  })

  test('KN24 secrets are replaced before a file is stored', async () => {
    write('docs/env.md', 'Set `aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY` first.')
    expect((await add('docs/env.md')).redacted).toEqual(['docs/env.md'])
    expect(JSON.stringify(await knowledge().list('document'))).not.toContain('wJalrXUtnFEMI')
  })
})

describe('processes', () => {
  const script = (folder: string) => `
    const load = (path) => import(new URL(path, ${JSON.stringify(new URL('.', import.meta.url).href)}).href)
    const [{ openSqlite }, { knowledgeByProject }, { addFiles }, { wordEmbedder }] = await Promise.all(
      ['../store/sqlite.ts', './embedded-knowledge.ts', './add-documents.ts', '../testing/word-embedder.ts'].map(load))
    const store = await openSqlite(${JSON.stringify(join(root, 'store.db'))})
    const knowledge = knowledgeByProject({ store, embedder: wordEmbedder(), newRevision: () => String(Math.random()) })('p')
    const onProgress = ({ done }) => console.log(done)
    await addFiles({ knowledge, redactor: undefined, now: Date.now }, [${JSON.stringify(folder)}], { root: ${JSON.stringify(root)}, onProgress })
    await store.close()`
  const node = (folder: string) => ['--no-warnings', '--input-type=module', '-e', script(folder)]
  const writeMany = (folder: string, count: number, text: (index: number) => string) => {
    mkdirSync(join(root, folder), { recursive: true })
    for (let index = 0; index < count; index++) write(`${folder}/${index}.md`, text(index))
  }
  const sections = (word: string) => [1, 2, 3].map((number) => `# Part ${number}\n${`${word} `.repeat(80)}`).join('\n')

  test('KN9 two processes that add at once lose nothing', async () => {
    for (const folder of ['left', 'right']) writeMany(folder, 20, (index) => `${folder} note ${index}`)
    const run = (folder: string) => execute(process.execPath, node(join(root, folder)))
    await Promise.all([run('left'), run('right')])
    expect(await knowledge().list('document')).toHaveLength(40)
  })

  test('KN10 after kill -9 while adding, every file is whole, and adding again completes the rest', async () => {
    writeMany('docs', 60, () => sections('old'))
    await add('docs')
    writeMany('docs', 60, () => sections('new'))
    const child = spawn(process.execPath, node(join(root, 'docs')), { stdio: ['ignore', 'pipe', 'inherit'] })
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (output: Buffer) => {
        if (
          output
            .toString()
            .split('\n')
            .some((done) => Number(done) >= 10)
        )
          child.kill('SIGKILL')
      })
      child.on('exit', () => resolve())
    })
    expect(child.signalCode).toBe('SIGKILL')
    const wordsByPath = new Map<string, Set<string>>()
    for (const { text, tags } of await knowledge().list('document')) {
      const words = wordsByPath.get(tags?.path ?? '') ?? new Set()
      wordsByPath.set(tags?.path ?? '', words.add(text.includes('new') ? 'new' : 'old'))
    }
    expect(wordsByPath.size).toBe(60)
    expect([...wordsByPath.values()].filter((words) => words.size !== 1)).toEqual([])
    const { added, unchanged } = await add('docs')
    expect(added.length + unchanged.length).toBe(60)
    expect(unchanged.length).toBeGreaterThanOrEqual(9)
    expect((await knowledge().list('document')).filter(({ text }) => text.includes('old'))).toEqual([])
  })
})
