import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { agent, createTestTroupe, functionModel } from '../../../test/support/test-troupe.ts'
import type { Troupe } from '../../index.ts'
import { createTroupe } from '../../index.ts'
import { isEvent } from '../event.ts'
import { definePattern } from '../pattern.ts'

/** Two sessions with a gate in between; returns the steering commands taken before, between and after. */
const steerable = definePattern({
  name: 'steerable',
  description: 'Can be steered',
  version: 1,
  category: 'planning',
  delegation: { self: 'count', cycles: 'refuse' },
  input: z.unknown(),
  output: z.unknown(),
  checkSteer: () => {},
  async execute(context) {
    const commands = [await context.takeSteering('before')]
    await context.perform(agent('a'), { instruction: 'first' }, { key: 'one' })
    commands.push(await context.takeSteering('middle'))
    await context.ask('gate', { question: 'Continue?', detail: { takes: ['continue'] } })
    commands.push(await context.takeSteering('after'))
    await context.perform(agent('a'), { instruction: 'second' }, { key: 'two' })
    return { success: true, output: commands }
  },
})

const say = (text: string) => ({ do: 'say', text }) as const
const sayCommands = (...texts: string[]) => texts.map((text) => ({ action: say(text), by: 'user' }))

/** Waits until the journal has this many `run:steer` events. */
async function waitForSteering(troupe: Troupe, run_id: string, count: number): Promise<void> {
  for (;;) {
    const events = await troupe.events(run_id).all()
    if (events.filter(({ type }) => type === 'run:steer').length >= count) return
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}

describe('steering a run', () => {
  test('SE1 a steering command is recorded as run:steer and taken once, at the next takeSteering', async () => {
    let troupe: Troupe
    const model = functionModel(async ({ session, messages }) => {
      if (messages.length === 1 && session.turn === 1 && model.requests.length === 1) {
        await troupe.steer(session.run_id, say('one'))
        await troupe.steer(session.run_id, say('two'))
        await waitForSteering(troupe, session.run_id, 2)
      }
      return { text: 'ok' }
    })
    troupe = (await createTestTroupe({ model, patterns: [steerable] })).troupe
    const waiting = await troupe.run('steerable', {})
    expect(waiting.status).toBe('waiting')
    const result = await (await troupe.steer(waiting.run_id, { do: 'continue' })).result
    expect([result.status, result.output]).toEqual(['completed', [[], sayCommands('one', 'two'), []]])
    const events = await troupe.events(result.run_id).all()
    expect(events.flatMap((event) => (isEvent(event, 'run:steer') ? event.data.action : []))).toEqual([
      say('one'),
      say('two'),
    ])
    expect(await troupe.replay(result.run_id)).toMatchObject({ same: true, differences: [] })
  })

  test('SE2 commands that arrive while the run waits are taken once when it continues, including in another process', async () => {
    const store = memoryStore()
    const model = () => functionModel(() => ({ text: 'ok' }))
    const first = await createTroupe({ store, model: model(), patterns: [steerable] })
    const waiting = await first.run('steerable', {})
    await first.steer(waiting.run_id, say('while waiting'))
    expect((await first.result(waiting.run_id)).status).toBe('waiting')
    // Resumed without an answer: the run records the command and waits again.
    await (await first.resume(waiting.run_id)).result
    await (await first.resume(waiting.run_id)).result
    await first.drain()
    const second = await createTroupe({ store, model: model(), patterns: [steerable] })
    await second.steer(waiting.run_id, say('later'))
    const [gate] = await second.gates().all()
    const result = await (await second.answer(gate?.gate_id ?? '', 'yes')).result
    expect(result.output).toEqual([[], [], sayCommands('while waiting', 'later')])
    const events = await second.events(result.run_id).all()
    expect(events.filter(({ type }) => type === 'run:steer')).toHaveLength(2)
  })

  test('SE3 a command answers a question that accepts its action; other commands wait', async () => {
    const { troupe } = await createTestTroupe({ model: functionModel(() => ({ text: 'ok' })), patterns: [steerable] })
    const { run_id } = await troupe.run('steerable', {})
    await troupe.steer(run_id, { do: 'pause' })
    expect((await troupe.result(run_id)).status).toBe('waiting')
    const result = await (await troupe.steer(run_id, { do: 'continue' }, { by: 'eve' })).result
    expect(result.output).toEqual([[], [], [{ action: { do: 'pause' }, by: 'user' }]])
    const answer = (await troupe.events(run_id).all()).find((event) => isEvent(event, 'gate:answer'))
    expect(answer?.data).toMatchObject({ answer: { do: 'continue' }, by: 'eve' })
  })

  test('SE4 steering fails for a pattern without checkSteer, an unknown action, and an unknown or ended run', async () => {
    const { troupe, task } = await createTestTroupe({
      model: functionModel(() => ({ text: 'ok' })),
      patterns: [steerable],
      agents: [agent('a')],
    })
    const done = await task('a', 'x')
    await expect(troupe.steer(done.run_id, { do: 'pause' })).rejects.toMatchObject({
      ...{
        code: 'invalid_input',
        message: "a run of the pattern 'task' cannot be steered",
        hint: expect.stringContaining('team'),
      },
    })
    const { run_id } = await troupe.run('steerable', {})
    await expect(troupe.steer(run_id, { do: 'dance' } as never)).rejects.toMatchObject({
      ...{ code: 'invalid_input', alternatives: ['pause', 'step', 'continue', 'override', 'set', 'say'] },
    })
    await expect(troupe.steer('r_none', { do: 'pause' })).rejects.toMatchObject({ code: 'unknown_run' })
    await (await troupe.steer(run_id, { do: 'continue' })).result
    await expect(troupe.steer(run_id, { do: 'pause' })).rejects.toMatchObject({ code: 'run_ended' })
  })

  test('SE2 a fork keeps the commands before its cut', async () => {
    const { troupe } = await createTestTroupe({ model: functionModel(() => ({ text: 'ok' })), patterns: [steerable] })
    const { run_id } = await troupe.run('steerable', {})
    await troupe.steer(run_id, say('early'))
    const result = await (await troupe.steer(run_id, { do: 'continue' })).result
    const events = await troupe.events(result.run_id).all()
    const seq = events.find((event) => isEvent(event, 'step:end') && event.data.key === 'after')?.seq ?? 0
    const fork = await (await troupe.fork(run_id, seq)).result
    expect(fork.output).toEqual(result.output)
  })
})
