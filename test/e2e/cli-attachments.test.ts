import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runChild } from '../chaos/child-process.ts'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'

const CHILD = fileURLToPath(new URL('./attachment-child.ts', import.meta.url))
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function writeFiles({ folder, write }: CliFixture): Promise<void> {
  await writeFile(join(folder, 'a pixel.png'), Buffer.from(PIXEL, 'base64'))
  await write('note.md', 'The colour is turquoise.')
}

const PIXEL_LABEL = 'a pixel.png (image/png, 70 bytes)'
const TEAM = 'name: One\nagents: [{ name: helper, role: Helps }]\n'
const unwrap = (text: string) => text.replace(/\s+/g, ' ')

test('L60 --attach sends files with the message, and show prints their names, types and sizes', async () => {
  const cli = await createCliFixture()
  await writeFiles(cli)
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
})

test('L60 run team and steer say take --attach, and show names the files of both', async () => {
  const cli = await createCliFixture()
  await writeFiles(cli)
  await cli.write('one.yaml', TEAM)
  const model = await cli.script('s.json', [
    { when: { agent: 'helper', heard: 'turquoise' }, reply: { text: 'Turquoise.' } },
    { when: { agent: 'helper', heard: '"attachments":."a pixel.png"' }, reply: { text: 'A pixel.' } },
  ])
  const options = ['--model', model, '--no-tools']
  const run = await cli.troupe(
    'run',
    'team',
    'What is it?',
    '--team',
    'one.yaml',
    '--attach',
    'a pixel.png',
    ...options,
  )
  expect(run).toMatchObject({ code: 3, out: expect.stringContaining('A pixel.') })
  const [id = ''] = /r_[0-9a-f]+/.exec(run.out + run.err) ?? []
  const said = await cli.troupe('steer', id, 'say', 'And the colour?', '--attach', 'note.md', ...options)
  expect(said).toMatchObject({ code: 3, out: expect.stringContaining('Turquoise.') })
  const shown = await cli.troupe('show', id)
  expect(unwrap(shown.out)).toContain(`attachments: ${PIXEL_LABEL}`)
  expect(unwrap(shown.out)).toContain('note.md (text/plain, 24 bytes)')
  const json = await cli.troupe('show', id, '--json')
  expect(shown.out + json.out).not.toContain(PIXEL)
  const missing = await cli.troupe('steer', id, 'say', 'x', '--attach', 'no.png', ...options)
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('the attachment no.png cannot be read') })
})

test('CH28 /attach sends files with the next message and reply, also after the run has ended and in another process', async () => {
  const cli = await createCliFixture()
  await writeFiles(cli)
  await cli.write('one.yaml', TEAM)
  const model = await cli.script('s.json', [
    { when: { agent: 'helper', heard: 'Both' }, reply: { text: 'I still have both.' } },
    { when: { agent: 'helper', heard: 'turquoise' }, reply: { text: 'Turquoise.' } },
    { when: { agent: 'helper', heard: '"attachments":."a pixel.png"' }, reply: { text: 'A pixel.' } },
    { when: { agent: 'helper' }, reply: { text: 'I see nothing.' } },
  ])
  const chat = (lines: readonly string[], ...argv: string[]) =>
    cli.troupeWith({ stdin: `${lines.join('\n')}\n` }, 'chat', ...argv, '--model', model, '--no-tools')
  const first = await chat(
    [
      '/attach no.png',
      '/attach note.md',
      '/attach',
      "/attach 'a pixel.png'",
      'What is it?',
      '/attach note.md',
      'And now?',
    ],
    'one.yaml',
  )
  expect(first).toMatchObject({ code: 0, out: 'helper: A pixel.\nhelper: Turquoise.\n' })
  expect(first.err).toContain('the attachment no.png cannot be read')
  expect(first.err).toContain('no file is attached')
  expect(unwrap(first.err)).toContain(`attachments: ${PIXEL_LABEL}; sent with your next message`)
  const [id = ''] = /r_[0-9a-f]+/.exec(first.err) ?? []
  const second = await chat(['/end', 'Both?'], '--resume', id)
  expect(second.out).toContain('helper: I still have both.')
  const events = await cli.troupe('show', '--events', '--json')
  const [start] = events.out.split('\n').map((line) => line && JSON.parse(line))
  const carried = start.data.input.before.flatMap(({ attachments = [] }) => attachments)
  expect(carried.map(({ name }: { name: string }) => name)).toEqual(['a pixel.png', 'note.md'])
  const json = await chat(['/attach note.md', 'And now?'], '--resume', id, '--json')
  expect(json.out).not.toContain(Buffer.from('The colour is turquoise.').toString('base64'))
})

test.each([
  ['task', ['first']],
  ['team', ['first', 'second']],
])(
  'TK40 TM69 a %s with files that is killed with SIGKILL resumes with the same files',
  async (pattern, agents) => {
    const { folder, write } = await createCliFixture()
    const text = { name: 'note.md', media_type: 'text/plain', data: Buffer.from('turquoise').toString('base64') }
    const image = { name: 'pixel.png', media_type: 'image/png', data: PIXEL }
    await write('attachments.json', [image, text])
    for (const victim of agents) expect((await runChild(CHILD, folder, pattern, victim)).signal).toBe('SIGKILL')
    expect(await runChild(CHILD, folder, pattern)).toMatchObject({ code: 0, output: 'completed' })
    const seen = (await readFile(join(folder, 'seen'), 'utf8')).trim().split('\n')
    const requests = seen.map((line) => JSON.parse(line) as { agent: string; content: unknown })
    expect(requests.map(({ agent }) => agent)).toEqual(agents)
    for (const { content } of requests) {
      expect(content).toContainEqual({ type: 'file', ...image })
      expect(JSON.stringify(content)).toContain('turquoise')
    }
  },
  60_000,
)
