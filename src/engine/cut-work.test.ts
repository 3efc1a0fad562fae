import { expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent, createTroupeWithStore, functionModel, runToEnd, storeOf } from '../../test/support/test-troupe.ts'
import { verifyJournal } from '../entries/inspect.ts'
import type { Context } from '../entries/patterns.ts'
import { definePattern, definePatternView } from '../entries/patterns.ts'
import type { ErrorRecord } from '../index.ts'
import { defineTool, isEvent, TroupeError } from '../index.ts'
import { textFrom } from '../kernel/model.ts'
import { reduceRun } from '../run-model/reduce-run.ts'
import { newRunModel } from '../run-model/run-model.ts'
import { scriptedPerformer } from '../testing/scripted-performer.ts'
import { loadPatternViews } from '../views/pattern-views.ts'

/* Work that a resume has cut: its sessions, actions and forks. */

/** Asks `second` with what `first`, whose provider is down at first, has answered; `second` acts. */
async function resumedRun() {
  let isDown = true
  const acted: string[] = []
  const act = defineTool({
    ...{ name: 'act', description: 'Acts', kind: 'act', category: 'action' },
    input: z.object({ on: z.string() }),
    execute: ({ on }) => ({ success: true, output: `${acted.push(on)}` }),
  })
  const model = functionModel(({ session, messages }) => {
    if (session.agent === 'first' && isDown) throw Object.assign(new Error('down'), { status: 402 })
    const [request = ''] = messages.flatMap(({ content }) =>
      (content as { text?: string }[]).flatMap(({ text }) => text ?? []),
    )
    if (session.agent === 'second' && messages.at(-1)?.role === 'user')
      return { calls: [{ name: 'act', input: { on: request } }] }
    return { text: `${session.agent}: ${request}` }
  })
  const pattern = definePattern({
    ...{ name: 'review', description: 'A pattern of the test', version: 1, category: 'perception' as const },
    input: z.object({}),
    output: z.any(),
    execute: async (context) => {
      const incomplete: ErrorRecord[] = []
      const ask = async (name: string, instruction: string) => {
        const { text, error } = await (context as never as Context).perform(
          agent(name, { tools: ['act'] }),
          { instruction },
          { key: name },
        )
        if (error) incomplete.push(error)
        return text
      }
      return { success: true, output: await ask('second', `after ${(await ask('first', 'go')) || 'none'}`), incomplete }
    },
  })
  const troupe = await createTroupeWithStore({
    ...{ model, agents: [agent('second', { tools: ['act'] })], tools: [act], patterns: [pattern] },
    permissions: { allow: ['act'] },
  })
  const { run_id } = await troupe.run('review', {})
  isDown = false
  const { output } = await (await troupe.resume(run_id)).result
  return { troupe, run_id, output, acted, events: await troupe.events(run_id).all() }
}

test('J22 an action of cut work is carried out again if the new work asks for it, under another idempotency key', async () => {
  const { troupe, run_id, output, acted, events } = await resumedRun()
  expect([output, acted]).toEqual(['second: after first: go', ['after none', 'after first: go']])
  const calls = events.flatMap((event) => (isEvent(event, 'tool:pre') ? event.data : []))
  expect(calls.map(({ key }) => key)).toEqual(['second/turn/1/tool/0', 'second/turn/1/tool/0'])
  expect(new Set(calls.map(({ idempotency_key }) => idempotency_key)).size).toBe(2)
  expect(verifyJournal(events)).toEqual([])
  expect((await troupe.replay(run_id)).differences).toEqual([])
  await troupe.close()
})

test('J22 an external agent of cut work begins anew, not in its own session', async () => {
  let isDown = true
  const external = scriptedPerformer({
    actions: [
      { do: 'save', session: 'own' },
      { do: 'report', update: { type: 'text', text: 'done' } },
      { do: 'finish', result: { stop: 'completed' } },
    ],
  })
  const model = functionModel(() => {
    if (isDown) throw Object.assign(new Error('down'), { status: 402 })
    return { text: 'first' }
  })
  const pattern = definePattern({
    ...{ name: 'review', description: 'A pattern of the test', version: 1, category: 'perception' as const },
    ...{ input: z.object({}), output: z.any() },
    execute: async (context) => {
      const first = await context.perform(agent('first'), { instruction: 'go' }, { key: 'first' })
      const second = agent('second', { performer: 'external' })
      const { text } = await context.perform(
        second,
        { instruction: `after ${first.text || 'none'}` },
        { key: 'second' },
      )
      return { success: true, output: text, incomplete: [first.error ?? []].flat() }
    },
  })
  const troupe = await createTroupeWithStore({ model, agents: [], patterns: [pattern], performers: { external } })
  const { run_id } = await troupe.run('review', {})
  isDown = false
  expect((await (await troupe.resume(run_id)).result).output).toBe('done')
  expect(
    external.turns.map(({ instruction, resume, interrupted }) => [textFrom(instruction), resume, interrupted]),
  ).toEqual([
    ['after none', undefined, false],
    ['after first', undefined, false],
  ])
  expect(new Set(external.turns.map((turn) => turn.idempotency_key)).size).toBe(2)
  expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
  expect((await troupe.replay(run_id)).differences).toEqual([])
  await troupe.close()
})

