import { describe, expect, test } from 'vitest'
import type { RunComparison } from '../../src/entries/inspect.ts'
import { createCliFixture, delegationScript, questionScript, singleAnswerScript } from './cli-fixture.ts'

/* Record, replay, fork and diff on the command line, with real processes and a store on disk. */

const findRunId = (out: string) => (JSON.parse(out) as { run_id: string }).run_id

describe('CA20 cassettes', () => {
  test('CA20 a run is recorded, and replayed without a model', async () => {
    const { troupe, script, read } = await createCliFixture()
    const model = await script('s.json', delegationScript())
    const recorded = await troupe(
      'run',
      'task',
      'go',
      '--agent',
      'default',
      '--model',
      model,
      '--record',
      'c.jsonl',
      '--json',
    )
    expect(recorded.code).toBe(0)
    expect(await read('c.jsonl')).toMatch(/^\{"troupe_cassette":1\}\n/)
    const replayed = await troupe('run', 'task', 'go', '--agent', 'default', '--replay', 'c.jsonl')
    expect(replayed).toMatchObject({ code: 0, out: 'All is done.\n' })
    const other = await troupe('run', 'task', 'go further', '--agent', 'default', '--replay', 'c.jsonl')
    expect(other.code).toBe(1)
    expect(other.err).toMatch(/session\/turn\/1\/model[\s\S]*message 1 \(user\): recorded "go", now "go further"/)
  })

  test('CA20 recording to an existing cassette is rejected, and invalid cassettes are reported', async () => {
    const { troupe, script, write } = await createCliFixture()
    const model = await script('s.json', singleAnswerScript('hi'))
    await write('old.jsonl', '{"troupe_cassette":9}\n')
    const overwritten = await troupe(
      'run',
      'task',
      'go',
      '--agent',
      'default',
      '--model',
      model,
      '--record',
      'old.jsonl',
    )
    expect([overwritten.code, overwritten.err]).toEqual([
      2,
      expect.stringContaining('old.jsonl: the file already exists'),
    ])
    const newer = await troupe('run', 'task', 'go', '--agent', 'default', '--replay', 'old.jsonl')
    expect([newer.code, newer.err]).toEqual([1, expect.stringContaining('newer cassette version (9)')])
    const both = await troupe('run', 'task', 'go', '--agent', 'default', '--replay', 'a', '--record', 'b')
    expect(both.code).toBe(2)
  })

  test('CA20 a run with a question is recorded over two commands and replayed over two', async () => {
    const { troupe, script } = await createCliFixture()
    const model = await script('s.json', questionScript())
    await troupe('run', 'task', 'go', '--agent', 'default', '--model', model, '--record', 'c.jsonl')
    const gate = async () =>
      (JSON.parse((await troupe('inbox', '--json')).out) as { gate_id: string }[])[0]?.gate_id ?? ''
    await troupe('answer', await gate(), 'blue', '--model', model, '--record', 'c.jsonl')
    expect((await troupe('run', 'task', 'go', '--agent', 'default', '--replay', 'c.jsonl')).code).toBe(3)
    expect(await troupe('answer', await gate(), 'blue', '--replay', 'c.jsonl')).toMatchObject({
      code: 0,
      out: 'Blue it is.\n',
    })
  })
})

describe('CA20 stored runs', () => {
  test('CA20 replay reports an identical run as text and as JSON', async () => {
    const { troupe, script } = await createCliFixture()
    const model = await script('s.json', delegationScript())
    const id = findRunId((await troupe('run', 'task', 'go', '--agent', 'default', '--model', model, '--json')).out)
    const people = await troupe('replay', id)
    expect([people.code, people.out]).toEqual([0, expect.stringMatching(/^✓ r_\w+ {2}identical/)])
    const programs = await troupe('replay', id, '--json')
    expect(JSON.parse(programs.out)).toMatchObject({ run_id: id, same: true, differences: [] })
    expect((await troupe('replay', 'r_nothing')).code).toBe(2)
  })

  test('CA20 fork continues from an event with other instructions and another model; diff shows the consequences', async () => {
    const { troupe, script, write } = await createCliFixture()
    const model = await script('s.json', delegationScript())
    const id = findRunId((await troupe('run', 'task', 'go', '--agent', 'default', '--model', model, '--json')).out)
    const events = (await troupe('show', id, '--events', '--json')).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { seq: number; type: string; data: { key?: string } })
    const cut = events.find(({ type, data }) => type === 'model:end' && data.key?.includes('/tool/0/'))?.seq ?? 0
    await write('prompt.md', 'Plan in one word.')
    const other = await script('t.json', [
      { when: { agent: 'architect' }, reply: { text: 'Planned.' } },
      { reply: { text: 'Done otherwise.' } },
    ])
    const fork = await troupe(
      ...['fork', id, '--at', `${cut}`, '--model', other, '--json'],
      ...['--set', 'agent.architect.instructions=@prompt.md', '--set', 'limit.calls=9'],
    )
    expect(JSON.parse(fork.out)).toMatchObject({ status: 'completed', output: { response: 'Done otherwise.' } })
    const diff = await troupe('diff', id, findRunId(fork.out))
    expect(diff.code).toBe(0)
    expect(diff.out).toContain(`forked at event ${cut} of ${id}`)
    expect(diff.out).toMatch(/first difference:/)
    expect(diff.out).toMatch(/- All is done\.[\s\S]*\+ Done otherwise\./)
    const compared = JSON.parse((await troupe('diff', id, findRunId(fork.out), '--json')).out) as RunComparison
    expect(compared.runs.map(({ usage }) => usage.calls)).toEqual([4, 4])
    expect(compared.start?.fields.map(({ path }) => path)).toEqual(['data.limits.calls', 'data.model'])
    expect(compared.divergence).toMatchObject({ type: 'session:open', key: 'session/turn/1/tool/1/session' })
    expect((await troupe('replay', findRunId(fork.out))).code).toBe(0)
    expect((await troupe('verify', findRunId(fork.out))).code).toBe(0)
  })

  test('CA20 fork reports the possible changes and events', async () => {
    const { troupe, script } = await createCliFixture()
    const model = await script('s.json', singleAnswerScript('hi'))
    const id = findRunId((await troupe('run', 'task', 'go', '--agent', 'default', '--model', model, '--json')).out)
    const forkError = async (...argv: string[]) => {
      const { code, err } = await troupe('fork', id, ...argv)
      return { code, err }
    }
    expect(await forkError()).toEqual({ code: 2, err: expect.stringContaining('--at is missing') })
    expect(await forkError('--at', '99')).toEqual({ code: 2, err: expect.stringMatching(/its events are 1 to \d+/) })
    expect(await forkError('--at', '1', '--set', 'nonsense')).toEqual({
      code: 2,
      err: expect.stringContaining('gate.ID=ANSWER'),
    })
    expect(await forkError('--at', '1', '--set', 'agent.x.instructions=@none.md')).toEqual({
      code: 2,
      err: expect.stringContaining('none.md cannot be read'),
    })
    const changed = await troupe('fork', id, '--at', '1', '--set', 'input.instruction=another task', '--json')
    expect(JSON.parse(changed.out)).toMatchObject({ status: 'completed' })
    const shown = await troupe('show', findRunId(changed.out))
    expect(shown.out).toContain('another task')
  })
})
