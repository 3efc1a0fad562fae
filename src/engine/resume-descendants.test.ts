import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { contributionJson } from '../../test/support/collaboration.ts'
import type { ModelReply } from '../../test/support/test-troupe.ts'
import { agent, createTestTroupe, functionModel, runToEnd, taskCall } from '../../test/support/test-troupe.ts'
import { verifyJournal } from '../entries/inspect.ts'
import type { ModelRequest } from '../entries/models.ts'
import { definePattern } from '../entries/patterns.ts'
import type { Event, TroupeOptions } from '../index.ts'
import { defineTool } from '../index.ts'
import { foldRun } from '../run-model/reduce-run.ts'
import { scriptedPerformer } from '../testing/scripted-performer.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import { failedDescendants } from './failed-descendants.ts'

/** A provider that can be switched off for some agents; `served` has the agents of its responses, with their turns. */
function switchableModel(reply: (request: ModelRequest) => ModelReply | Promise<ModelReply>) {
  const provider = { down: (_request: ModelRequest) => true, served: [] as string[] }
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    if (provider.down(request)) throw Object.assign(new Error('the provider is down'), { status: 401 })
    provider.served.push(`${name} ${turn}`)
    return reply(request)
  })
  return { provider, model }
}

const isLater = ({ session }: ModelRequest) => session.turn > 1
const isUp = () => false
const text = (request: ModelRequest) => JSON.stringify(request.messages)

const helpers = ['a', 'b', 'c']
const delegate = (names: readonly string[]) => ({ calls: names.map((name) => taskCall(name, `do ${name}`)) })
const agents = ['lead', 'middle', ...helpers].map((name) => agent(name, { extra_tools: ['collaborate'] }))

/** Runs `lead` into an outage, ends the outage, and resumes the run. */
async function runThroughOutage(
  { provider, model }: ReturnType<typeof switchableModel>,
  options: Partial<TroupeOptions> = {},
) {
  const { troupe, task } = await createTestTroupe({ agents, model, limits: { depth: 3 }, ...options })
  const failed = await task('lead', 'go')
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'model_failed' } })
  provider.down = isUp
  const served = provider.served.splice(0)
  const resumed = await (await troupe.resume(failed.run_id)).result
  expect((await troupe.replay(failed.run_id)).differences).toEqual([])
  expect(verifyJournal(await troupe.events(failed.run_id).all())).toEqual([])
  return { failed, resumed, before: served, after: provider.served, last: model.requests.at(-1) as ModelRequest }
}

