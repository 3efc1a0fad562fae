import { describe, expect, test } from 'vitest'
import type { Reply } from '../../../test/support/consult-replies.ts'
import { answerJson, asker, consultCall, routeTo } from '../../../test/support/consult-replies.ts'
import { CONSULT_TOOLS, collectCall, createConsultTroupe, deliveredTo } from '../../../test/support/consultation.ts'
import { agent, runToEnd } from '../../../test/support/test-troupe.ts'
import { verifyJournal } from '../../entries/inspect.ts'
import type { ModelRequest } from '../../entries/models.ts'
import type { TroupeOptions } from '../../index.ts'

const question = 'Who waters the plants?'
const SPECIALISTS = ['answering', 'guarding', 'checking'] as const

/** Routes to the first specialist that can still be asked. */
const routeToNext = ({ messages }: Pick<ModelRequest, 'messages'>) =>
  routeTo(SPECIALISTS.find((name) => JSON.stringify(messages).includes(`- ${name}:`)) ?? '')

/** A troupe whose provider is down for the agents in `down`. `served` has the agents in the order of their responses. */
async function createOutage(replies: Record<string, Reply>, options: TroupeOptions = {}) {
  const down = new Set<string>()
  const served: string[] = []
  const all: Record<string, Reply> = {
    orchestrator: routeToNext,
    ...Object.fromEntries(SPECIALISTS.map((name) => [name, answerJson(`from ${name}`)])),
    ...replies,
  }
  const agents = ['asking', ...SPECIALISTS].map((name) => agent(name, { tools: CONSULT_TOOLS, description: name }))
  const troupe = await createConsultTroupe(
    Object.fromEntries(
      Object.entries(all).map(([name, reply]) => [
        name,
        (request: ModelRequest) => {
          if (down.has(name) || down.has(`${name} ${request.session.turn}`))
            throw Object.assign(new Error('the account has no credit'), { status: 402 })
          served.push(name)
          return typeof reply === 'function' ? reply(request) : reply
        },
      ]),
    ),
    { agents, ...options },
  )
  const check = async (run_id: string) => {
    expect((await troupe.troupe.replay(run_id)).differences).toEqual([])
    expect(verifyJournal(await troupe.troupe.events(run_id).all())).toEqual([])
  }
  const setDown = (names: readonly string[]) => {
    down.clear()
    for (const name of names) down.add(name)
    served.length = 0
  }
  return {
    ...troupe,
    served,
    check,
    setDown,
    async run(...names: string[]) {
      setDown(names)
      const result = await runToEnd(troupe.troupe, 'consult', { question })
      await check(result.run_id)
      return result
    },
    /** Ends the outage, but for these agents, and resumes the run. */
    async resume(run_id: string, ...names: string[]) {
      setDown(names)
      const result = await (await troupe.troupe.resume(run_id)).result
      await check(run_id)
      return result
    },
  }
}

/** The specialist that the row of the consultation names: a follow-up goes to its session. */
async function lastRouted({ troupe }: Awaited<ReturnType<typeof createOutage>>) {
  const [row] = await troupe.query({ table: 'agent_collaborations' }).all()
  return row?.specialist_agent
}

