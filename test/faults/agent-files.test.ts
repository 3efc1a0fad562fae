import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { CliFixture } from '../e2e/cli-fixture.ts'
import { createCliFixture } from '../e2e/cli-fixture.ts'

const agentFile = (name: string) => `---\nname: ${name}\ndescription: the ${name}\n---\nYou are the ${name}.\n`
const CODER = 'agents/coder.md'

/** A lead whose three sub-agents were killed while they worked. The agent file of `coder` may be written after the run began: between two executions. */
async function killedRun(fixture: CliFixture, { addedLater = false } = {}): Promise<string> {
  const task = (instruction: string) => ({ name: 'task', input: { agent: 'coder', instruction } })
  await fixture.write('agents/lead.md', agentFile('lead'))
  if (!addedLater) await fixture.write(CODER, agentFile('coder'))
  const slow = { when: { agent: 'coder' }, reply: { text: 'coder done', delayMs: 60_000 } }
  const fast = { when: { agent: 'coder' }, reply: { text: 'coder done' } }
  const lead = (coder: typeof slow | typeof fast, delayMs = 0) => [
    {
      when: { agent: 'lead', turn: 1 },
      reply: { toolCalls: [{ name: 'Glob', input: { pattern: '*.none' } }], delayMs },
    },
    { when: { agent: 'lead', turn: 2 }, reply: { toolCalls: ['a', 'b', 'c'].map(task) } },
    { when: { agent: 'lead' }, reply: { text: 'all done' } },
    coder,
  ]
  const model = await fixture.script('script.json', lead(slow, addedLater ? 60_000 : 0))
  let run = fixture.start('run', 'task', '--agent', 'lead', 'go', '--agents', 'agents', '--model', model)
  const [, run_id = ''] = await run.waitFor(/run (r_\w+) started/)
  if (addedLater) {
    await run.waitFor(/lead +starts/)
    run.kill('SIGKILL')
    await run.done
    await fixture.write(CODER, agentFile('coder'))
    await fixture.script('script.json', lead(slow))
    run = fixture.start('resume', run_id, '--agents', 'agents')
  }
  await run.waitFor(/(coder +starts[\s\S]*){3}/)
  run.kill('SIGKILL')
  await run.done
  await fixture.script('script.json', lead(fast))
  return run_id
}

const outcomes = async (fixture: CliFixture, run_id: string) => {
  const { out } = await fixture.troupe('show', run_id, '--events', '--json')
  const events = out
    .split('\n')
    .flatMap((line) => (line ? [JSON.parse(line) as { type: string; data: { output?: unknown } }] : []))
  return {
    results: events.filter(({ type }) => type === 'tool:post').length - 1,
    errors: events.filter(({ type }) => type === 'tool:error').length,
  }
}

describe('an agent file that is gone when a killed run is resumed', () => {
  test.each([
    ['is missing', undefined],
    ['has another name', agentFile('programmer')],
    ['is broken', 'Text without frontmatter.'],
  ])(
    'ND2 when the file %s, resume refuses and changes nothing; with the file back, all sub-agents finish',
    async (_how, content) => {
      const fixture = await createCliFixture()
      const run_id = await killedRun(fixture)
      if (content === undefined) await rm(join(fixture.folder, CODER))
      else await fixture.write(CODER, content)
      const before = await fixture.troupe('show', run_id, '--events', '--json')
      const refused = await fixture.troupe('resume', run_id, '--agents', 'agents')
      expect(refused.code).toBe(2)
      expect(refused.err.replace(/\s+/g, ' ')).toMatch(/needs: agent coder .*troupe agents check/)
      expect((await fixture.troupe('show', run_id, '--events', '--json')).out).toBe(before.out)
      await fixture.write(CODER, agentFile('coder'))
      const resumed = await fixture.troupe('resume', run_id, '--agents', 'agents')
      expect(resumed).toMatchObject({ code: 0, out: expect.stringContaining('all done') })
      expect(await outcomes(fixture, run_id)).toEqual({ results: 3, errors: 0 })
    },
  )

  test('ND10 open sessions of an agent whose file was added after the run began, and then removed, continue', async () => {
    const fixture = await createCliFixture()
    const run_id = await killedRun(fixture, { addedLater: true })
    await rm(join(fixture.folder, CODER))
    const resumed = await fixture.troupe('resume', run_id, '--agents', 'agents')
    expect(resumed).toMatchObject({ code: 0, out: expect.stringContaining('all done') })
    expect(await outcomes(fixture, run_id)).toEqual({ results: 3, errors: 0 })
  })
})