describe('E22 resume after an outage', () => {
  test('E22 sub-agents that failed are taken up again before their caller goes on', async () => {
    const outage = switchableModel(({ session }) =>
      session.agent === 'lead' && session.turn === 1 ? delegate(helpers) : { text: `${session.agent} is done` },
    )
    outage.provider.down = (request) => isLater(request) || ['b', 'c'].includes(request.session.agent)
    const { resumed, before, after, last } = await runThroughOutage(outage)
    expect(resumed.status).toBe('completed')
    expect(before).toEqual(['lead 1', 'a 1'])
    expect(after).toEqual(['b 1', 'c 1', 'lead 2'])
    for (const name of helpers) expect(text(last)).toContain(`${name} is done`)
    expect(text(last)).not.toContain('the provider is down')
  })

  test('E22 on every level of a tree', async () => {
    const outage = switchableModel(({ session }) => {
      if (session.turn > 1 || session.agent === 'a') return { text: `${session.agent} is done` }
      return delegate(session.agent === 'lead' ? ['middle'] : ['a'])
    })
    outage.provider.down = (request) => isLater(request) || request.session.agent === 'a'
    const { resumed, after, last } = await runThroughOutage(outage)
    expect(resumed.status).toBe('completed')
    expect(after).toEqual(['a 1', 'middle 2', 'lead 2'])
    expect(text(last)).toContain('middle is done')
  })

  test('E22 what a sub-agent did before it failed is not repeated', async () => {
    let payments = 0
    const pay = defineTool({
      name: 'pay',
      description: 'pays',
      input: z.object({}),
      kind: 'act',
      category: 'action',
      execute: () => {
        payments += 1
        return { success: true, output: 'paid' }
      },
    })
    const outage = switchableModel(({ session }) => {
      if (session.turn > 1) return { text: `${session.agent} is done` }
      return session.agent === 'lead' ? delegate(['a']) : { calls: [{ name: 'pay', input: {} }] }
    })
    outage.provider.down = isLater
    const { after } = await runThroughOutage(outage, { tools: [pay], permissions: { allow: ['pay'] } })
    expect(after).toEqual(['a 2', 'lead 2'])
    expect(payments).toBe(1)
  })

  test('E22 a failure that the caller has answered to stays', async () => {
    const outage = switchableModel(({ session }) => {
      if (session.agent !== 'lead') return { text: `${session.agent} is done` }
      return session.turn < 3 ? delegate([helpers[session.turn - 1] as string]) : { text: 'done' }
    })
    outage.provider.down = ({ session }) => session.agent === 'a' || session.turn === 3
    const { resumed, after, last } = await runThroughOutage(outage)
    expect(resumed.status).toBe('completed')
    expect(after).toEqual(['lead 3'])
    expect(text(last)).toContain('the provider is down')
  })

  const startedAs = (request: ModelRequest) =>
    [...text(request).matchAll(/session_id\\+":\\+"([\w-]+)/g)].map(([, id]) => id)
  const inBackground = (names: readonly string[]) => ({
    calls: names.map((name) => taskCall(name, `do ${name}`, { background: true })),
  })

  test('E22 background sub-agents that failed are taken up again, and their results collected', async () => {
    const outage = switchableModel((request) => {
      const { agent: name, turn } = request.session
      if (name !== 'lead' || turn > 2) return { text: `${name} is done` }
      if (turn === 1) return inBackground(['a', 'b'])
      return { calls: startedAs(request).map((session_id) => ({ name: 'task_result', input: { session_id } })) }
    })
    outage.provider.down = (request) => isLater(request) || request.session.agent === 'b'
    const { resumed, before, after, last } = await runThroughOutage(outage)
    expect([resumed.status, before]).toEqual(['completed', ['lead 1', 'a 1']])
    expect(after.toSorted()).toEqual(['b 1', 'lead 2', 'lead 3'])
    for (const name of ['a', 'b']) expect(text(last)).toContain(`${name} is done`)
    expect(text(last)).not.toContain('the provider is down')
  })

  test('E22 a background sub-agent whose failure was collected is taken up again, if its caller has not answered to that', async () => {
    const outage = switchableModel((request) => {
      const { agent: name, turn } = request.session
      if (name !== 'lead' || turn > 2) return { text: `${name} is done` }
      if (turn === 1) return inBackground(['a', 'b'])
      return { calls: startedAs(request).map((session_id) => ({ name: 'task_result', input: { session_id } })) }
    })
    outage.provider.down = ({ session }) => session.turn > 2 || session.agent === 'b'
    const { resumed, before, after, last } = await runThroughOutage(outage)
    expect([resumed.status, before]).toEqual(['completed', ['lead 1', 'a 1', 'lead 2']])
    expect(after.toSorted()).toEqual(['b 1', 'lead 3'])
    for (const name of ['a', 'b']) expect(text(last)).toContain(`${name} is done`)
    expect(text(last)).not.toContain('the provider is down')
  })

  test('E22 a background sub-agent whose failure was delivered at the end of its caller is taken up again', async () => {
    const outage = switchableModel(({ session: { agent: name, turn } }) =>
      name === 'lead' && turn === 1 ? inBackground(['a', 'b']) : { text: `${name} is done` },
    )
    outage.provider.down = ({ session }) => session.turn > 2 || session.agent === 'b'
    const { resumed, before, after, last } = await runThroughOutage(outage)
    expect([resumed.status, before.toSorted()]).toEqual(['completed', ['a 1', 'lead 1', 'lead 2']])
    expect(after).toEqual(['b 1', 'lead 3'])
    for (const name of ['a', 'b']) expect(text(last)).toContain(`${name} is done`)
    expect(text(last)).not.toContain('the provider is down')
  })

  /** `lead` calls `middle`, which starts `a` in the background, and then `b`. */
  const nested = ({ session: { agent: name, turn } }: ModelRequest) => {
    if (name === 'lead' && turn < 3) return delegate([turn === 1 ? 'middle' : 'b'])
    return name === 'middle' && turn === 1 ? inBackground(['a']) : { text: `${name} is done` }
  }
  const isAfter = (answered: number, { session }: ModelRequest) => session.agent === 'lead' && session.turn > answered

  test('E22 a background sub-agent is taken up again with the sub-agent that started it', async () => {
    const outage = switchableModel(nested)
    outage.provider.down = (request) =>
      isAfter(1, request) || request.session.agent === 'a' || (request.session.agent === 'middle' && isLater(request))
    const { resumed, after, last } = await runThroughOutage(outage)
    expect(resumed.status).toBe('completed')
    expect(after.toSorted()).toEqual(['a 1', 'b 1', 'lead 2', 'lead 3', 'middle 2', 'middle 3'])
    expect(text(last)).toContain('middle is done')
  })

  test('E22 a background sub-agent stays as it is when the failure of the sub-agent that started it was answered to', async () => {
    const outage = switchableModel(nested)
    outage.provider.down = (request) =>
      isAfter(2, request) || request.session.agent === 'a' || (request.session.agent === 'middle' && isLater(request))
    const { resumed, before, after } = await runThroughOutage(outage)
    expect([resumed.status, before]).toEqual(['completed', ['lead 1', 'middle 1', 'lead 2', 'b 1']])
    expect(after).toEqual(['lead 3'])
  })

  test.each([
    ['was interrupted', 'answered to that', { answered: 2, failed: [], expected: ['lead 3'] }],
    [
      'was interrupted',
      'failed before it answered',
      { answered: 1, failed: [], expected: ['lead 2', 'b 1', 'lead 3'] },
    ],
    ['failed', 'answered to that', { answered: 2, failed: ['a'], expected: ['lead 3'] }],
    ['failed', 'failed before it answered', { answered: 1, failed: ['a'], expected: ['lead 2', 'b 1', 'lead 3'] }],
  ])(
    'E22 a background sub-agent that %s stays so after the one that started it timed out, and the lead %s',
    async (...row) => {
      const { answered, failed, expected } = row[2]
      const world = simulatedWorld(1)
      const isSlow = ({ session }: ModelRequest) =>
        session.agent === 'a' || (session.agent === 'middle' && session.turn > 1)
      const outage = switchableModel((request) =>
        isSlow(request) ? world.sleep(10_000).then(() => nested(request)) : nested(request),
      )
      outage.provider.down = (request) => isAfter(answered, request) || failed.includes(request.session.agent)
      const timeout = agents.map((each) => (each.name === 'middle' ? { ...each, timeout_ms: 1000 } : each))
      const { resumed, after } = await world.runUntil(runThroughOutage(outage, { agents: timeout, engine: { world } }))
      expect([resumed.status, after]).toEqual(['completed', expected])
    },
  )

  test('E22 background sessions that have collected each other do not keep resume from its work', () => {
    const opening = { agent: agent('a'), depth: 1, parent_session_id: null, segment: 1 }
    const error = { code: 'model_failed' as const, message: 'the provider is down', hint: 'try again' }
    const session = (name: string) => `session/turn/1/tool/${name === 'a' ? 0 : 1}/session`
    const other = { a: 'b', b: 'a' } as const
    const events = [
      (name: string) => ({ type: 'session:open', data: { key: session(name), background: true, ...opening } }),
      (name: 'a' | 'b') => ({
        type: 'tool:error',
        data: { error: 'down', key: `${session(name)}/turn/1/tool/0`, detail: error, collected: [other[name]] },
      }),
      (name: string) => ({ type: 'model:error', data: { key: `${session(name)}/turn/2/model`, error } }),
    ].flatMap((event) => (['a', 'b'] as const).map((name) => ({ session_id: name, ...event(name) })))
    const journal = events.map((event, index) => ({ seq: index + 1, at: 0, ...event })) as unknown as Event[]
    expect(failedDescendants({ model: foldRun(journal), named: [], isFailed: true })).toEqual(
      expect.arrayContaining(['a', 'b'].map((name) => `${session(name)}/turn/2/model`)),
    )
  })

  /** Asks `middle`, and `b` if that fails. */
  const review = definePattern({
    ...{ name: 'review', description: 'A pattern of the test', version: 1, category: 'perception' as const },
    ...{ input: z.object({}), output: z.any() },
    execute: async (context) => {
      const ask = (name: string) =>
        context.perform(context.roster.get(name), { instruction: `do ${name}` }, { key: name })
      const first = await ask('middle')
      const { text, error } = first.error ? await ask('b') : first
      return error ? { success: false, output: null, detail: error } : { success: true, output: text }
    },
  })

  test('E22 a failure that a called pattern has dealt with stays, with all below it', async () => {
    const outage = switchableModel(({ session: { agent: name, turn } }) => {
      if (name === 'lead' && turn === 1) return { calls: [{ name: 'review', input: {} }] }
      return name === 'middle' && turn === 1 ? delegate(['a']) : { text: `${name} is done` }
    })
    outage.provider.down = (request) => isLater(request) || request.session.agent === 'a'
    const lead = agent('lead', { tools: ['review'] })
    const options = { agents: [lead, ...agents.slice(1)], patterns: [review] }
    const { resumed, before, after, last } = await runThroughOutage(outage, options)
    expect([resumed.status, before, after]).toEqual(['completed', ['lead 1', 'middle 1', 'b 1'], ['lead 2']])
    expect(text(last)).toContain('b is done')
  })

  test('J17 a failure that the pattern of the run has dealt with stays, with all below it', async () => {
    const { provider, model } = switchableModel(({ session: { agent: name, turn } }) =>
      name === 'middle' && turn === 1 ? delegate(['a']) : { text: `${name} is done` },
    )
    provider.down = (request) => isLater(request) || ['a', 'b'].includes(request.session.agent)
    const { troupe } = await createTestTroupe({ agents, model, patterns: [review], limits: { depth: 3 } })
    const { run_id, status } = await runToEnd(troupe, 'review', {})
    provider.down = isUp
    const resumed = await (await troupe.resume(run_id)).result
    expect([status, resumed.output, provider.served]).toEqual(['failed', 'b is done', ['middle 1', 'b 1']])
    expect((await troupe.replay(run_id)).differences).toEqual([])
    await troupe.close()
  })

  test('E22 an external agent that failed is taken up again before its caller goes on', async () => {
    const outage = switchableModel(({ session }) =>
      session.turn === 1 ? delegate(['a']) : { text: `${session.agent} is done` },
    )
    outage.provider.down = isLater
    const external = scriptedPerformer({
      actions: [
        { do: 'save', session: 'own' },
        { do: 'throw', message: 'is down' },
      ],
      resumed: [
        { do: 'report', update: { type: 'text', text: 'a is back' } },
        { do: 'finish', result: { stop: 'completed' } },
      ],
    })
    const options = { agents: [agent('lead'), agent('a', { performer: 'external' })], performers: { external } }
    const { resumed, after, last } = await runThroughOutage(outage, options)
    expect([resumed.status, after, external.turns.length]).toEqual(['completed', ['lead 2'], 2])
    expect(text(last)).toContain('a is back')
  })

  test('E22 a collaboration that an agent called hears all its specialists', async () => {
    const outage = switchableModel(({ session }) => {
      if (session.agent === 'lead' && session.turn === 1)
        return {
          calls: [
            {
              name: 'collaborate',
              input: { task: 'ship?', agents: [{ name: 'a' }, { name: 'b' }], synthesis: 'vote' },
            },
          ],
        }
      return { text: session.agent === 'lead' ? 'done' : contributionJson('ship', 0.9) }
    })
    outage.provider.down = (request) => isLater(request) || request.session.agent !== 'lead'
    const { resumed, after, last } = await runThroughOutage(outage)
    expect(resumed.status).toBe('completed')
    expect(after).toEqual(['a 1', 'b 1', 'lead 2'])
    expect(text(last)).toContain('100 %')
  })
})

