import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { ToolWorkspace } from '../../../test/escape/tool-workspace.ts'
import { callTool, createToolWorkspace, toolCallContext } from '../../../test/escape/tool-workspace.ts'
import { shortHash } from '../../kernel/hash.ts'
import { createTools } from '../tools.ts'

let fixture: ToolWorkspace
const fixtures: ToolWorkspace[] = []

beforeEach(() => {
  fixture = createToolWorkspace({ sandbox: 'none' })
  fixtures.push(fixture)
})
afterAll(() => {
  for (const used of fixtures) used[Symbol.dispose]()
})

const inWorkspace = (path: string) => join(fixture.workspace, path)

describe('Read', () => {
  test('TO1 Read returns numbered lines in pages and names the next offset', async () => {
    fixture.writeFile('a.txt', Array.from({ length: 5000 }, (_, index) => `line ${index + 1}`).join('\n'))
    const first = await fixture.call('Read', { file_path: 'a.txt' })
    expect(first.text.split('\n')[0]).toBe('     1\tline 1')
    expect(first.text).toContain('[lines 1 to 2000 of 5000; continue with offset 2001]')
    const lastLines = await fixture.call('Read', { file_path: 'a.txt', offset: 4999, limit: 10 })
    expect(lastLines.text).toBe('  4999\tline 4999\n  5000\tline 5000')
    expect((await fixture.call('Read', { file_path: 'a.txt', offset: 6000 })).text).toContain(
      '`offset` 6000 is past the end of the file, which has 5000 lines',
    )
  })

  test('TO2 Read truncates long lines and results, and reports an empty file', async () => {
    fixture.writeFile('long.txt', `${'x'.repeat(10_000)}\nshort\n`)
    const { text } = await fixture.call('Read', { file_path: 'long.txt' })
    expect(text).toContain('truncated to 2000 characters: line 1')
    expect(text).toContain('     2\tshort')
    fixture.writeFile('wide.txt', Array.from({ length: 1000 }, () => 'y'.repeat(1000)).join('\n'))
    const wide = await fixture.call('Read', { file_path: 'wide.txt' })
    expect(wide.text.length).toBeLessThan(110_000)
    expect(wide.text).toMatch(/lines 1 to \d+ of 1000; continue with offset \d+/)
    fixture.writeFile('empty.txt', '')
    expect((await fixture.call('Read', { file_path: 'empty.txt' })).text).toBe('[the file is empty]')
  })

  test('TO3 Read describes images and binary files instead of returning their bytes', async () => {
    const png = Buffer.concat([
      Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
      Buffer.alloc(8),
      Buffer.alloc(20),
    ])
    png.writeUInt32BE(640, 16)
    png.writeUInt32BE(480, 20)
    fixture.writeFile('shot.png', png)
    expect((await fixture.call('Read', { file_path: 'shot.png' })).text).toContain('image/png, 640 × 480 pixels')
    fixture.writeFile('data.bin', Buffer.from([1, 2, 0, 3]))
    expect((await fixture.call('Read', { file_path: 'data.bin' })).text).toContain('binary file: ')
  })

  test('TO4 Read marks invalid UTF-8 and decodes UTF-16', async () => {
    fixture.writeFile('latin.txt', Buffer.from([0x66, 0xfc, 0x72]))
    expect((await fixture.call('Read', { file_path: 'latin.txt' })).text).toContain('invalid bytes are shown as \ufffd')
    fixture.writeFile('wide.txt', Buffer.from('\ufeffgrün', 'utf16le'))
    expect((await fixture.call('Read', { file_path: 'wide.txt' })).text).toBe('     1\tgrün')
  })

  test('TO5 Read stops at the last requested line of a huge file, and Write rejects it', async () => {
    const path = inWorkspace('huge.txt')
    writeFileSync(path, 'a line of text\n'.repeat(40_000))
    execFileSync('truncate', ['-s', '3G', path])
    const before = bytesRead()
    const { text } = await fixture.call('Read', { file_path: 'huge.txt', offset: 100, limit: 2 })
    expect(text).toContain('   100\ta line of text')
    expect(text).toContain('lines 100 to 101 of a longer file; continue with offset 102')
    expect(bytesRead() - before).toBeLessThan(100e6)
    expect((await fixture.call('Write', { file_path: 'huge.txt', content: '' })).text).toContain(
      'the maximum is 16777216',
    )
  })

  test('TO6 a folder, a named pipe, a missing file, a symlink loop and a long name are errors, not hangs', async () => {
    mkdirSync(inWorkspace('folder'))
    execFileSync('mkfifo', [inWorkspace('pipe')])
    symlinkSync('b', inWorkspace('a'))
    symlinkSync('a', inWorkspace('b'))
    expect((await fixture.call('Read', { file_path: 'folder' })).text).toContain('is a folder')
    expect((await fixture.call('Read', { file_path: 'pipe' })).text).toContain('not a regular file')
    expect((await fixture.call('Read', { file_path: 'no/such' })).text).toContain("'no/such' does not exist")
    expect((await fixture.call('Read', { file_path: 'a' })).text).toContain('symlink loop')
    expect((await fixture.call('Read', { file_path: 'x'.repeat(300) })).text).toContain('too long')
  })
})

