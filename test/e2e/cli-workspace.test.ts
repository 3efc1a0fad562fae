import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { place } from './command-line.ts'

const writes = (path: string) => [
  { when: { turn: 1 }, reply: { toolCalls: [{ name: 'Write', input: { file_path: path, content: 'hello\n' } }] } },
  { reply: { text: 'Written.' } },
]

test('L26 what acts is asked for, with its input; allowed, it is done in the workspace and nowhere else', async () => {
  const here = await place()
  const model = await here.script('s.json', writes('note.txt'))
  const asked = await here.troupe('run', 'task', '--agent', 'default', 'write', '--model', model)
  expect(asked.code).toBe(3)
  expect(existsSync(join(here.folder, 'note.txt'))).toBe(false)
  const inbox = await here.troupe('inbox', '--json')
  const [gate] = JSON.parse(inbox.out) as { gate_id: string; question: string; detail: { input: object } }[]
  expect(gate?.question).toContain('May default call Write(note.txt)?')
  expect(gate?.detail.input).toMatchObject({ content: 'hello\n' })
  const done = await here.troupe('answer', gate?.gate_id ?? '', 'allow', '--model', model)
  expect(done).toMatchObject({ code: 0, out: 'Written.\n' })
  expect(readFileSync(join(here.folder, 'note.txt'), 'utf8')).toBe('hello\n')
})

test('L27 a tool that the agent’s file names, or a rule lets pass, is not asked for; a rule that denies is final', async () => {
  const here = await place()
  await here.write('team/scribe.md', '---\nname: scribe\ndescription: writes\ntools: Write\n---\nYou write.\n')
  const model = await here.script('s.json', writes('note.txt'))
  const run = (...more: string[]) => here.troupe('run', 'task', 'write', '--model', model, '--agents', 'team', ...more)
  expect(await run('--agent', 'scribe')).toMatchObject({ code: 0 })
  expect(existsSync(join(here.folder, 'note.txt'))).toBe(true)
  expect(await run('--agent', 'default', '--allow', 'Write(*.txt)')).toMatchObject({ code: 0 })
  const denied = await here.script('d.json', writes('secret.env'))
  const refused = await here.troupe(
    'run',
    'task',
    'write',
    '--agent',
    'scribe',
    '--agents',
    'team',
    '--model',
    denied,
    '--deny',
    'Write(*.env)',
  )
  expect(refused.code).toBe(0)
  expect(existsSync(join(here.folder, 'secret.env'))).toBe(false)
})

test('L28 commands run in a sandbox of the workspace; --no-tools gives agents nothing of this machine', async () => {
  const here = await place()
  const command = 'echo in > inside.txt; echo out > /var/tmp/troupe-outside.txt; cat inside.txt'
  const model = await here.script('s.json', [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'Bash', input: { command } }] } },
    { when: { says: 'unknown_tool' }, reply: { text: 'I have no such tool.' } },
    { reply: { text: 'Ran it.' } },
  ])
  const run = (...more: string[]) => here.troupe('run', 'task', 'go', '--agent', 'default', '--model', model, ...more)
  expect(await run('--allow', 'Bash')).toMatchObject({ code: 0, out: 'Ran it.\n' })
  expect(readFileSync(join(here.folder, 'inside.txt'), 'utf8')).toBe('in\n')
  expect(existsSync('/var/tmp/troupe-outside.txt')).toBe(false)
  expect(await run('--no-tools')).toMatchObject({ code: 0, out: 'I have no such tool.\n' })
})
