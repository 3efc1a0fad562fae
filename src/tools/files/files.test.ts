import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { callTool, createToolWorkspace, toolCallContext } from '../../../test/escape/tool-workspace.ts'
import { sha256 } from '../../kernel/hash.ts'
import { createTools } from '../tools.ts'

let bench: ToolWorkspace
const benches: ToolWorkspace[] = []

beforeEach(() => {
  bench = createToolWorkspace({ sandbox: 'none' })
  benches.push(bench)
})
afterAll(() => {
  for (const each of benches) each[Symbol.dispose]()
})

const inWorkspace = (path: string) => join(bench.workspace, path)

describe('Read', () => {
  test('TO1 Read shows numbered lines, a page at a time, and says how to go on', async () => {
    bench.writeFile('a.txt', Array.from({ length: 5000 }, (_, at) => `line ${at + 1}`).join('\n'))
    const first = await bench.call('Read', { file_path: 'a.txt' })
    expect(first.text.split('\n')[0]).toBe('     1\tline 1')
    expect(first.text).toContain('[lines 1 to 2000 of 5000; go on with offset 2001]')
    const part = await bench.call('Read', { file_path: 'a.txt', offset: 4999, limit: 10 })
    expect(part.text).toBe('  4999\tline 4999\n  5000\tline 5000')
    expect((await bench.call('Read', { file_path: 'a.txt', offset: 6000 })).text).toContain('has 5000 lines')
  })

  test('TO2 Read cuts long lines, bounds its answer, and shows an empty file as such', async () => {
    bench.writeFile('long.txt', `${'x'.repeat(10_000)}\nshort\n`)
    const { text } = await bench.call('Read', { file_path: 'long.txt' })
    expect(text).toContain('cut after 2000 characters: line 1')
    expect(text).toContain('     2\tshort')
    bench.writeFile('wide.txt', Array.from({ length: 1000 }, () => 'y'.repeat(1000)).join('\n'))
    const wide = await bench.call('Read', { file_path: 'wide.txt' })
    expect(wide.text.length).toBeLessThan(110_000)
    expect(wide.text).toMatch(/lines 1 to \d+ of 1000; go on with offset \d+/)
    bench.writeFile('empty.txt', '')
    expect((await bench.call('Read', { file_path: 'empty.txt' })).text).toBe('[the file is empty]')
  })

  test('TO3 Read reports images and binary files instead of showing their bytes', async () => {
    const png = Buffer.concat([
      Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
      Buffer.alloc(8),
      Buffer.alloc(20),
    ])
    png.writeUInt32BE(640, 16)
    png.writeUInt32BE(480, 20)
    bench.writeFile('shot.png', png)
    expect((await bench.call('Read', { file_path: 'shot.png' })).text).toContain('image/png, 640 × 480 pixels')
    bench.writeFile('data.bin', Buffer.from([1, 2, 0, 3]))
    expect((await bench.call('Read', { file_path: 'data.bin' })).text).toContain('a binary file')
  })

  test('TO4 Read shows invalid UTF-8 as such, and UTF-16 as text', async () => {
    bench.writeFile('latin.txt', Buffer.from([0x66, 0xfc, 0x72]))
    expect((await bench.call('Read', { file_path: 'latin.txt' })).text).toContain('not valid text')
    bench.writeFile('wide.txt', Buffer.from('\ufeffgrün', 'utf16le'))
    expect((await bench.call('Read', { file_path: 'wide.txt' })).text).toBe('     1\tgrün')
  })

  test('TO5 Read of a huge file reads only as far as it must', async () => {
    const path = inWorkspace('huge.txt')
    writeFileSync(path, 'a line of text\n'.repeat(40_000))
    execFileSync('truncate', ['-s', '3G', path])
    const from = performance.now()
    const { text } = await bench.call('Read', { file_path: 'huge.txt', offset: 100, limit: 2 })
    expect(text).toContain('   100\ta line of text')
    expect(text).toContain('lines 100 to 101 of a longer file; go on with offset 102')
    expect(performance.now() - from).toBeLessThan(5000)
    expect((await bench.call('Write', { file_path: 'huge.txt', content: '' })).text).toContain('too many to change')
  })

  test('TO6 a folder, a pipe, a missing file and a circle of links are errors, not hangs', async () => {
    mkdirSync(inWorkspace('folder'))
    execFileSync('mkfifo', [inWorkspace('pipe')])
    symlinkSync('b', inWorkspace('a'))
    symlinkSync('a', inWorkspace('b'))
    expect((await bench.call('Read', { file_path: 'folder' })).text).toContain('is a folder')
    expect((await bench.call('Read', { file_path: 'pipe' })).text).toContain('not a regular file')
    expect((await bench.call('Read', { file_path: 'no/such' })).text).toContain("no 'no/such'")
    expect((await bench.call('Read', { file_path: 'a' })).text).toContain('lead to each other')
    expect((await bench.call('Read', { file_path: 'x'.repeat(300) })).text).toContain('too long')
  })
})