/** Notes what was found after `first`; `renamed` has the keys of a newer version. */
function notingPattern(provider: { down: readonly string[]; served: string[] }, renamed: Record<string, string> = {}) {
  const serve = (name: string, text: string) => {
    if (provider.down.includes(name)) throw new TroupeError('model_failed', 'down', { hint: 'wait' })
    provider.served.push(name)
    return text
  }
  return definePattern({
    ...{ name: 'notes', description: 'A pattern of the test', version: 1, category: 'perception' as const },
    ...{ input: z.object({}), output: z.any(), renamedKeys: renamed },
    events: { 'notes:found': z.object({ text: z.string() }) },
    view: definePatternView<string[], { data: { text: string } }>({
      initial: () => [],
      reduce: (found, { data }) => [...found, data.text],
      json: (found) => ({ found }),
    }),
    execute: async (context) => {
      const incomplete: ErrorRecord[] = []
      const step = async (name: string, work: string) => {
        try {
          return await context.step(renamed[name] ?? name, () => serve(name, work))
        } catch (thrown) {
          incomplete.push((thrown as TroupeError).toJSON())
          return 'none'
        }
      }
      const other = await step('other', 'other')
      const first = await step('first', 'first')
      const second = await step('second', `after ${first}`)
      context.emit('found', 'notes:found', { text: second })
      return { success: true, output: [other, await step('third', `after ${second}`)], incomplete }
    },
  })
}

test('J22 the state of a pattern is that without what was cut; before the cut it is that of the time', async () => {
  const provider = { down: ['first'], served: [] as string[] }
  const pattern = notingPattern(provider)
  const troupe = await createTroupeWithStore({ model: functionModel(() => ({})), agents: [], patterns: [pattern] })
  const { run_id } = await troupe.run('notes', {})
  provider.down = []
  await (await troupe.resume(run_id)).result
  const views = await loadPatternViews(await troupe.patterns())
  const model = newRunModel({ views })
  const states: unknown[] = []
  for (const event of await troupe.events(run_id).all()) {
    reduceRun(model, event)
    if (['run:end', 'run:cut'].includes(event.type))
      states.push(model.patterns.find(({ name }) => name === 'notes')?.state)
  }
  expect(states).toEqual([['after none'], [], ['after first']])
  await troupe.close()
})

test('J13 J22 a step that was renamed since it was recorded is cut, and worked out anew, under its new key', async () => {
  const provider = { down: ['first'], served: [] as string[] }
  const store = memoryStore()
  const create = (renamed?: Record<string, string>) =>
    createTroupeWithStore({
      model: functionModel(() => ({})),
      agents: [],
      patterns: [notingPattern(provider, renamed)],
      store,
    })
  const old = await create()
  const { run_id } = await old.run('notes', {})
  const troupe = await create({ first: 'one', second: 'two', third: 'three' })
  const outputs = []
  for (const down of [['first', 'third'], ['third'], []]) {
    provider.down = down
    provider.served.length = 0
    const { output } = await (await troupe.resume(run_id)).result
    outputs.push([output, ...provider.served])
    expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
    expect((await troupe.replay(run_id)).differences).toEqual([])
  }
  expect(outputs).toEqual([
    [['other', 'none'], 'second'],
    [['other', 'none'], 'first', 'second'],
    [['other', 'after after first'], 'third'],
  ])
  await troupe.close()
})

test('J22 resuming a session of cut work names its replacement, which goes on', async () => {
  const { troupe, events } = await resumedRun()
  const [old = '', replacement = ''] = events.flatMap((event) =>
    isEvent(event, 'session:open') && event.data.key === 'second' ? (event.session_id ?? '') : [],
  )
  expect(old).not.toBe(replacement)
  expect((await storeOf(troupe).session(old))?.session_id).toBe(old)
  const refused = await runToEnd(troupe, 'task', { session_id: old, instruction: 'more' })
  expect(refused.error).toMatchObject({ code: 'session_not_resumable', alternatives: [replacement] })
  expect((await troupe.run('task', { session_id: replacement, instruction: 'more' })).status).toBe('completed')
  await troupe.close()
})

test('CA18 a fork between a resume and its cut names the event of the cut; before it the old work counts, after it the new', async () => {
  const { troupe, run_id, events } = await resumedRun()
  const seqOf = (type: string) => events.find((event) => event.type === type)?.seq ?? 0
  const cut = seqOf('run:cut')
  await expect(troupe.fork(run_id, cut - 1)).rejects.toMatchObject({
    ...{ code: 'invalid_input', hint: `fork after it: --at ${cut}` },
  })
  const outputAt = async (seq: number) => {
    const { result, run_id: fork } = await troupe.fork(run_id, seq)
    const { output } = await result
    expect(verifyJournal(await troupe.events(fork).all())).toEqual([])
    expect((await troupe.replay(fork)).differences).toEqual([])
    return output
  }
  expect(await outputAt(seqOf('run:end') - 1)).toBe('second: after none')
  for (let seq = cut; seq < events.length; seq++)
    expect([seq, await outputAt(seq)]).toEqual([seq, 'second: after first: go'])
  await troupe.close()
})
