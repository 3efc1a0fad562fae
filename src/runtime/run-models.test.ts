import { expect, onTestFinished, test } from 'vitest'
import { agent, createTroupeWithStore, functionModel, storeOf } from '../../test/support/test-troupe.ts'
import type { Model } from '../entries/models.ts'
import type { Troupe, TroupeOptions } from '../index.ts'
import { isEvent } from '../index.ts'

const QUESTIONS = 2

/** A model that asks two questions, and then names itself. */
function namedModel(name: string): Model {
  const model = functionModel(({ session }) =>
    session.turn <= QUESTIONS ? { calls: [{ name: 'ask_user', input: { question: 'Which?' } }] } : { text: name },
  )
  return { ...model, name }
}

const [a, b] = ['a', 'b'].map(namedModel) as [Model, Model]
const agents = [agent('lead', { tools: ['ask_user'] }), agent('thinker', { tools: ['ask_user'], model: 'sonnet' })]

async function open(options: TroupeOptions, first?: Troupe): Promise<Troupe> {
  const store = first ? { store: storeOf(first) } : undefined
  const troupe = await createTroupeWithStore({ agents, embedder: false, ...options, ...store })
  onTestFinished(() => troupe.close())
  return troupe
}

async function answerNext(troupe: Troupe) {
  const [gate] = await troupe.gates().all()
  return (await troupe.answer(gate?.gate_id ?? '', 'this one')).result
}

async function changesOf(troupe: Troupe, run_id: string) {
  const events = await troupe.events(run_id).all()
  return events.flatMap((event) => (isEvent(event, 'run:attempt') ? [event.data.models ?? []] : []))
}

test('ND11 another default model is recorded with the attempt that uses it, once, and is in the timeline', async () => {
  const first = await open({ model: a })
  const { run_id } = await first.run('task', { agent: 'lead', instruction: 'go' })
  const second = await open({ model: b, models: { custom: [a] } }, first)
  expect((await answerNext(second)).status).toBe('waiting')
  expect(await answerNext(second)).toMatchObject({ status: 'completed', output: { response: 'b' } })
  const change = (role: string) => ({ role, from: 'a', to: 'b', agents: ['lead'] })
  expect(await changesOf(first, run_id)).toEqual([[], ['fast', 'general', 'reasoning'].map(change), []])
  const { timeline } = await first.timeline(run_id)
  expect(timeline.notices.map(({ text }) => text)).toContainEqual(
    expect.stringContaining('Resumed with other models: fast b instead of a (lead)'),
  )
})

test('ND11 the model of agents that name none is told apart from the role `general`', async () => {
  const models = { custom: [a, b], config: { fast: 'b', general: 'b', reasoning: 'b' } }
  const first = await open({ model: a, models })
  const { run_id } = await first.run('task', { agent: 'lead', instruction: 'go' })
  const second = await open({ models }, first)
  await answerNext(second)
  const third = await open({ model: a, models }, first)
  await answerNext(third)
  const change = { role: 'default', agents: ['lead'] }
  expect(await changesOf(first, run_id)).toEqual([
    [],
    [{ ...change, from: 'a', to: 'b' }],
    [{ ...change, from: 'b', to: 'a' }],
  ])
})

test('ND11 a run that is continued with the same models records no change', async () => {
  const first = await open({ model: a })
  const { run_id } = await first.run('task', { agent: 'lead', instruction: 'go' })
  await answerNext(first)
  await answerNext(first)
  expect(await changesOf(first, run_id)).toEqual([[], [], []])
})

test('ND12 agents whose role stood for the model of the run keep it in a process with another model, or with none', async () => {
  const first = await open({ model: a })
  const { run_id } = await first.run('task', { agent: 'thinker', instruction: 'go' }, { model: 'a' })
  const second = await open({ models: { custom: [a] } }, first)
  expect((await answerNext(second)).status).toBe('waiting')
  const third = await open({ model: b, models: { custom: [a] } }, first)
  expect(await answerNext(third)).toMatchObject({ status: 'completed', output: { response: 'a' } })
  expect(await changesOf(first, run_id)).toEqual([[], [], []])
})

test('ND2 a process without the default model of a run leaves it alone: resume, claim, work and answer', async () => {
  const first = await open({ model: a })
  const { run_id } = await first.run('task', { agent: 'lead', instruction: 'go' })
  const before = await first.events(run_id).all()
  for (const options of [{ model: b }, {}, { models: { custom: [a] } }]) {
    const other = await open(options, first)
    await expect((await other.resume(run_id)).result).rejects.toMatchObject({ code: 'needs_missing' })
    const stop = new AbortController()
    const working = other.work({ signal: stop.signal })
    expect(await other.claim()).toBeUndefined()
    stop.abort()
    await working
  }
  const bare = await open({}, first)
  expect((await answerNext(bare)).not_continued).toMatchObject({ code: 'needs_missing', alternatives: ['a'] })
  expect(await bare.claim()).toBeUndefined()
  expect(await first.events(run_id).all()).toEqual(before)
  await expect.poll(async () => await (await first.claim())?.result).toMatchObject({ run_id, status: 'waiting' })
})