describe('CS24 an outage during a consultation', () => {
  test('CS24 of every specialist fails the run; resume asks them again, and pays for nothing twice', async () => {
    const outage = await createOutage({})
    const failed = await outage.run(...SPECIALISTS)
    expect([failed.status, failed.error?.code, failed.gates]).toEqual(['failed', 'model_failed', []])
    expect(failed.error?.message).toMatch(/answering.*no credit.*guarding.*no credit.*checking/)
    expect(outage.served).toEqual(['orchestrator', 'orchestrator', 'orchestrator'])
    const resumed = await outage.resume(failed.run_id)
    expect(outage.served).toEqual(['answering'])
    expect(resumed).toMatchObject({
      status: 'completed',
      output: { status: 'resolved', consulted_agent: 'answering', response: { answer: 'from answering' } },
    })
    expect(await lastRouted(outage)).toBe('answering')
  })

  test('CS24 of every specialist that lasts: each resume asks all of them, and routes nothing anew', async () => {
    const outage = await createOutage({})
    const { run_id } = await outage.run(...SPECIALISTS)
    const again = await outage.resume(run_id, ...SPECIALISTS)
    expect([again.status, outage.served]).toEqual(['failed', []])
    const resumed = await outage.resume(run_id, 'answering')
    expect([resumed.status, outage.served]).toEqual(['completed', ['guarding']])
    expect(resumed.output).toMatchObject({ consulted_agent: 'guarding', response: { answer: 'from guarding' } })
    expect(await lastRouted(outage)).toBe('guarding')
  })

  test('CS24 of one specialist: another one is asked, and nothing is left to resume', async () => {
    const outage = await createOutage({})
    const { status, output, incomplete } = await outage.run('answering')
    expect([status, incomplete]).toEqual(['completed', undefined])
    expect(output).toMatchObject({ consulted_agent: 'guarding' })
  })

  test('CS24 of the orchestrator: no person is asked, and resume routes the question', async () => {
    const outage = await createOutage({})
    const failed = await outage.run('orchestrator')
    expect([failed.status, failed.error?.code, failed.gates]).toEqual(['failed', 'model_failed', []])
    const resumed = await outage.resume(failed.run_id)
    expect([resumed.status, outage.served]).toEqual(['completed', ['orchestrator', 'answering']])
  })

  test('CS24 of several specialists that are asked at once: resume asks each of them', async () => {
    const outage = await createOutage({
      orchestrator: (request) =>
        request.messages.length > 0 && JSON.stringify(request).includes('- answering:')
          ? routeTo('answering', 'guarding')
          : routeToNext(request),
    })
    const { run_id, status } = await outage.run(...SPECIALISTS)
    expect(status).toBe('failed')
    const resumed = await outage.resume(run_id)
    expect(resumed.status).toBe('completed')
    expect(outage.served.toSorted()).toEqual(['answering', 'guarding', 'orchestrator'])
  })

  test('CS24 of the specialists and of the asker: resume asks the specialists before the asker goes on', async () => {
    const outage = await createOutage({ asking: asker(() => [consultCall(question)]) })
    outage.setDown([...SPECIALISTS, 'asking 2'])
    const failed = await outage.task('asking', 'go')
    expect([failed.status, outage.served]).toEqual(['failed', ['asking', ...Array(3).fill('orchestrator')]])
    const resumed = await outage.resume(failed.run_id)
    expect([resumed.status, outage.served]).toEqual(['completed', ['answering', 'asking']])
    expect(deliveredTo(resumed)).toMatchObject({ status: 'resolved', response: { answer: 'from answering' } })
  })

  const inBackground = asker(() => [consultCall(question, { background: true })], collectCall)

  const others = { clarification_needed: null, additional_context: null, code_reference: null }
  const complete = answerJson('from answering', { ...others, suggested_next_steps: [] })

  test('CS24 in the background, before the answer is collected: resume asks the same specialist, and routes nothing anew', async () => {
    const outage = await createOutage({ asking: inBackground, answering: complete })
    outage.setDown([...SPECIALISTS, 'asking 2'])
    const failed = await outage.task('asking', 'go')
    expect([failed.status, outage.served]).toEqual(['failed', ['asking', 'orchestrator']])
    const resumed = await outage.resume(failed.run_id)
    expect([resumed.status, outage.served.toSorted()]).toEqual(['completed', ['answering', 'asking', 'asking']])
    expect(deliveredTo(resumed)).toMatchObject({ status: 'resolved', consulted_agent: 'answering' })
    const exchanges = await outage.troupe.query({ table: 'collaboration_exchanges' }).all()
    expect(exchanges.map(({ message_type }) => message_type)).toEqual(['question', 'response'])
  })

  test('CS24 in the background, after the failure was collected: resume asks one of the others', async () => {
    const outage = await createOutage({ asking: inBackground })
    outage.setDown([...SPECIALISTS, 'asking 3'])
    const failed = await outage.task('asking', 'go')
    expect([failed.status, failed.error?.step]).toEqual(['failed', 'session/turn/3/model'])
    const resumed = await outage.resume(failed.run_id)
    expect([resumed.status, outage.served]).toEqual(['completed', ['guarding', 'asking']])
    expect(deliveredTo(resumed)).toMatchObject({ status: 'resolved', consulted_agent: 'guarding' })
    // Three decisions of the orchestrator and one answer: 10 tokens for each request, 5 for each response.
    const [row] = await outage.troupe.query({ table: 'agent_collaborations' }).all()
    expect(row).toMatchObject({ status: 'resolved', routing_tokens: 45, request_tokens: 10, response_tokens: 5 })
  })

  /** Nobody but the first specialist can answer. */
  const onlyAnswering: Reply = ({ messages }) =>
    JSON.stringify(messages).includes('- answering:') ? routeTo('answering') : routeTo()

  test('CS24 in the background, without another specialist: no person is asked, and resume asks the same one again', async () => {
    const outage = await createOutage({ asking: inBackground, orchestrator: onlyAnswering, answering: complete })
    outage.setDown(['answering', 'asking 3'])
    const failed = await outage.task('asking', 'go')
    expect([failed.status, failed.gates]).toEqual(['failed', []])
    const resumed = await outage.resume(failed.run_id)
    expect([resumed.status, outage.served]).toEqual(['completed', ['answering', 'asking']])
    expect(deliveredTo(resumed)).toMatchObject({ status: 'resolved', consulted_agent: 'answering' })
  })

  test('CS24 in the background, without another specialist, delivered at the end of the asker: it goes on with the failure', async () => {
    const asking = asker(() => [consultCall(question, { background: true })])
    const outage = await createOutage({ asking, orchestrator: onlyAnswering })
    outage.setDown(['answering', 'asking 3'])
    const failed = await outage.task('asking', 'go')
    expect([failed.status, failed.gates]).toEqual(['failed', []])
    const resumed = await outage.resume(failed.run_id)
    expect([resumed.status, outage.served]).toEqual(['completed', ['asking']])
    expect(JSON.stringify(resumed.output)).toContain(
      'no specialist answered: answering failed: the account has no credit',
    )
  })

  test('CS24 in the background, after the failure was delivered at the end of the asker: resume asks one of the others', async () => {
    const outage = await createOutage({ asking: asker(() => [consultCall(question, { background: true })]) })
    outage.setDown([...SPECIALISTS, 'asking 3'])
    const failed = await outage.task('asking', 'go')
    expect([failed.status, failed.error?.step]).toEqual(['failed', 'session/turn/3/model'])
    const resumed = await outage.resume(failed.run_id)
    expect([resumed.status, outage.served]).toEqual(['completed', ['guarding', 'asking']])
    expect(JSON.stringify(resumed.output)).toContain('from guarding')
  })

  test('CS24 a limit of the run: resume with a higher one asks the same specialist', async () => {
    const outage = await createOutage({})
    const failed = await runToEnd(outage.troupe, 'consult', { question }, { limits: { calls: 1 } })
    expect([failed.status, failed.stop_reason, failed.gates]).toEqual(['failed', 'budget', []])
    await outage.check(failed.run_id)
    outage.setDown([])
    const resumed = await (await outage.troupe.resume(failed.run_id, { limits: { calls: 10 } })).result
    await outage.check(failed.run_id)
    expect([resumed.status, outage.served]).toEqual(['completed', ['answering']])
  })
})
