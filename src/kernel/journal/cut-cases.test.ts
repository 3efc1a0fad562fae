import { expect, test } from 'vitest'
import { z } from 'zod'
import { agent, createTroupeWithStore, functionModel, runToEnd } from '../../../test/support/test-troupe.ts'
import { verifyJournal } from '../../entries/inspect.ts'
import type { Context } from '../../entries/patterns.ts'
import { definePattern } from '../../entries/patterns.ts'
import type { ErrorRecord } from '../../index.ts'
import { isEvent, TroupeError } from '../../index.ts'
import { simulatedWorld } from '../../testing/simulated-world.ts'

function patternWith(name: string, execute: (context: Context) => Promise<object>) {
  return definePattern({
    ...{ name, description: 'A pattern of the test', version: 1, category: 'perception' as const },
    input: z.object({}),
    output: z.any(),
    execute: execute as never,
  })
}

function outage() {
  return Object.assign(new Error('down'), { status: 402 })
}

/** Serves steps by name; `first` fails until `recover` is called. */
function firstIsDown() {
  const served: string[] = []
  let isDown = true
  const serve = (name: string, text: string) => {
    if (isDown && name === 'first') throw new TroupeError('model_failed', 'down', { hint: 'wait' })
    served.push(name)
    return text
  }
  const recover = () => {
    isDown = false
  }
  return { served, serve, recover }
}

test('J22 a step is worked out anew though its key begins with that of a step that stays', async () => {
  const { served, serve, recover } = firstIsDown()
  const pattern = patternWith('review', async (context) => {
    const incomplete = []
    const plan = await context.step('plan', () => 'plan')
    let first = 'none'
    try {
      first = await context.step('first', () => serve('first', 'first'))
    } catch (e) {
      incomplete.push((e as TroupeError).toJSON())
    }
    const late = await context.step('plan/late', () => serve('late', `late after ${first}`))
    return { success: true, output: [plan, first, late], incomplete }
  })
  const troupe = await createTroupeWithStore({ model: functionModel(() => ({})), agents: [], patterns: [pattern] })
  const { run_id } = await troupe.run('review', {})
  recover()
  const { output } = await (await troupe.resume(run_id)).result
  expect([served, output]).toEqual([
    ['late', 'first', 'late'],
    ['plan', 'first', 'late after first'],
  ])
  await troupe.close()
})

test('J22 a background session of cut work ends at the cut, and the new work starts its own', async () => {
  const served: string[] = []
  let isDown = true
  const model = functionModel(({ session, messages }) => {
    const json = JSON.stringify(messages)
    const results = messages.filter(({ role }) => role === 'tool').length
    if (isDown && session.agent !== 'second') throw outage()
    if (isDown && results > 0) throw outage()
    served.push(`${session.agent} ${json.includes('new') ? 'new' : 'old'}`)
    if (session.agent === 'second' && results === 0)
      return {
        calls: [
          {
            name: 'task',
            input: { agent: 'worker', instruction: json.includes('first first') ? 'new' : 'old', background: true },
          },
        ],
      }
    return { text: `${session.agent} ${json.includes('new') ? 'new' : json.includes('old') ? 'old' : 'first'}` }
  })
  const lead = agent('second', { tools: ['task'] })
  const pattern = patternWith('review', async (context) => {
    const one = await context.perform(agent('first'), { instruction: 'go' }, { key: 'first' })
    const two = await context.perform(lead, { instruction: `first ${one.text}` }, { key: 'second' })
    return { success: true, output: [one.text, two.text], incomplete: [one.error, two.error].flatMap((e) => e ?? []) }
  })
  const troupe = await createTroupeWithStore({
    model,
    agents: [agent('first'), lead, agent('worker')],
    patterns: [pattern],
  })
  const { run_id } = await troupe.run('review', {})
  isDown = false
  const { output } = await (await troupe.resume(run_id)).result
  expect(output).toEqual(['first first', 'second new'])
  expect(served).not.toContain('worker old')
  expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
  expect((await troupe.replay(run_id)).differences).toEqual([])
  await troupe.close()
})

