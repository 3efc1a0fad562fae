import { expect, test } from 'vitest'
import { createCliFixture } from './cli-fixture.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

test('L60 --attach sends files with the message, and show prints their names, types and sizes', async () => {
  const cli = await createCliFixture()
  const { writeFile } = await import('node:fs/promises')
  await writeFile(`${cli.folder}/a pixel.png`, Buffer.from(PIXEL, 'base64'))
  await cli.write('note.md', 'The colour is turquoise.')
  const model = await cli.script('s.json', [
    { when: { says: '<file name="note.md">\nThe colour is turquoise.' }, reply: { text: 'A turquoise pixel.' } },
  ])
  const run = ['run', 'task', '--agent', 'default', 'What is this?', '--model', model, '--no-tools']
  const done = await cli.troupe(...run, '--attach', 'a pixel.png', '--attach', 'note.md')
  expect(done).toMatchObject({ code: 0, out: 'A turquoise pixel.\n' })
  const shown = await cli.troupe('show')
  expect(shown.out.replace(/\s+/g, ' ')).toContain(
    'attachments: a pixel.png (image/png, 70 bytes), note.md (text/plain, 24 bytes)',
  )
  const json = await cli.troupe('show', '--json')
  expect(JSON.parse(json.out).input.attachments).toEqual([
    { name: 'a pixel.png', media_type: 'image/png', size: 70 },
    { name: 'note.md', media_type: 'text/plain', size: 24 },
  ])
  const events = await cli.troupe('show', '--events')
  expect(shown.out + json.out + events.out).not.toContain(PIXEL)
  const missing = await cli.troupe(...run, '--attach', 'no.png')
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('the attachment no.png cannot be read') })
}, 60_000)
