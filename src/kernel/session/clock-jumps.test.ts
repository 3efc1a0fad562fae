import { expect, test } from 'vitest'
import { chunkModel, eventData, textChunks, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { agent, createTestTroupe } from '../../../test/support/test-troupe.ts'
import { TroupeError } from '../../errors.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'
import type { ModelChunk } from '../model.ts'

const HOURS_8 = 8 * 60 * 60 * 1000
const askUser = toolCallChunks({ name: 'ask_user', input: { question: 'May I?' } })

test('N10 a clock that jumps forward uses up neither wall_ms nor timeout_ms, also after a resume', async () => {
  const world = simulatedWorld(1)
  const model = chunkModel(async function* ({ session: { turn } }) {
    await world.sleep(3000)
    if (turn === 1) world.shiftClock(HOURS_8)
    await world.sleep(1000)
    yield* turn === 1 ? askUser : textChunks('done')
  })
  const { troupe, task } = await createTestTroupe({
    model,
    engine: { world },
    agents: [agent('worker', { timeout_ms: 12_000 })],
    limits: { wall_ms: 12_000 },
  })
  const waiting = await world.runUntil(task('worker', 'go'))
  expect(waiting.status).toBe('waiting')
  const handle = await troupe.answer(waiting.gates[0]?.gate_id ?? '', 'yes')
  const result = await world.runUntil(handle.result)
  expect(result).toMatchObject({ status: 'completed', output: { response: 'done' } })
  expect(eventData(await troupe.events(result.run_id).all(), 'run:clock')).toEqual([{ jump_ms: HOURS_8 }])
})

test('N10 a response that is arriving does not stall when the clock jumps', async () => {
  const world = simulatedWorld(1)
  let requests = 0
  async function* stream(): AsyncGenerator<ModelChunk> {
    requests += 1
    yield { type: 'text', text: 'slow ' }
    await world.sleep(230_000)
    yield { type: 'text', text: 'but ' }
    world.shiftClock(HOURS_8)
    await world.sleep(30_000)
    yield* textChunks('there')
  }
  const { task } = await createTestTroupe({
    model: { name: 'm', stream },
    engine: { world },
    agents: [agent('worker')],
  })
  const result = await world.runUntil(task('worker', 'go'))
  expect([result.status, requests, result.output]).toMatchObject(['completed', 1, { response: 'slow but there' }])
})

test('N10 a failure is retried although the clock jumped past the deadline of retries', async () => {
  const world = simulatedWorld(1)
  let requests = 0
  async function* stream(): AsyncGenerator<ModelChunk> {
    requests += 1
    await world.sleep(1000)
    if (requests > 1) return yield* textChunks('there')
    world.shiftClock(HOURS_8)
    throw new TroupeError('model_failed', 'gone', { retry: true, hint: 'retry' })
  }
  const { task } = await createTestTroupe({
    model: { name: 'm', stream },
    engine: { world },
    agents: [agent('worker')],
  })
  const result = await world.runUntil(task('worker', 'go'))
  expect([result.status, requests]).toEqual(['completed', 2])
})
