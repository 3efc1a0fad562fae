import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { chunkModel, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { cassetteFixture, echo } from '../../test/support/recorded-run.ts'
import { agents, createTestTroupe, modelFromRules } from '../../test/support/test-troupe.ts'

const fixture = cassetteFixture()

describe('CA6 invalid cassettes', () => {
  const entry = { key: 'k', hash: 'h', n: 1, model: 'm', ids: [], chunks: [] }
  const request = { model: 'm', system: '', messages: [], tools: [], settings: {} }
  test.each([
    ['a newer version', '{"troupe_cassette":2}\n', /newer cassette version \(2\); this version of troupe reads 1/],
    ['a text file', '# notes\n', /:1: not a header/],
    ['other JSON', '{"rules":[]}\n', /:1: not a header/],
    ['an empty file', '', /:1: the cassette is empty/],
    ['a line that is not JSON', '{"troupe_cassette":1}\n{"key":\n{}\n', /:2: not JSON/],
    ['a line with a missing field', `{"troupe_cassette":1}\n${JSON.stringify(entry)}\n`, /:2: request/],
    [
      'an unknown chunk type',
      `{"troupe_cassette":1}\n${JSON.stringify({ ...entry, request, chunks: [{ type: 'video' }] })}\n`,
      /:2: chunks\.0/,
    ],
  ])('CA6 %s is rejected with file and line', async (_kind, text, message) => {
    writeFileSync(fixture.file, text)
    const opening = createTestTroupe({ agents, cassette: { replay: fixture.file } })
    await expect(opening).rejects.toMatchObject({ code: 'invalid_cassette', message: expect.stringMatching(message) })
    await expect(opening).rejects.toMatchObject({ message: expect.stringContaining(fixture.file) })
  })

  test('CA6 a missing file is rejected by name', async () => {
    const opening = createTestTroupe({ agents, cassette: { replay: join(fixture.folder, 'none.jsonl') } })
    await expect(opening).rejects.toMatchObject({
      code: 'invalid_cassette',
      message: expect.stringContaining('none.jsonl'),
    })
  })
})

test('CA7 an incomplete last line loses only its request, with a warning and a note in the miss', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const { task } = await createTestTroupe({
    agents,
    model: modelFromRules({ reply: { text: 'fine' } }),
    cassette: { record: fixture.file },
  })
  await task('lead', 'one')
  await task('lead', 'two')
  const text = readFileSync(fixture.file, 'utf8')
  writeFileSync(fixture.file, text.slice(0, -25))
  const second = await createTestTroupe({ agents, cassette: { replay: fixture.file } })
  expect(warn).toHaveBeenCalledWith(expect.stringContaining(':4: the last line is incomplete'))
  expect((await second.task('lead', 'one')).status).toBe('completed')
  expect((await second.task('lead', 'two')).error?.message).toContain('line 4 of the cassette is incomplete')
})

describe('CA8 recording', () => {
  test('CA8 each request is written when it ends, before the next one starts', async () => {
    const entryCounts: number[] = []
    const model = chunkModel(({ session }) => {
      entryCounts.push(existsSync(fixture.file) ? fixture.entries().length : -1)
      return session.turn < 3 ? toolCallChunks({ name: 'echo', input: { text: 'x' } }) : textChunks('done')
    })
    const { task } = await createTestTroupe({ agents, tools: [echo], model, cassette: { record: fixture.file } })
    await task('lead', 'go')
    expect(entryCounts).toEqual([0, 1, 2])
  })

  test('CA8 recording appends to an existing cassette, continues its numbering and drops an incomplete last line', async () => {
    const options = { agents, model: modelFromRules({ reply: { text: 'fine' } }), cassette: { record: fixture.file } }
    const first = await createTestTroupe(options)
    await first.task('lead', 'go')
    writeFileSync(fixture.file, `${readFileSync(fixture.file, 'utf8')}{"key":"sess`)
    const second = await createTestTroupe(options)
    await second.task('lead', 'go')
    expect(fixture.entries().map(({ n }) => n)).toEqual([1, 2])
    expect(fixture.lines().filter((line) => 'troupe_cassette' in line)).toHaveLength(1)
    expect(fixture.lines().filter((line) => 'resolved' in line)).toHaveLength(1)
  })

  test('CA8 a file that is not a cassette is not overwritten', async () => {
    writeFileSync(fixture.file, '# my notes\n')
    const recording = createTestTroupe({
      agents,
      model: modelFromRules({ reply: { text: 'x' } }),
      cassette: { record: fixture.file },
    })
    await expect(recording).rejects.toMatchObject({ code: 'invalid_cassette' })
    expect(readFileSync(fixture.file, 'utf8')).toBe('# my notes\n')
  })

  test('CA8 when recording fails, the run continues and a warning is emitted', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const model = chunkModel(() => {
      rmSync(fixture.folder, { recursive: true, force: true })
      return textChunks('fine')
    })
    const { task } = await createTestTroupe({ agents, model, cassette: { record: fixture.file } })
    expect((await task('lead', 'go')).status).toBe('completed')
    expect(warn).toHaveBeenCalledWith(expect.stringMatching(/recording to .* stopped/))
  })
})