describe('E23 resume with a higher limit', () => {
  test.each([2, 3, 4])('E23 sub-agents that the limit of %i calls stopped are taken up again', async (calls) => {
    const { provider, model } = switchableModel(({ session }) =>
      session.agent === 'lead' && session.turn === 1 ? delegate(helpers) : { text: `${session.agent} is done` },
    )
    provider.down = isUp
    const { troupe, task } = await createTestTroupe({ agents, model, limits: { calls } })
    const failed = await task('lead', 'go')
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'limit_reached' } })
    const resumed = await (await troupe.resume(failed.run_id, { limits: { calls: 20 } })).result
    expect(resumed.status).toBe('completed')
    expect(provider.served.toSorted()).toEqual(['a 1', 'b 1', 'c 1', 'lead 1', 'lead 2'])
    for (const name of helpers) expect(text(model.requests.at(-1) as ModelRequest)).toContain(`${name} is done`)
  })

  test.each([2, 3])('E23 so is a background sub-agent of a sub-agent, after a limit of %i calls', async (calls) => {
    const { provider, model } = switchableModel(({ session: { agent: name, turn } }) => {
      if (turn > 1 || name === 'a') return { text: `${name} is done` }
      return name === 'lead' ? delegate(['middle']) : { calls: [taskCall('a', 'do a', { background: true })] }
    })
    provider.down = isUp
    const { troupe, task } = await createTestTroupe({ agents, model, limits: { calls, depth: 3 } })
    const failed = await task('lead', 'go')
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'limit_reached' } })
    const resumed = await (await troupe.resume(failed.run_id, { limits: { calls: 20 } })).result
    expect(resumed.status).toBe('completed')
    expect(provider.served.toSorted()).toEqual(['a 1', 'lead 1', 'lead 2', 'middle 1', 'middle 2', 'middle 3'])
    expect(text(model.requests.at(-1) as ModelRequest)).toContain('middle is done')
  })

  test('E23 background sub-agents that the limit stopped are taken up again', async () => {
    const { provider, model } = switchableModel(({ session }) =>
      session.agent === 'lead' && session.turn === 1
        ? { calls: helpers.map((name) => taskCall(name, `do ${name}`, { background: true })) }
        : { text: `${session.agent} is done` },
    )
    provider.down = isUp
    const { troupe, task } = await createTestTroupe({ agents, model, limits: { calls: 2 } })
    const failed = await task('lead', 'go')
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'limit_reached' } })
    const resumed = await (await troupe.resume(failed.run_id, { limits: { calls: 20 } })).result
    expect(resumed.status).toBe('completed')
    expect(provider.served.toSorted()).toEqual(['a 1', 'b 1', 'c 1', 'lead 1', 'lead 2', 'lead 3'])
    for (const name of helpers) expect(text(model.requests.at(-1) as ModelRequest)).toContain(`${name} is done`)
    expect(verifyJournal(await troupe.events(failed.run_id).all())).toEqual([])
  })
})