test('J22 sessions behind a retried one in a queue keep what they did, and a pattern collects the new results', async () => {
  const served: string[] = []
  let isDown = true
  const model = functionModel(({ session, messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').length
    if (isDown && (session.agent === 'a' || results > 0)) throw outage()
    served.push(`${session.agent} ${results}`)
    if (session.agent === 'b' && results === 0) return { calls: [{ name: 'act', input: {} }] }
    return { text: session.agent }
  })
  const pattern = patternWith('review', async (context) => {
    const ids = []
    for (const name of ['a', 'b'])
      ids.push(
        await context.startBackground(
          agent(name, { tools: ['act'] }),
          { instruction: name, queue: { name: 'q', limit: 1, rank: 0 } } as never,
          { key: name },
        ),
      )
    const results = []
    for (const [i, id] of ids.entries()) results.push(await context.collect(`c${i}`, id, { wait: true }))
    return {
      success: true,
      output: results.map((each) => each?.text),
      incomplete: results.flatMap((each) => each?.error ?? []),
    }
  })
  const acted: string[] = []
  const act = {
    name: 'act',
    description: 'acts',
    kind: 'act',
    category: 'action',
    input: z.object({}),
    execute: async () => ({ success: true, output: acted.push('act') }),
  }
  const troupe = await createTroupeWithStore({
    model,
    agents: [],
    patterns: [pattern],
    tools: [act as never],
    permissions: { allow: ['act'] } as never,
  })
  const { run_id } = await troupe.run('review', {})
  isDown = false
  const { output } = await (await troupe.resume(run_id)).result
  expect(output).toEqual(['a', 'b'])
  expect(served).toEqual(['b 0', 'a 0', 'b 1'])
  expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
  expect((await troupe.replay(run_id)).differences).toEqual([])
  expect(acted).toEqual(['act'])
  await troupe.close()
})

test('J22 a step that is worked out anew leaves steps whose keys begin with its own, also actions', async () => {
  const { served, serve, recover } = firstIsDown()
  const pattern = patternWith('review', async (context) => {
    const incomplete: ErrorRecord[] = []
    const attempt = context.step('first', () => serve('first', 'first'))
    const first = await attempt.catch((error: TroupeError) => {
      incomplete.push(error.toJSON())
      return 'none'
    })
    const kept = await context.perform(agent('kept'), { instruction: first, keep: true }, { key: 'plan/kept' })
    const plan = await context.step('plan', () => serve('plan', `after ${first}`))
    return { success: true, output: [kept.text, plan], incomplete }
  })
  const model = functionModel(() => ({ text: serve('kept', 'kept') }))
  const troupe = await createTroupeWithStore({ model, agents: [agent('kept')], patterns: [pattern] })
  const { run_id } = await troupe.run('review', {})
  recover()
  const { output } = await (await troupe.resume(run_id)).result
  expect([served, output]).toEqual([
    ['kept', 'plan', 'first', 'plan'],
    ['kept', 'after first'],
  ])
  expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
  expect((await troupe.replay(run_id)).differences).toEqual([])
  await troupe.close()
})

test('ST13 a question of cut work leaves the inbox, and an answer to it names the open ones', async () => {
  let isDown = true
  const serve = () => {
    if (isDown) throw new TroupeError('model_failed', 'down', { hint: 'wait' })
    return 'one'
  }
  const pattern = patternWith('review', async (context) => {
    const incomplete: ErrorRecord[] = []
    const first = await context.step('first', serve).catch((error: TroupeError) => {
      incomplete.push(error.toJSON())
      return 'none'
    })
    const answer = context.ask('gate', { question: `after ${first}?`, detail: {} })
    return { success: true, output: first === 'none' ? first : await answer, incomplete }
  })
  const troupe = await createTroupeWithStore({ model: functionModel(() => ({})), agents: [], patterns: [pattern] })
  const { run_id } = await troupe.run('review', {})
  const asked = (await troupe.events(run_id).all()).flatMap((event) => (isEvent(event, 'gate:open') ? event.data : []))
  isDown = false
  expect((await (await troupe.resume(run_id)).result).status).toBe('waiting')
  const gates = await troupe.gates({ run_id }).all()
  expect(gates.map(({ question }) => question)).toEqual(['after one?'])
  await expect(troupe.answer(asked[0]?.gate_id ?? '', 'yes')).rejects.toMatchObject({ code: 'unknown_gate' })
  await troupe.answer(gates[0]?.gate_id ?? '', 'go')
  expect((await (await troupe.resume(run_id)).result).output).toBe('go')
  await troupe.close()
})

test('J22 what a branch did after it had looked up a model stays, however long the lookup takes', async () => {
  const served: string[] = []
  let isDown = true
  const model = functionModel(() => {
    if (isDown) throw outage()
    return { text: 'first' }
  })
  const resolver = {
    resolve: async (name?: string) => {
      if (name === 'slow') await new Promise((resolve) => setTimeout(resolve, 20))
      return model
    },
  }
  const pattern = patternWith('review', async (context) => {
    const act = async () => {
      await context.modelProblem('slow')
      await context.step('later', () => new Promise((resolve) => setTimeout(resolve, 50)))
      return context.step('act', () => served.push('act'), { kind: 'act' })
    }
    const [{ text, error }] = await Promise.all([
      context.perform(agent('first'), { instruction: 'go' }, { key: 'first' }),
      act(),
    ])
    return { success: true, output: text, incomplete: error ? [error] : [] }
  })
  const troupe = await createTroupeWithStore({ models: { resolver }, agents: [], patterns: [pattern] })
  const { run_id } = await troupe.run('review', {})
  isDown = false
  expect((await (await troupe.resume(run_id)).result).output).toBe('first')
  expect(served).toEqual(['act'])
  await troupe.close()
})

test('J23 an answer with `keep` stays when what it depends on is retried; one without is asked for anew', async () => {
  const served: string[] = []
  let isDown = true
  const model = functionModel(({ session, messages }) => {
    if (isDown && session.agent === 'first') throw Object.assign(new Error('down'), { status: 402 })
    served.push(session.agent)
    return {
      text: `${session.agent} ${JSON.stringify(messages).includes('first first') ? 'with' : 'without'} the first`,
    }
  })
  const pattern = patternWith('review', async (context) => {
    const ask = (name: string, instruction: string, keep?: true) =>
      context.perform(agent(name), { instruction, ...(keep ? { keep } : undefined) }, { key: name })
    const { text, error } = await ask('first', 'go')
    const others = [await ask('kept', `first ${text}`, true), await ask('other', `first ${text}`)]
    return { success: true, output: others.map((each) => each.text), incomplete: error ? [error] : [] }
  })
  const agents = ['first', 'kept', 'other'].map((name) => agent(name))
  const troupe = await createTroupeWithStore({ model, agents, patterns: [pattern] })
  const { run_id } = await troupe.run('review', {})
  isDown = false
  const { output } = await (await troupe.resume(run_id)).result
  expect(served).toEqual(['kept', 'other', 'first', 'other'])
  expect(output).toEqual(['kept without the first', 'other with the first'])
  expect((await troupe.replay(run_id)).differences).toEqual([])
  expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
  await troupe.close()
})

test.each([
  ['retry_keys', 'incomplete', async () => ({ success: true, output: 1, retry_keys: ['a'] })],
  ...(['earlierWork', 'supersede', 'journalKey'] as const).map(
    (name) =>
      [
        name,
        name === 'journalKey' ? 'path' : 'keep',
        async (context: Context) => (context as never as Record<string, () => object>)[name]?.() ?? {},
      ] as const,
  ),
] as const)('J24 a pattern that uses `%s` gets an error that names `%s`', async (removed, instead, execute) => {
  const troupe = await createTroupeWithStore({
    model: functionModel(() => ({})),
    agents: [],
    patterns: [patternWith('old', execute as never)],
  })
  const { error } = await runToEnd(troupe, 'old', {})
  expect([error?.message, error?.hint]).toEqual([expect.stringContaining(removed), expect.stringContaining(instead)])
  await troupe.close()
})

test('J17 a session that reached its own time limit, which the pattern has dealt with, stays, with what came after it', async () => {
  const served: string[] = []
  let isDown = true
  const serve = (name: string) => {
    if (isDown && name === 'last') throw new TroupeError('model_failed', 'down', { hint: 'wait' })
    return served.push(name)
  }
  const pattern = patternWith('review', async (context) => {
    const { error } = await context.perform(agent('slow', { timeout_ms: 1000 }), { instruction: 'go' }, { key: 'slow' })
    await context.step('act', () => serve('act'), { kind: 'act' })
    await context.step('last', () => serve('last'))
    return { success: true, output: error?.code }
  })
  const world = simulatedWorld(1, { idle_turns: 50_000 })
  const model = functionModel(() => new Promise(() => {}))
  await world.runUntil(
    (async () => {
      const troupe = await createTroupeWithStore({ model, agents: [], patterns: [pattern], engine: { world } })
      const { run_id, status } = await runToEnd(troupe, 'review', {})
      isDown = false
      const { output } = await (await troupe.resume(run_id)).result
      expect([status, output, served, model.requests.length]).toEqual(['failed', 'timeout', ['act', 'last'], 1])
      expect((await troupe.replay(run_id)).differences).toEqual([])
      await troupe.close()
    })(),
  )
})
