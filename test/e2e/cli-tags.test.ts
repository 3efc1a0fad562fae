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

test('L85 runs --search finds runs by words of the title and of what agents said', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', singleAnswerScript('The cookie expired.'))
  const run = (task: string) => cli.troupe('run', 'task', '--agent', 'default', task, '--model', model)
  await run('fix the login')
  await run('write the docs')
  const find = async (...words: string[]) =>
    JSON.parse((await cli.troupe('runs', '--json', ...words)).out).map(({ title }: { title: string }) => title)
  expect(await find('--search', 'LOGIN cook')).toEqual(['fix the login'])
  expect((await cli.troupe('runs', '--search', 'nothing')).err).toContain("no runs with the words 'nothing'")
  const many = await cli.troupe('runs', '--search', 'a b c d e f g h i')
  expect([many.code, many.err]).toEqual([2, expect.stringContaining('at most 8')])
})

test('L49 --output reads the schema of the answer from a file', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', singleAnswerScript('{"verdict":"yes"}'))
  const schema = { type: 'object', properties: { verdict: { type: 'string' } }, required: ['verdict'] }
  await cli.write('schema.json', schema)
  await cli.write('wrong.json', { type: 'object', properties: { verdict: { type: 'strnig' } } })
  const run = (file: string) =>
    cli.troupe('run', 'task', '--agent', 'default', 'hi', '--model', model, '--json', '--output', file)
  expect(JSON.parse((await run('schema.json')).out)).toMatchObject({ output: { object: { verdict: 'yes' } } })
  const wrong = await run('wrong.json')
  expect([wrong.code, JSON.parse(wrong.out).error.message]).toEqual([2, expect.stringContaining('Unsupported type')])
  const missing = await run('none.json')
  expect([missing.code, JSON.parse(missing.out).error.message]).toEqual([
    2,
    expect.stringContaining('--output none.json'),
  ])
})
