import { expect, test } from 'vitest'
import { createCliFixture, singleAnswerScript } from './cli-fixture.ts'

test('L48 --tag labels a run, runs --tag finds it, and show prints its tags', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', singleAnswerScript('Hello.'))
  const run = (...more: string[]) => cli.troupe('run', 'task', '--agent', 'default', 'hi', '--model', model, ...more)
  await run()
  await run('--tag', 'nightly', '--tag', 'customer:42')
  const listed = await cli.troupe('runs', '--tag', 'nightly', '--json')
  expect(JSON.parse(listed.out)).toMatchObject([{ tags: ['nightly', 'customer:42'] }])
  expect((await cli.troupe('show')).out).toContain('tags: nightly, customer:42')
  expect((await cli.troupe('runs', '--tag', 'weekly')).err).toContain('no runs with tag weekly')
  expect(await run('--tag', '')).toMatchObject({ code: 2, err: expect.stringContaining('`tags` of the run') })
})
