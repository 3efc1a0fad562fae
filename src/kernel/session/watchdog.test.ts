import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { chunkModel, eventData, textChunks, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe } from '../../../test/support/test-troupe.ts'
import { verifyJournal } from '../../audit/verify-journal.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import { defineTool } from '../../tools/define-tool.ts'
import type { ModelChunk } from '../model.ts'

const textChunk = (text: string): ModelChunk => ({ type: 'text', text })
const delegate = (to: string) => toolCallChunks({ name: 'task', input: { agent: to, instruction: 'go' } })
const askUser = toolCallChunks({ name: 'ask_user', input: { question: 'May I?' } })

/** A tool that sleeps in a simulated world. */
function napTool(sleep: (ms: number, signal: AbortSignal) => Promise<void>) {
  return defineTool({
    name: 'nap',
    description: 'nap',
    input: z.object({ ms: z.number() }),
    category: 'action',
    kind: 'read',
    timeout_ms: 1e9,
    execute: async ({ ms }, { signal }) => sleep(ms, signal).then(() => ({ success: true, output: `${ms} ms` })),
  })
}

describe('timeout_ms of an agent', () => {
  test('U14 an agent over its timeout_ms ends timeout with its text, and its caller continues', async () => {
    const world = simulatedWorld(1)
    const model = chunkModel(({ session }) => {
      if (session.agent === 'lead') return session.turn === 1 ? delegate('slow') : textChunks('the helper was too slow')
      return [textChunk('First I nap.'), ...toolCallChunks({ name: 'nap', input: { ms: 5000 } })]
    })
    const { troupe, task } = await createTestTroupe({
      model,
      engine: { world },
      agents: [agent('lead'), agent('slow', { timeout_ms: 12_000 })],
      tools: [napTool((ms, signal) => world.sleep(ms, signal))],
    })
    const result = await world.runUntil(task('lead', 'go'))
    expect(result).toMatchObject({ status: 'completed', output: { response: 'the helper was too slow' } })
    const end = eventData(await troupe.events(result.run_id).all(), 'session:end')[0]
    expect(end).toMatchObject({ status: 'failed', stop_reason: 'timeout', error: { code: 'timeout' } })
    expect(end?.text).toBe('First I nap.\n\nFirst I nap.\n\nFirst I nap.')
    expect(world.now() - Date.UTC(2030, 0, 1)).toBe(12_000)
    const toolResult = model.requests.at(-1)?.messages.at(-1)?.content[0]
    expect(toolResult && 'text' in toolResult && toolResult.text).toMatch(
      /slow did not finish within 12000 ms[\s\S]*First I nap\./,
    )
  })

  test('U14 a timed-out session can be resumed with a new timeout', async () => {
    const world = simulatedWorld(1)
    let nap = 5000
    const model = chunkModel(({ session }) =>
      session.turn % 2 ? toolCallChunks({ name: 'nap', input: { ms: nap } }) : textChunks('rested'),
    )
    const { troupe, task } = await createTestTroupe({
      model,
      engine: { world },
      agents: [agent('slow', { timeout_ms: 3000 })],
      tools: [napTool((ms, signal) => world.sleep(ms, signal))],
    })
    const timedOut = await world.runUntil(task('slow', 'go'))
    expect(timedOut.stop_reason).toBe('timeout')
    nap = 2500
    const { session_id } = timedOut.output as { session_id: string }
    const again = await world.runUntil(troupe.run('task', { session_id, instruction: 'continue' }))
    expect(again).toMatchObject({ status: 'completed', output: { response: 'rested', turn_count: 2 } })
  })

  test('U14 a run that failed so is resumed with new time, repeats no model request, and its journal is whole', async () => {
    const world = simulatedWorld(1)
    let nap = 5000
    const model = chunkModel(({ session }) =>
      session.turn === 1 ? toolCallChunks({ name: 'nap', input: { ms: 1 } }) : textChunks('rested'),
    )
    const { troupe, task } = await createTestTroupe({
      model,
      engine: { world },
      agents: [agent('slow', { timeout_ms: 3000 })],
      tools: [napTool((_, signal) => world.sleep(nap, signal))],
    })
    const { run_id, error } = await world.runUntil(task('slow', 'go'))
    expect(error?.code).toBe('timeout')
    nap = 2500
    const resumed = await world.runUntil(troupe.resume(run_id).then(({ result }) => result))
    expect(resumed).toMatchObject({ status: 'completed', output: { response: 'rested' } })
    expect(model.requests).toHaveLength(2)
    expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
  })

  test('U14 time at a gate does not count, even while other agents work', async () => {
    const world = simulatedWorld(1)
    const model = chunkModel(({ session }) => {
      if (session.agent === 'lead') {
        const both = ['asker', 'worker'].map((to) => ({ name: 'task', input: { agent: to, instruction: 'go' } }))
        return session.turn === 1 ? toolCallChunks(...both) : textChunks('both are back')
      }
      if (session.turn > 1) return textChunks(`${session.agent} done`)
      return session.agent === 'asker' ? askUser : toolCallChunks({ name: 'nap', input: { ms: 60_000 } })
    })
    const { troupe, task } = await createTestTroupe({
      model,
      engine: { world },
      agents: [agent('lead'), agent('asker', { timeout_ms: 1000 }), agent('worker')],
      tools: [napTool((ms, signal) => world.sleep(ms, signal))],
    })
    const waiting = await world.runUntil(task('lead', 'go'))
    expect(waiting.status).toBe('waiting')
    await world.runUntil(world.sleep(3_600_000))
    const handle = await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')
    expect(await world.runUntil(handle.result)).toMatchObject({
      status: 'completed',
      output: { response: 'both are back' },
    })
    const ends = eventData(await troupe.events(waiting.run_id).all(), 'session:end')
    expect(ends.map(({ text, stop_reason }) => [text, stop_reason])).toEqual([
      ['worker done', 'completed'],
      ['asker done', 'completed'],
      ['both are back', 'completed'],
    ])
  })

  test('G12 a run that waits sets no more timers, whatever timeouts its agents have', async () => {
    const world = simulatedWorld(1)
    const model = chunkModel(({ session }) => {
      if (session.turn > 1) return textChunks('done')
      return session.agent === 'asker' ? askUser : delegate('asker')
    })
    const { task } = await createTestTroupe({
      model,
      engine: { world },
      agents: [agent('lead', { timeout_ms: 5000 }), agent('asker', { timeout_ms: 1000 })],
    })
    expect((await world.runUntil(task('lead', 'go'))).status).toBe('waiting')
    await world.runUntil(world.sleep(60_000))
    expect(world.pendingTasks()).toEqual([])
  })

  test('U14 two gates at the same time count as one wait', async () => {
    const world = simulatedWorld(1)
    const twice = [...askUser.slice(0, 1), ...askUser]
    const nap = (ms: number) => toolCallChunks({ name: 'nap', input: { ms } })
    const model = chunkModel(({ session }) => {
      if (session.turn > 2) return textChunks('done')
      if (session.agent === 'asker') return session.turn === 1 ? twice : nap(5000)
      const both = ['asker', 'worker'].map((to) => ({ name: 'task', input: { agent: to, instruction: 'go' } }))
      return session.agent === 'lead' && session.turn === 1 ? toolCallChunks(...both) : nap(60_000)
    })
    const { troupe } = await createTestTroupe({
      model,
      engine: { world },
      agents: [agent('lead'), agent('asker', { timeout_ms: 1000 }), agent('worker')],
      tools: [napTool((ms, signal) => world.sleep(ms, signal))],
    })
    const handle = await troupe.stream('task', { agent: 'lead', instruction: 'go' })
    await world.runUntil(world.sleep(30_000))
    for (const { gate_id } of await troupe.gates().all()) await troupe.answer(gate_id, 'yes')
    await world.runUntil(handle.result)
    const ends = eventData(await troupe.events(handle.run_id).all(), 'session:end')
    expect(ends.map(({ stop_reason }) => stop_reason)).toEqual(['timeout', 'completed', 'completed'])
  })
})

