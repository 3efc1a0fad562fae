import { expect, test } from 'vitest'
import { createCliFixture, delegationScript, questionScript } from './e2e/cli-fixture.ts'
import { firstQuestion, serveEnvironment, startServe, untilStatus } from './e2e/serve-fixture.ts'

/* One test of each kind that starts Troupe as a process. The others are in `npm run test:long`; the sandbox has its own suites. */

const LONG_MS = 60_000

test('L1 L4 L7 the answer goes to stdout, progress to stderr, and the exit code is 0', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', delegationScript())
  const done = await cli.troupe('run', 'task', '--agent', 'default', 'do it', '--model', model)
  expect(done).toMatchObject({ code: 0, out: 'All is done.\n' })
  expect(done.err).toMatch(/researcher {2}starts {2}work for researcher/)
  expect(done.err).toMatch(/architect {2}✓ done/)
  expect(done.err).toMatch(/✓ completed .* 4 calls/)
  const shown = await cli.troupe('show')
  expect(shown.out).toMatch(/├─ ✓ researcher .* tokens/)
  expect(shown.out).toMatch(/└─ ✓ architect/)
  const checked = await cli.troupe('verify', 'r_', '--json')
  expect(JSON.parse(checked.out)).toMatchObject({ findings: [] })
})

test('L11 a killed run resumes without repeating completed work, and lost requests are noted', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', delegationScript({ builder: LONG_MS }))
  const run = cli.start('run', 'task', '--agent', 'default', 'do it', '--model', model)
  const [, id = ''] = await run.waitFor(/run (r_[0-9a-f]{12}) started/)
  await run.waitFor(/researcher {2}✓ done/)
  run.kill('SIGKILL')
  await run.done
  const broken = await cli.troupe('show', id)
  expect(broken.out).toMatch(/interrupted/)
  expect(broken.out).toMatch(/troupe resume/)
  await cli.script('s.json', delegationScript())
  const resumed = await cli.troupe('resume', id)
  expect(resumed).toMatchObject({ code: 0, out: 'All is done.\n' })
  expect(resumed.err).not.toMatch(/researcher {2}starts/)
  const shown = await cli.troupe('show', id)
  expect(shown.out).toMatch(/1 model request lost in a crash/)
  expect(shown.out).toMatch(/├─ ✓ researcher {2}1 call/)
  const again = await cli.troupe('resume', id.slice(0, 8))
  expect(again).toMatchObject({ code: 0, out: 'All is done.\n' })
})

test('HS24 a run submitted over HTTP is answered by the command line and goes on in the server', async () => {
  const cli = await createCliFixture()
  const model = await cli.script('s.json', questionScript())
  const serve = await startServe(cli, '--model', model)
  const started = await serve.post('/api/patterns/task/runs', { input: { agent: 'default', instruction: 'paint' } })
  const { run_id } = started.json as { run_id: string }
  const { gate_id } = await firstQuestion(serve)
  await untilStatus(serve, run_id, 'waiting')
  expect((await cli.troupeWith(serveEnvironment(cli), 'answer', gate_id, 'blue', '--no-wait')).code).toBe(0)
  await untilStatus(serve, run_id, 'completed')
})
