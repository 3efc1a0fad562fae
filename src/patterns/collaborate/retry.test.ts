import { describe, expect, test } from 'vitest'
import type { CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import { contributionJson, judgeReply } from '../../../test/support/collaboration.ts'
import { agent, createTestTroupe, functionModel, runToEnd } from '../../../test/support/test-troupe.ts'
import { verifyJournal } from '../../entries/inspect.ts'
import type { ModelRequest } from '../../entries/models.ts'
import type { TroupeOptions } from '../../index.ts'

type Reply = string | ((request: ModelRequest) => string)

const text = (request: ModelRequest) => JSON.stringify(request.messages)

/** A collaboration whose provider is down for some agents until `down` is emptied. `served` has the agents in the order of their responses. */
async function createOutage(input: object, replies: Record<string, Reply>, options: Partial<TroupeOptions> = {}) {
  const down = new Set<string>()
  const served: string[] = []
  const model = functionModel((request) => {
    const { agent: name } = request.session
    if (down.has(name)) throw Object.assign(new Error('the provider is down'), { status: 401 })
    served.push(name)
    const reply = replies[name] ?? replies.everybody ?? contributionJson('ship', 0.9, { response: `view of ${name}` })
    return { text: typeof reply === 'string' ? reply : reply(request) }
  })
  const agents = ['a', 'b', 'c', 'd', 'e'].map((name) => agent(name, {}))
  const { troupe } = await createTestTroupe({ agents, model, embedder: false, ...options })
  const check = async (run_id: string) => {
    expect((await troupe.replay(run_id)).differences).toEqual([])
    expect(verifyJournal(await troupe.events(run_id).all())).toEqual([])
  }
  return {
    troupe,
    served,
    model,
    async run(...names: string[]) {
      for (const name of names) down.add(name)
      const result = await runToEnd(troupe, 'collaborate', { task: 'Ship it?', ...input } as never)
      await check(result.run_id)
      return result
    },
    /** Ends the outage, but for these agents, and resumes the run. */
    async resume(run_id: string, ...names: string[]) {
      down.clear()
      for (const name of names) down.add(name)
      served.length = 0
      const result = await (await troupe.resume(run_id)).result
      await check(run_id)
      return { ...result, output: result.output as CollaborateRunOutput }
    },
  }
}

const five = { agents: ['a', 'b', 'c', 'd', 'e'] }
const coordinator = (request: ModelRequest) => `from ${new Set(text(request).match(/view of \w/g)).size}`

describe('CO128 resume of a partial collaboration', () => {
  test('E26 CO128 asks exactly the specialists that failed in an outage, and writes the synthesis anew', async () => {
    const outage = await createOutage(five, { coordinator })
    const partial = await outage.run('b', 'd')
    expect(partial).toMatchObject({
      status: 'partial',
      stop_reason: 'partial',
      output: { result: 'from 3', metadata: { status: 'partial' } },
    })
    const resumed = await outage.resume(partial.run_id)
    expect(outage.served).toEqual(['b', 'd', 'coordinator'])
    expect(resumed).toMatchObject({ status: 'completed', stop_reason: 'completed', output: { result: 'from 5' } })
    expect(resumed.output.metadata).toMatchObject({ status: 'completed', agents_count: 5 })
    expect(resumed.output.metadata.total_tokens).toBe(resumed.usage.input + resumed.usage.output)
    const again = await outage.resume(partial.run_id)
    expect([again.output, outage.served]).toEqual([resumed.output, []])
  })

  test('CO128 a second outage leaves the run partial, and the next resume asks only who is still missing', async () => {
    const outage = await createOutage(five, { coordinator })
    const { run_id } = await outage.run('b', 'd')
    const second = await outage.resume(run_id, 'd')
    expect([second.stop_reason, second.output.result, outage.served]).toEqual([
      'partial',
      'from 4',
      ['b', 'coordinator'],
    ])
    const third = await outage.resume(run_id)
    expect([third.stop_reason, third.output.result, outage.served]).toEqual([
      'completed',
      'from 5',
      ['d', 'coordinator'],
    ])
  })

  test('CO128 only the coordinator is asked when only the coordinator failed', async () => {
    const outage = await createOutage(five, { coordinator })
    const partial = await outage.run('coordinator')
    expect([partial.status, partial.stop_reason]).toEqual(['partial', 'partial'])
    const resumed = await outage.resume(partial.run_id)
    expect([resumed.stop_reason, resumed.output.result, outage.served]).toEqual([
      'completed',
      'from 5',
      ['coordinator'],
    ])
  })

  test('CO128 a specialist and the coordinator that failed are both asked again, once', async () => {
    const outage = await createOutage(five, { coordinator })
    const { run_id } = await outage.run('a', 'coordinator')
    const resumed = await outage.resume(run_id)
    expect([resumed.stop_reason, resumed.output.result, outage.served]).toEqual([
      'completed',
      'from 5',
      ['a', 'coordinator'],
    ])
  })

  test('CO128 a failure of the collaboration itself is part of its result and is not retried', async () => {
    const outage = await createOutage(five, { b: '', coordinator })
    const { run_id } = await outage.run()
    outage.served.length = 0
    const resumed = await outage.resume(run_id)
    expect([resumed.status, outage.served]).toEqual(['partial', []])
  })

  test('CO128 sequential: later specialists are not asked again', async () => {
    const outage = await createOutage({ ...five, mode: 'sequential' }, { coordinator })
    const { run_id } = await outage.run('b')
    const resumed = await outage.resume(run_id)
    expect(outage.served).toEqual(['b', 'coordinator'])
    expect(resumed.output.contributions.every(({ status }) => status === 'completed')).toBe(true)
  })

  test('CO128 hierarchical: subtasks that waited for a failed one are carried out', async () => {
    const division = JSON.stringify({
      plan: 'two parts',
      assignments: [
        { agent: 'b', subtask: 'first' },
        { agent: 'c', subtask: 'second', depends_on: [1] },
      ],
    })
    let lead = 0
    const outage = await createOutage(
      { agents: ['a', 'b', 'c'], mode: 'hierarchical' },
      { a: () => (lead++ === 0 ? division : 'the answer') },
    )
    const { run_id, stop_reason } = await outage.run('b')
    expect(stop_reason).toBe('failed')
    const resumed = await outage.resume(run_id)
    expect([resumed.stop_reason, resumed.output.result]).toEqual(['completed', 'the answer'])
    expect(outage.served).toEqual(['b', 'c', 'a'])
  })

  test('CO128 a vote counts the retried agent, and agents of later waves that had answered', async () => {
    const input = { ...five, synthesis: 'vote', vote: { wave: 2 } }
    const outage = await createOutage(input, {
      everybody: (request) => contributionJson(request.session.agent === 'c' ? 'wait' : 'ship', 0.9),
    })
    const partial = await outage.run('b')
    const asked = (partial.output as CollaborateRunOutput).contributions.map((each) => each.agent)
    const resumed = await outage.resume(partial.run_id)
    expect(outage.served).toEqual(['b'])
    expect(resumed.output.contributions.map((each) => each.agent)).toEqual(asked)
    expect(resumed.output.contributions.every(({ error }) => error === undefined)).toBe(true)
    expect(resumed.output.vote?.winner).toBe('ship')
  })

  test('CO128 a judge that failed is asked again, and the votes are counted anew', async () => {
    const words: Record<string, string> = { a: 'yes', b: 'yes, do it' }
    const outage = await createOutage(
      { agents: ['a', 'b'], synthesis: 'vote' },
      {
        everybody: ({ session }) => contributionJson(words[session.agent] ?? '', 0.9),
        judge: judgeReply(() => true),
      },
    )
    const open = await outage.run('judge')
    expect(open).toMatchObject({ stop_reason: 'partial', output: { decided: false } })
    const resumed = await outage.resume(open.run_id)
    expect(outage.served).toEqual(['judge'])
    expect(resumed).toMatchObject({ stop_reason: 'completed', output: { decided: true } })
  })

  test('CO128 a specialist that failed in the mediation round is asked again, and only that one', async () => {
    const words: Record<string, string> = { a: 'increase the timeout', b: 'decrease the timeout' }
    let isDown = true
    const outage = await createOutage(
      { agents: ['a', 'b'], synthesis: 'vote', on_conflict: 'mediate' },
      {
        everybody: ({ session }) => contributionJson(words[session.agent] ?? '', 0.9),
        b: ({ messages }) => {
          if (isDown && messages.length > 1) throw Object.assign(new Error('the provider is down'), { status: 402 })
          return contributionJson(messages.length > 1 ? 'increase the timeout' : 'decrease the timeout', 0.9)
        },
      },
    )
    const open = await outage.run()
    expect(open).toMatchObject({ stop_reason: 'partial' })
    isDown = false
    const resumed = await outage.resume(open.run_id)
    expect(outage.served).toEqual(['b'])
    expect(resumed).toMatchObject({ stop_reason: 'completed', output: { vote: { winner: 'increase the timeout' } } })
  })

  test('CO128 mediation that depended on a missing specialist is worked out anew, in the sessions as they were before it', async () => {
    const outage = await createOutage(
      { agents: ['a', 'b', 'c'], synthesis: 'vote', on_conflict: 'mediate' },
      {
        everybody: contributionJson('increase the timeout', 0.9, { response: 'view of everybody' }),
        b: contributionJson('decrease the timeout', 0.9, { response: 'view of b' }),
        c: contributionJson('remove the timeout', 0.9, { response: 'view of c' }),
        judge: judgeReply(() => false),
      },
    )
    const open = await outage.run('c')
    expect([open.stop_reason, outage.served]).toEqual(['partial', ['a', 'b', 'a', 'b']])
    const before = outage.model.requests.length
    const resumed = await outage.resume(open.run_id)
    const served = outage.served.filter((name) => name !== 'judge')
    expect([resumed.stop_reason, served[0], served.toSorted()]).toEqual(['completed', 'c', ['a', 'b', 'c', 'c']])
    const mediation = outage.model.requests.slice(before + 1).filter(({ session }) => session.agent !== 'judge')
    expect(mediation.map(({ messages }) => messages.length)).toEqual([3, 3, 3])
    for (const request of mediation) expect(text(request).match(/specialists disagree/g)).toHaveLength(1)
  })

  test('E27 CO128 a collaboration as a tool: resume asks its missing specialists before a caller that failed goes on', async () => {
    const input = { task: 'Ship it?', agents: [{ name: 'a' }, { name: 'b' }], synthesis: 'merge' }
    const down = new Set(['b', 'lead 2'])
    const served: string[] = []
    const model = functionModel((request) => {
      const { agent: name, turn } = request.session
      if (down.has(name) || down.has(`${name} ${turn}`)) throw Object.assign(new Error('down'), { status: 402 })
      served.push(`${name} ${turn}`)
      if (name !== 'lead') return { text: contributionJson(`advice of ${name}`) }
      return turn === 1 ? { calls: [{ name: 'collaborate', input }] } : { text: 'done' }
    })
    const agents = ['lead', 'a', 'b'].map((name) => agent(name, { extra_tools: ['collaborate'] }))
    const { troupe, task } = await createTestTroupe({ agents, model, embedder: false })
    const failed = await task('lead', 'go')
    expect(failed.status).toBe('failed')
    down.clear()
    served.length = 0
    const resumed = await (await troupe.resume(failed.run_id)).result
    expect([resumed.status, served]).toEqual(['completed', ['b 1', 'lead 2']])
    expect(text(model.requests.at(-1) as ModelRequest)).toContain('advice of b')
    expect((await troupe.replay(failed.run_id)).differences).toEqual([])
    expect(verifyJournal(await troupe.events(failed.run_id).all())).toEqual([])
  })
})
