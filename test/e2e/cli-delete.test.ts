import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createCliFixture, singleAnswerScript } from './cli-fixture.ts'

async function createRuns() {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', singleAnswerScript('Hello.'))
  const run = async (instruction: string): Promise<string> => {
    const args = ['--agent', 'default', '--no-tools', '--model', model, '--json']
    return JSON.parse((await cli.troupe('run', 'task', instruction, ...args)).out).run_id
  }
  return { cli, run, size: () => statSync(join(cli.folder, '.troupe', 'troupe.db')).size }
}

test('L80 delete needs --yes without a terminal, deletes the runs, and names unknown and linked ones', async () => {
  const { cli, run, size } = await createRuns()
  const [first, second] = [await run('x'.repeat(100_000)), await run('hi')]
  const refused = await cli.troupe('delete', first)
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('--yes') })
  const before = size()
  const done = await cli.troupe('delete', first, '--yes')
  expect(done).toMatchObject({ code: 0, out: expect.stringMatching(/^1 run deleted, .+ freed\n$/) })
  expect(before - size()).toBeGreaterThan(80_000)
  expect(await cli.troupe('show', first)).toMatchObject({ code: 2 })
  const runs = (await cli.troupe('runs')).out
  expect([runs.includes(first), runs.includes(second)]).toEqual([false, true])
  expect(await cli.troupe('delete', 'r_nope', '--yes')).toMatchObject({ code: 2 })
  expect((await cli.troupe('doctor')).out).toMatch(/store/)
})

test('L81 prune shows with --dry-run what it would delete, and deletes with --yes', async () => {
  const { cli, run } = await createRuns()
  const id = await run('hi')
  const none = await cli.troupe('prune', '--older-than', '30d', '--dry-run')
  expect(none).toMatchObject({ code: 0, out: '0 runs would be deleted, about 0 KB\n' })
  const planned = await cli.troupe('prune', '--older-than', '0h', '--dry-run')
  expect(planned.out).toMatch(new RegExp(`^1 run would be deleted, about \\d+ KB\n${id}\n$`))
  expect(await cli.troupe('prune', '--older-than', '0h')).toMatchObject({
    code: 2,
    err: expect.stringContaining('--yes'),
  })
  expect(await cli.troupe('prune', '--older-than', 'soon')).toMatchObject({ code: 2 })
  expect(await cli.troupe('prune', '--older-than', '0h', '--yes')).toMatchObject({ code: 0 })
  expect((await cli.troupe('runs', '--json')).out).not.toContain(id)
})