describe('Write and Edit', () => {
  test('TO7 Write makes folders, says which file it touched, and replaces only what was read', async () => {
    const made = await bench.call('Write', { file_path: 'deep/er/a.txt', content: 'one' })
    expect(made).toMatchObject({ success: true, files: ['deep/er/a.txt'] })
    expect(readFileSync(inWorkspace('deep/er/a.txt'), 'utf8')).toBe('one')
    expect((await bench.call('Write', { file_path: 'deep/er/a.txt', content: 'two' })).success).toBe(true)
    bench.writeFile('there.txt', 'theirs')
    const blind = await bench.call('Write', { file_path: 'there.txt', content: 'mine' })
    expect(blind.text).toContain('you have not read it')
    expect(readFileSync(inWorkspace('there.txt'), 'utf8')).toBe('theirs')
  })

  test('TO8 Edit replaces text that stands there once, all of it when asked, and nothing otherwise', async () => {
    bench.writeFile('a.ts', 'const a = 1\nconst b = 1\n')
    await bench.call('Read', { file_path: 'a.ts' })
    const twice = await bench.call('Edit', { file_path: 'a.ts', old_string: '= 1', new_string: '= 2' })
    expect(twice.text).toContain('stands 2 times')
    expect(twice.text).toContain('lines 1, 2')
    const none = await bench.call('Edit', { file_path: 'a.ts', old_string: '= 3', new_string: '= 2' })
    expect(none.text).toContain('does not stand')
    expect((await bench.call('Edit', { file_path: 'a.ts', old_string: 'a = 1', new_string: 'a = $&' })).success).toBe(
      true,
    )
    const all = { file_path: 'a.ts', old_string: 'const', new_string: 'let', replace_all: true }
    expect((await bench.call('Edit', all)).text).toContain('replaced 2 times')
    expect(readFileSync(inWorkspace('a.ts'), 'utf8')).toBe('let a = $&\nlet b = 1\n')
  })

  test('TO9 an edit fails when the file changed since it was read, and works after reading again', async () => {
    bench.writeFile('a.txt', 'one two')
    await bench.call('Read', { file_path: 'a.txt' })
    bench.writeFile('a.txt', 'one two three')
    const edit = { file_path: 'a.txt', old_string: 'one', new_string: '1' }
    expect((await bench.call('Edit', edit)).text).toContain('changed since you read it')
    await bench.call('Read', { file_path: 'a.txt' })
    expect((await bench.call('Edit', edit)).success).toBe(true)
    const other = await bench.call('Edit', { ...edit, old_string: '1' }, { session_id: 'session_2' })
    expect(other.text).toContain('you have not read it')
  })

  test('TO10 what was read is remembered across a restart; where the memory is gone, reading again is asked for', async () => {
    bench.writeFile('a.txt', 'one')
    await bench.call('Read', { file_path: 'a.txt' })
    const restarted = createTools({ workspace: bench.workspace, sandbox: 'none' })
    const edit = { file_path: 'a.txt', old_string: 'one', new_string: 'two' }
    expect((await callTool(restarted, 'Edit', edit)).success).toBe(true)
    execFileSync('rm', ['-r', inWorkspace('.troupe/seen')])
    const forgetful = createTools({ workspace: bench.workspace, sandbox: 'none' })
    const again = await callTool(forgetful, 'Edit', { ...edit, old_string: 'two', new_string: 'three' })
    expect(again.text).toContain('read it first')
  })

  test('TO11 two edits of one file at the same time both happen', async () => {
    bench.writeFile('a.txt', 'one two three four')
    await bench.call('Read', { file_path: 'a.txt' })
    const words = ['one', 'two', 'three', 'four']
    const edits = words.map((old_string) =>
      bench.call('Edit', { file_path: 'a.txt', old_string, new_string: old_string.toUpperCase() }),
    )
    expect((await Promise.all(edits)).every(({ success }) => success)).toBe(true)
    expect(readFileSync(inWorkspace('a.txt'), 'utf8')).toBe('ONE TWO THREE FOUR')
  })

  test('TO78 files of the same content are written at once, whatever a crash left', async () => {
    const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt']
    const written = names.map((file_path) => bench.call('Write', { file_path, content: 'same\n' }))
    expect((await Promise.all(written)).map(({ text }) => text)).toEqual(names.map((name) => `Wrote ${name}: 5 bytes.`))
    const left = sha256(Buffer.from('after a crash')).slice(0, 16)
    bench.writeFile(`.${left}.troupe-new`, 'aft')
    expect(await bench.call('Write', { file_path: 'e.txt', content: 'after a crash' })).toMatchObject({ success: true })
  })

  test('TO12 an interrupted change is recognised as made or as not made, and otherwise nobody claims to know', async () => {
    const tool = bench.toolbox.tools.find(({ name }) => name === 'Write')
    const input = { file_path: 'a.txt', content: 'new' } as never
    const call = toolCallContext()
    expect(await tool?.recover?.(input, call)).toBeUndefined()
    await tool?.execute(input, call)
    expect(await tool?.recover?.(input, call)).toMatchObject({ success: true, files: ['a.txt'] })
    bench.writeFile('a.txt', 'someone else')
    await expect((async () => tool?.recover?.(input, call))()).rejects.toThrow('neither as it was')
  })

  test('TO13 Edit keeps line ends, modes and bytes that are not its business, and refuses what is not UTF-8', async () => {
    bench.writeFile('crlf.txt', 'a\r\nb\r\nc\r\n')
    chmodSync(inWorkspace('crlf.txt'), 0o755)
    await bench.call('Read', { file_path: 'crlf.txt' })
    expect((await bench.call('Edit', { file_path: 'crlf.txt', old_string: 'a\nb', new_string: 'x\ny' })).success).toBe(
      true,
    )
    expect(readFileSync(inWorkspace('crlf.txt'), 'utf8')).toBe('x\r\ny\r\nc\r\n')
    expect(statSync(inWorkspace('crlf.txt')).mode & 0o777).toBe(0o755)
    bench.writeFile('latin.txt', Buffer.from([0x66, 0xfc, 0x72]))
    await bench.call('Read', { file_path: 'latin.txt' })
    const edit = await bench.call('Edit', { file_path: 'latin.txt', old_string: 'f', new_string: 'g' })
    expect(edit.text).toContain('not UTF-8')
  })

  test('TO14 a change never reaches another name of the same file', async () => {
    writeFileSync(join(bench.outside, 'kept.txt'), 'outside')
    linkSync(join(bench.outside, 'kept.txt'), inWorkspace('linked.txt'))
    await bench.call('Read', { file_path: 'linked.txt' })
    const edit = await bench.call('Edit', { file_path: 'linked.txt', old_string: 'outside', new_string: 'inside' })
    expect(edit.text).toContain('1 more name')
    expect(readFileSync(join(bench.outside, 'kept.txt'), 'utf8')).toBe('outside')
  })

  test('TO15 links that stay inside are followed; the file is named by where it really is', async () => {
    mkdirSync(inWorkspace('real'))
    symlinkSync('real', inWorkspace('alias'))
    const made = await bench.call('Write', { file_path: 'alias/a.txt', content: 'x' })
    expect(made.files).toEqual(['real/a.txt'])
    const tool = bench.toolbox.tools.find(({ name }) => name === 'Write')
    expect(tool?.subject?.({ file_path: 'alias/new/b.txt' } as never)).toBe('real/new/b.txt')
    expect(tool?.subject?.({ file_path: `${bench.workspace}/real/../real/b.txt` } as never)).toBe('real/b.txt')
    expect(existsSync(inWorkspace('real/new'))).toBe(false)
  })

  test('TO16 nothing half written is left when a change fails', async () => {
    mkdirSync(inWorkspace('folder'))
    expect((await bench.call('Write', { file_path: 'folder', content: 'x' })).text).toContain('is a folder')
    bench.writeFile('file', 'x')
    expect((await bench.call('Write', { file_path: 'file/below', content: 'x' })).text).toContain('is a file')
    expect(execFileSync('find', [bench.workspace, '-name', '*.troupe-new'], { encoding: 'utf8' })).toBe('')
  })
})