describe('Write and Edit', () => {
  test('TO7 Write creates folders, returns the changed files, and replaces only files that were read', async () => {
    const created = await fixture.call('Write', { file_path: 'deep/er/a.txt', content: 'one' })
    expect(created).toMatchObject({ success: true, files: ['deep/er/a.txt'], created: ['deep/er/a.txt'] })
    expect(readFileSync(inWorkspace('deep/er/a.txt'), 'utf8')).toBe('one')
    const replaced = await fixture.call('Write', { file_path: 'deep/er/a.txt', content: 'two' })
    expect([replaced.files, replaced.created]).toEqual([['deep/er/a.txt'], undefined])
    fixture.writeFile('there.txt', 'theirs')
    const unread = await fixture.call('Write', { file_path: 'there.txt', content: 'mine' })
    expect(unread.text).toContain('you have not read it')
    expect(readFileSync(inWorkspace('there.txt'), 'utf8')).toBe('theirs')
  })

  test('TO8 Edit replaces a unique old_string, all occurrences with replace_all, and fails otherwise', async () => {
    fixture.writeFile('a.ts', 'const a = 1\nconst b = 1\n')
    await fixture.call('Read', { file_path: 'a.ts' })
    const twice = await fixture.call('Edit', { file_path: 'a.ts', old_string: '= 1', new_string: '= 2' })
    expect(twice.text).toContain('`old_string` occurs 2 times')
    expect(twice.text).toContain('lines 1, 2')
    const none = await fixture.call('Edit', { file_path: 'a.ts', old_string: '= 3', new_string: '= 2' })
    expect(none.text).toContain('`old_string` was not found')
    expect((await fixture.call('Edit', { file_path: 'a.ts', old_string: 'a = 1', new_string: 'a = $&' })).success).toBe(
      true,
    )
    const all = { file_path: 'a.ts', old_string: 'const', new_string: 'let', replace_all: true }
    expect((await fixture.call('Edit', all)).text).toContain('replaced 2 times')
    expect(readFileSync(inWorkspace('a.ts'), 'utf8')).toBe('let a = $&\nlet b = 1\n')
  })

  test('TO9 Edit fails when the file changed since it was read, and works after reading it again', async () => {
    fixture.writeFile('a.txt', 'one two')
    await fixture.call('Read', { file_path: 'a.txt' })
    fixture.writeFile('a.txt', 'one two three')
    const edit = { file_path: 'a.txt', old_string: 'one', new_string: '1' }
    expect((await fixture.call('Edit', edit)).text).toContain('changed since you read it')
    await fixture.call('Read', { file_path: 'a.txt' })
    expect((await fixture.call('Edit', edit)).success).toBe(true)
    const other = await fixture.call('Edit', { ...edit, old_string: '1' }, { session_id: 'session_2' })
    expect(other.text).toContain('you have not read it')
  })

  test('TO10 seen hashes survive a restart; without .troupe/seen a file must be read again', async () => {
    fixture.writeFile('a.txt', 'one')
    await fixture.call('Read', { file_path: 'a.txt' })
    const restarted = createTools({ workspace: fixture.workspace, sandbox: 'none' })
    const edit = { file_path: 'a.txt', old_string: 'one', new_string: 'two' }
    expect((await callTool(restarted, 'Edit', edit)).success).toBe(true)
    execFileSync('rm', ['-r', inWorkspace('.troupe/seen')])
    const withoutSeen = createTools({ workspace: fixture.workspace, sandbox: 'none' })
    const again = await callTool(withoutSeen, 'Edit', { ...edit, old_string: 'two', new_string: 'three' })
    expect(again.text).toContain('read it first')
  })

  test('TO11 concurrent edits of one file are all applied', async () => {
    fixture.writeFile('a.txt', 'one two three four')
    await fixture.call('Read', { file_path: 'a.txt' })
    const words = ['one', 'two', 'three', 'four']
    const edits = words.map((old_string) =>
      fixture.call('Edit', { file_path: 'a.txt', old_string, new_string: old_string.toUpperCase() }),
    )
    expect((await Promise.all(edits)).every(({ success }) => success)).toBe(true)
    expect(readFileSync(inWorkspace('a.txt'), 'utf8')).toBe('ONE TWO THREE FOUR')
  })

  test('temporary file names do not collide for equal contents or with leftovers of a crash', async () => {
    const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt']
    const writes = names.map((file_path) => fixture.call('Write', { file_path, content: 'same\n' }))
    expect((await Promise.all(writes)).map(({ text }) => text)).toEqual(names.map((name) => `Wrote ${name}: 5 bytes.`))
    fixture.writeFile('.0123456789ab-0123456789abcdef.troupe-new', 'aft')
    expect(await fixture.call('Write', { file_path: 'e.txt', content: 'after a crash' })).toMatchObject({
      success: true,
    })
  })

  test('TO12 recovery after a crash reports a change as made, as not made, or as unknown', async () => {
    const tool = fixture.toolbox.tools.find(({ name }) => name === 'Write')
    const input = { file_path: 'a.txt', content: 'new' } as never
    const call = toolCallContext()
    expect(await tool?.recover?.(input, call)).toBeUndefined()
    await tool?.execute(input, call)
    expect(await tool?.recover?.(input, call)).toMatchObject({
      success: true,
      files: ['a.txt'],
      created: ['a.txt'],
    })
    fixture.writeFile('a.txt', 'other content')
    await expect((async () => tool?.recover?.(input, call))()).rejects.toThrow(
      'neither the content before the change nor the content after it',
    )
  })

  test('TO12 recovery removes the temporary file of the call that was killed, and no other', async () => {
    const tool = fixture.toolbox.tools.find(({ name }) => name === 'Write')
    const input = { file_path: 'folder/a.txt', content: 'new' } as never
    const call = toolCallContext()
    await tool?.execute(input, call)
    rmSync(inWorkspace('folder/a.txt'))
    const key = shortHash(call.idempotency_key)
    fixture.writeFile(`folder/.${key}-0123456789abcdef.troupe-new`, 'ne')
    fixture.writeFile('folder/.0123456789ab-0123456789abcdef.troupe-new', 'of another call')
    expect(await tool?.recover?.(input, call)).toBeUndefined()
    expect(readdirSync(inWorkspace('folder'))).toEqual(['.0123456789ab-0123456789abcdef.troupe-new'])
  })

  test('TO13 Edit keeps line endings, file mode and other bytes, and rejects a file that is not UTF-8', async () => {
    fixture.writeFile('crlf.txt', 'a\r\nb\r\nc\r\n')
    chmodSync(inWorkspace('crlf.txt'), 0o755)
    await fixture.call('Read', { file_path: 'crlf.txt' })
    expect(
      (await fixture.call('Edit', { file_path: 'crlf.txt', old_string: 'a\nb', new_string: 'x\ny' })).success,
    ).toBe(true)
    expect(readFileSync(inWorkspace('crlf.txt'), 'utf8')).toBe('x\r\ny\r\nc\r\n')
    expect(statSync(inWorkspace('crlf.txt')).mode & 0o777).toBe(0o755)
    fixture.writeFile('latin.txt', Buffer.from([0x66, 0xfc, 0x72]))
    await fixture.call('Read', { file_path: 'latin.txt' })
    const edit = await fixture.call('Edit', { file_path: 'latin.txt', old_string: 'f', new_string: 'g' })
    expect(edit.text).toContain('not UTF-8')
  })

  test('TO14 Edit does not change the content of another hard link', async () => {
    writeFileSync(join(fixture.outside, 'kept.txt'), 'outside')
    linkSync(join(fixture.outside, 'kept.txt'), inWorkspace('linked.txt'))
    await fixture.call('Read', { file_path: 'linked.txt' })
    const edit = await fixture.call('Edit', { file_path: 'linked.txt', old_string: 'outside', new_string: 'inside' })
    expect(edit.text).toContain('1 more hard link')
    expect(readFileSync(join(fixture.outside, 'kept.txt'), 'utf8')).toBe('outside')
  })

  test('TO15 symlinks inside the workspace are followed, and files and subjects use the resolved path', async () => {
    mkdirSync(inWorkspace('real'))
    symlinkSync('real', inWorkspace('alias'))
    const created = await fixture.call('Write', { file_path: 'alias/a.txt', content: 'x' })
    expect(created.files).toEqual(['real/a.txt'])
    const tool = fixture.toolbox.tools.find(({ name }) => name === 'Write')
    expect(tool?.subject?.({ file_path: 'alias/new/b.txt' } as never)).toBe('real/new/b.txt')
    expect(tool?.subject?.({ file_path: `${fixture.workspace}/real/../real/b.txt` } as never)).toBe('real/b.txt')
    expect(existsSync(inWorkspace('real/new'))).toBe(false)
  })

  test('TO14 a failed change leaves no temporary file', async () => {
    mkdirSync(inWorkspace('folder'))
    expect((await fixture.call('Write', { file_path: 'folder', content: 'x' })).text).toContain('is a folder')
    fixture.writeFile('file', 'x')
    expect((await fixture.call('Write', { file_path: 'file/below', content: 'x' })).text).toContain('is a file')
    expect(execFileSync('find', [fixture.workspace, '-name', '*.troupe-new'], { encoding: 'utf8' })).toBe('')
  })
})

/** Of this process, since its start; 0 where the system does not say. */
function bytesRead(): number {
  return existsSync('/proc/self/io') ? Number(/^rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]) : 0
}
