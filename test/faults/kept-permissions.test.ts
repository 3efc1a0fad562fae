import { expect, onTestFinished, test } from 'vitest'
import { createCliFixture } from '../e2e/cli-fixture.ts'
import { startWireDouble } from './wire-double.ts'

test('PM50 a run that failed and is resumed without --allow writes what --allow permitted at its start, and nothing else', async () => {
  const fixture = await createCliFixture()
  const wire = await startWireDouble(() => ({ status: 401 }))
  onTestFinished(() => wire.close())
  const options = ['--model', 'compatible/m', '--workspace', '.']
  const start = async (...allow: string[]) => {
    wire.reply = () => ({ status: 401 })
    const run = await fixture.troupeWith({ env: wire.env }, 'run', 'task', 'go', ...options, ...allow, '--json')
    const { run_id, status } = JSON.parse(run.out)
    expect(status).toBe('failed')
    return run_id as string
  }
  const resume = async (run_id: string, path: string) => {
    wire.reply = ({ turn }) =>
      turn === 1 ? { calls: [{ name: 'Write', input: { file_path: path, content: 'kept' } }] } : { text: 'done' }
    const run = await fixture.troupeWith({ env: wire.env }, 'resume', run_id, '--workspace', '.', '--json')
    return JSON.parse(run.out).status
  }
  const allowed = ['--allow', 'Write(notes/*)']
  expect(await resume(await start(...allowed), 'notes/a.txt')).toBe('completed')
  expect(await fixture.read('notes/a.txt')).toBe('kept')
  const exists = (path: string) =>
    fixture.read(path).then(
      () => true,
      () => false,
    )
  // Denied, as at the start: the model is told which files it may write.
  const outside = await resume(await start(...allowed), 'other.txt')
  expect([outside, await exists('other.txt')]).toEqual(['completed', false])
  const unallowed = await resume(await start(), 'notes/b.txt')
  expect([unallowed, await exists('notes/b.txt')]).toEqual(['waiting', false])
})