describe('cancelling', () => {
  /** Three levels, each with a text before it delegates; the last one waits forever. */
  async function threeLevels(bottom: 'model' | 'tool' | 'person') {
    const reached = Promise.withResolvers<void>()
    const hang = defineTool({
      name: 'hang',
      description: 'hang',
      input: z.object({}),
      category: 'action',
      kind: 'read',
      execute: () => {
        reached.resolve()
        return new Promise(() => {})
      },
    })
    const model = chunkModel(({ session }) => {
      if (session.agent === 'one') return [textChunk('One says.'), ...delegate('two')]
      if (session.agent === 'two') return [textChunk('Two says.'), ...delegate('three')]
      if (bottom === 'tool') return [textChunk('Three says.'), ...toolCallChunks({ name: 'hang' })]
      if (bottom === 'person') return [textChunk('Three says.'), ...askUser]
      reached.resolve()
      return new Promise(() => {})
    })
    const agents = ['one', 'two', 'three'].map((name) => agent(name))
    const { troupe } = await createTestTroupe({ model, agents, tools: [hang], limits: { depth: 2 } })
    const handle = await troupe.stream('task', { agent: 'one', instruction: 'go' })
    return { troupe, handle, reached: reached.promise, model }
  }

  test.each(['model', 'tool', 'person'] as const)(
    'U15 cancelling ends every sub-session and keeps its text (the last one waits for a %s)',
    async (bottom) => {
      const { troupe, handle, reached, model } = await threeLevels(bottom)
      if (bottom === 'person') expect((await handle.result).status).toBe('waiting')
      else await reached
      const result = await troupe.cancel(handle.run_id, 'changed my mind')
      expect(result).toMatchObject({ status: 'cancelled', stop_reason: 'cancelled', output: { response: 'One says.' } })
      expect(result.error?.message).toBe('the run was cancelled: changed my mind')
      const events = await troupe.events(handle.run_id).all()
      const ends = eventData(events, 'session:end')
      expect(ends.map(({ status, stop_reason }) => `${status} ${stop_reason}`)).toEqual(
        Array(3).fill('cancelled cancelled'),
      )
      expect(ends.map(({ text }) => text)).toEqual([bottom === 'model' ? '' : 'Three says.', 'Two says.', 'One says.'])
      expect([eventData(events, 'run:cancel').length, model.requests.length]).toEqual([1, 3])
      expect(eventData(events, 'tool:error')).toEqual([])
      expect(result.gates).toEqual([])
    },
  )

  test('U15 a model request in flight counts as lost', async () => {
    const { troupe, handle, reached } = await threeLevels('model')
    await reached
    await troupe.cancel(handle.run_id)
    const [row] = await troupe.runs().all()
    const events = await troupe.events(handle.run_id).all()
    const open = eventData(events, 'model:begin').at(-1)
    const [lost] = eventData(events, 'model:lost')
    expect(lost).toMatchObject({ key: open?.key, reason: 'abort' })
    const input = (open?.reserved.tokens ?? 0) - (open?.max_output ?? 0)
    expect(lost?.reserved.tokens).toBeGreaterThan(input)
    expect(lost?.reserved.tokens).toBeLessThanOrEqual(open?.reserved.tokens ?? 0)
    expect(row?.usage).toMatchObject({ calls: 2, lost: { calls: 1, tokens: lost?.reserved.tokens } })
  })

  test('U15 cancelling an ended run fails with run_ended', async () => {
    const { troupe, handle, reached } = await threeLevels('model')
    await reached
    await troupe.cancel(handle.run_id)
    await expect(troupe.cancel(handle.run_id)).rejects.toMatchObject({
      code: 'run_ended',
      hint: expect.stringContaining('start a new run'),
    })
    expect((await handle.result).status).toBe('cancelled')
  })
})
