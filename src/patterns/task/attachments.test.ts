import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { agent, createTestTroupe, functionModel } from '../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../entries/models.ts'
import type { Attachment } from '../../index.ts'
import { isEvent, readAttachment } from '../../index.ts'

const PNG_START = Buffer.from('89504e470d0a1a0a', 'hex')

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-attachments-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function attachment(name: string, content: Buffer | string, media_type: string): Attachment {
  return { name, media_type, data: Buffer.from(content).toString('base64') }
}

const image = attachment('screen.png', Buffer.concat([PNG_START, Buffer.alloc(300_000, 7)]), 'image/png')
const pdf = attachment('paper.pdf', `%PDF-1.7\n${'<</Type /Page>>\n'.repeat(3)}`, 'application/pdf')
const note = attachment('note.md', '# Grüße', 'text/markdown')

async function createLead(store: string) {
  const model = functionModel(() => ({ text: 'A screen.' }))
  const { troupe } = await createTestTroupe({ store, model, agents: [agent('lead')] })
  onTestFinished(() => troupe.close())
  return { troupe, model }
}

const files = (request: ModelRequest | undefined) =>
  (request?.messages ?? []).flatMap(({ content }) => content.flatMap((part) => (part.type === 'file' ? part.name : [])))

test('TK40 the first message carries the instruction and the files; text files are sent as text with their name', async () => {
  const { troupe, model } = await createLead(temporaryFolder())
  const input = { agent: 'lead', instruction: 'What is this?', attachments: [image, pdf, note] }
  expect(await troupe.run('task', input)).toMatchObject({ status: 'completed' })
  expect(model.requests[0]?.messages[0]).toMatchObject({
    role: 'user',
    content: [
      { type: 'text', text: 'What is this?' },
      { type: 'file', ...image },
      { type: 'file', ...pdf },
      { type: 'text', text: '<file name="note.md">\n# Grüße\n</file>' },
    ],
  })
})

test('TK40 a continued session, a fork and a replay have the files, in another process too', async () => {
  const store = temporaryFolder()
  const first = await createLead(store)
  const input = { agent: 'lead', instruction: 'What is this?', attachments: [image, pdf] }
  const run = await first.troupe.run('task', input)
  await first.troupe.close()
  const { troupe, model } = await createLead(store)
  const { session_id } = run.output as { session_id: string }
  await troupe.run('task', { session_id, instruction: 'And the colour?' })
  expect(files(model.requests[0])).toEqual(['screen.png', 'paper.pdf'])
  const events = await troupe.events(run.run_id).all()
  const begin = events.find((event) => isEvent(event, 'model:begin'))
  const fork = await troupe.fork(run.run_id, (begin?.seq ?? 0) - 1)
  expect((await fork.result).status).toBe('completed')
  expect(files(model.requests[1])).toEqual(['screen.png', 'paper.pdf'])
  expect(await troupe.replay(run.run_id)).toMatchObject({ same: true })
})

test('ST30 a file is stored once, however many events and runs carry it', async () => {
  const store = temporaryFolder()
  const { troupe } = await createLead(store)
  for (const instruction of ['What is this?', 'And now?'])
    await troupe.run('task', { agent: 'lead', instruction, attachments: [image, pdf] })
  await troupe.close()
  const db = new DatabaseSync(join(store, 'troupe.db'), { readOnly: true })
  onTestFinished(() => db.close())
  const count = (sql: string) => db.prepare(sql).get(`%${image.data.slice(0, 200)}%`)?.found
  expect(count('SELECT count(*) AS found FROM blobs WHERE content LIKE ?')).toBe(1)
  expect(count('SELECT count(*) AS found FROM events WHERE data LIKE ?')).toBe(0)
})

test('TK41 a file of another type, with a wrong media_type or over the limits is rejected before any request', async () => {
  const { troupe, model } = await createLead(temporaryFolder())
  const text = (bytes: number) => attachment('long.txt', Buffer.alloc(bytes, 'a'), 'text/plain')
  for (const [attachments, code, message] of [
    [[attachment('a.zip', 'PK\x03\x04\0\0', 'application/zip')], 'invalid_input', "'a.zip' cannot be attached"],
    [[{ ...image, media_type: 'image/jpeg' }], 'invalid_input', "'screen.png' is image/png, not image/jpeg"],
    [[{ ...image, data: '§' }], 'invalid_input', 'is not Base64'],
    [[{ ...image, data: '' }], 'invalid_input', 'is empty'],
    [[text(1024 * 1024 + 1)], 'too_large', "'long.txt' has 1.0 MB; at most 1.0 MB"],
    [Array.from({ length: 21 }, () => text(1)), 'too_large', '21 `attachments` are more than 20'],
  ] as const) {
    const run = troupe.run('task', { agent: 'lead', instruction: 'x', attachments: [...attachments] })
    await expect(run).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  }
  expect(model.requests).toEqual([])
})

test('B5 the reservation counts an estimate for each file instead of its bytes', async () => {
  const { troupe } = await createLead(temporaryFolder())
  const reservedTokens = async (attachments: Attachment[]) => {
    const { run_id } = await troupe.run('task', { agent: 'lead', instruction: 'What is this?', attachments })
    const begin = (await troupe.events(run_id).all()).find((event) => isEvent(event, 'model:begin'))
    return begin?.data.reserved.tokens ?? 0
  }
  const added = (await reservedTokens([image, pdf])) - (await reservedTokens([]))
  // One image and three pages.
  expect(added).toBeGreaterThanOrEqual(6000 + 3 * 5000)
  expect(added).toBeLessThan(6000 + 3 * 5000 + 500)
})

test('TK40 readAttachment detects the type by the content, and explains files that cannot be attached', async () => {
  const folder = temporaryFolder()
  const write = (name: string, content: string | Buffer) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  expect(await readAttachment(write('misnamed.txt', PNG_START))).toMatchObject({
    name: 'misnamed.txt',
    media_type: 'image/png',
  })
  expect(await readAttachment(write('a.csv', 'a,b'))).toMatchObject({ media_type: 'text/plain', data: 'YSxi' })
  for (const [path, message] of [
    [join(folder, 'missing.png'), 'ENOENT'],
    [folder, 'it is not a regular file'],
    [write('a.bin', Buffer.from([0, 1, 2])), 'its type is not supported'],
    [write('huge.pdf', Buffer.concat([Buffer.from('%PDF-1.7'), Buffer.alloc(11 * 1024 * 1024)])), 'at most 10.0 MB'],
  ] as const) {
    await expect(readAttachment(path)).rejects.toThrow(message)
  }
})
