import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { chunkModel, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { cassetteFixture, echo } from '../../test/support/recorded-run.ts'
import { agents, createTestTroupe, modelFromRules } from '../../test/support/test-troupe.ts'

const on = cassetteFixture()

describe('CA6 files that cannot be played', () => {
  const entry = { key: 'k', hash: 'h', n: 1, model: 'm', ids: [], chunks: [] }
  const request = { model: 'm', system: '', messages: [], tools: [], settings: {} }
  test.each([
    ['a newer version', '{"troupe_cassette":2}\n', /newer version \(2\); this one reads 1/],
    ['something else', '# notes\n', /:1 is no header/],
    ['JSON that is no cassette', '{"rules":[]}\n', /:1 is no header/],
    ['nothing', '', /:1 is empty/],
    ['a garbled line', '{"troupe_cassette":1}\n{"key":\n{}\n', /:2 is not JSON/],
    ['a line that does not fit', `{"troupe_cassette":1}\n${JSON.stringify(entry)}\n`, /:2 does not fit: request/],
    [
      'a chunk nobody knows',
      `{"troupe_cassette":1}\n${JSON.stringify({ ...entry, request, chunks: [{ type: 'video' }] })}\n`,
      /:2 does not fit: chunks\.0/,
    ],
  ])('CA6 %s is refused with its place', async (_what, text, message) => {
    writeFileSync(on.file, text)
    const playing = createTestTroupe({ agents, cassette: { replay: on.file } })
    await expect(playing).rejects.toMatchObject({ code: 'invalid_cassette', message: expect.stringMatching(message) })
    await expect(playing).rejects.toMatchObject({ message: expect.stringContaining(on.file) })
  })

  test('CA6 a on.file that is not there is refused by name', async () => {
    const playing = createTestTroupe({ agents, cassette: { replay: join(on.folder, 'none.jsonl') } })
    await expect(playing).rejects.toMatchObject({
      code: 'invalid_cassette',
      message: expect.stringContaining('none.jsonl'),
    })
  })
})

test('CA7 a last line that was cut off costs only that call, and is said', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const { task } = await createTestTroupe({
    agents,
    model: modelFromRules({ reply: { text: 'fine' } }),
    cassette: { record: on.file },
  })
  await task('lead', 'one')
  await task('lead', 'two')
  const text = readFileSync(on.file, 'utf8')
  writeFileSync(on.file, text.slice(0, -25))
  const second = await createTestTroupe({ agents, cassette: { replay: on.file } })
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('was cut off in line 4'))
  expect((await second.task('lead', 'one')).status).toBe('completed')
  expect((await second.task('lead', 'two')).error?.message).toContain('the cassette was cut off in line 4')
})

describe('CA8 recording', () => {
  test('CA8 each call is in the on.file when it has ended, before the next one is made', async () => {
    const seen: number[] = []
    const model = chunkModel(({ session }) => {
      seen.push(existsSync(on.file) ? on.entries().length : -1)
      return session.turn < 3 ? toolCallChunks({ name: 'echo', input: { text: 'x' } }) : textChunks('done')
    })
    const { task } = await createTestTroupe({ agents, tools: [echo], model, cassette: { record: on.file } })
    await task('lead', 'go')
    expect(seen).toEqual([0, 1, 2])
  })

  test('CA8 goes on behind what is there, counts on, and drops a line that was cut off', async () => {
    const options = { agents, model: modelFromRules({ reply: { text: 'fine' } }), cassette: { record: on.file } }
    const first = await createTestTroupe(options)
    await first.task('lead', 'go')
    writeFileSync(on.file, `${readFileSync(on.file, 'utf8')}{"key":"sess`)
    const second = await createTestTroupe(options)
    await second.task('lead', 'go')
    expect(on.entries().map(({ n }) => n)).toEqual([1, 2])
    expect(on.lines().filter((line) => 'troupe_cassette' in line)).toHaveLength(1)
    expect(on.lines().filter((line) => 'resolved' in line)).toHaveLength(1)
  })

  test('CA8 a on.file that is something else is left alone', async () => {
    writeFileSync(on.file, '# my notes\n')
    const recording = createTestTroupe({
      agents,
      model: modelFromRules({ reply: { text: 'x' } }),
      cassette: { record: on.file },
    })
    await expect(recording).rejects.toMatchObject({ code: 'invalid_cassette' })
    expect(readFileSync(on.file, 'utf8')).toBe('# my notes\n')
  })

  test('CA8 a recording that fails costs the cassette, not the run', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const model = chunkModel(() => {
      rmSync(on.folder, { recursive: true, force: true })
      return textChunks('fine')
    })
    const { task } = await createTestTroupe({ agents, model, cassette: { record: on.file } })
    expect((await task('lead', 'go')).status).toBe('completed')
    expect(warn).toHaveBeenCalledWith(expect.stringMatching(/nothing more is recorded/))
  })
})
