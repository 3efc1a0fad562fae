import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { answerJson, asker, consultCall, routeTo } from '../../../test/support/consult-replies.ts'
import {
  CONSULT_TOOLS,
  consultResult,
  createConsultTroupe,
  createSlowModel,
  deliveredTo,
} from '../../../test/support/consultation.ts'
import { agent, lastMessageText, runToEnd, taskCall } from '../../../test/support/test-troupe.ts'
import { TroupeError } from '../../errors.ts'
import { isEvent } from '../../kernel/event.ts'
import { defineTool } from '../../tools/define-tool.ts'

const question = 'What fields has the User model?'
const ask = asker(() => [consultCall(question)])

describe('specialists that do not answer', () => {
  test('CS11 a specialist that asks back for ever ends at max_exchanges_per_collaboration with a person', async () => {
    const questions = ['Which version?', 'Whose account?', 'What colour?', 'How many rows?']
    const { troupe, task } = await createConsultTroupe(
      {
        asking: (request) => {
          if (request.session.turn === 1) return { calls: [consultCall(question)] }
          const { collaboration_id, clarification_needed } = consultResult(request)
          if (clarification_needed === undefined) return { text: lastMessageText(request) }
          return { calls: [consultCall(`Reply ${request.session.turn}.`, { collaboration_id })] }
        },
        answering: ({ session }) => ({ text: JSON.stringify({ clarification_needed: questions[session.turn - 1] }) }),
      },
      { consult: { limits: { max_exchanges_per_collaboration: 3 } } },
    )
    const parked = await task('asking', 'go')
    const [gate] = parked.gates
    expect(parked.status).toBe('waiting')
    expect(gate?.question).toContain('max_exchanges_per_collaboration')
    expect(JSON.stringify(gate?.detail)).toContain('Whose account?')
    const ended = await (await troupe.answer(gate?.gate_id ?? '', 'It has an id.')).result
    expect(deliveredTo(ended)).toMatchObject({
      status: 'resolved',
      consulted_agent: 'user',
      source: 'person',
      response: { answer: 'It has an id.' },
    })
  })

  test('CS20 a specialist that fails is replaced by another; if nobody answers, a person is asked', async () => {
    const orchestrator = ({ messages }: { messages: unknown }) =>
      routeTo(JSON.stringify(messages).includes('- answering:') ? 'answering' : 'guarding')
    const replies = { orchestrator, answering: { text: ' ' }, guarding: answerJson('It has an id.') }
    const { troupe, consultEvents } = await createConsultTroupe(replies)
    const run = await troupe.run('consult', { question })
    expect(run.output).toMatchObject({ consulted_agent: 'guarding', response: { answer: 'It has an id.' } })
    const routed = (await consultEvents(run.run_id)).filter(({ type }) => type === 'consult:routed')
    expect(routed.map(({ data }) => data.agent)).toEqual(['answering', 'guarding'])
    const failing = await createConsultTroupe({ orchestrator, answering: { text: ' ' }, guarding: { text: ' ' } })
    const parked = await failing.troupe.run('consult', { question })
    expect(parked.gates[0]?.question).toContain('answering failed')
  })

  test('CS20 of several specialists that were asked at once and gave no answer, none is asked again', async () => {
    const orchestrator = ({ messages }: { messages: unknown }) => {
      const [first, ...others] = ['answering', 'checking', 'guarding'].filter((name) =>
        JSON.stringify(messages).includes(`- ${name}:`),
      )
      return routeTo(first ?? '', ...others.slice(0, 1))
    }
    const silent = { text: ' ' }
    const replies = { orchestrator, answering: silent, checking: silent, guarding: answerJson('It has an id.') }
    const { troupe, consultEvents } = await createConsultTroupe(replies)
    const run = await troupe.run('consult', { question })
    const routed = (await consultEvents(run.run_id)).filter(({ type }) => type === 'consult:routed')
    expect(routed.map(({ data }) => data.agents ?? data.agent)).toEqual([['answering', 'checking'], 'guarding'])
    expect(run.output).toMatchObject({ consulted_agent: 'guarding', response: { answer: 'It has an id.' } })
  })

  test('CS23 a model that cannot be used fails the run at once, whoever should have used it', async () => {
    const outcome = async (replies: Parameters<typeof createConsultTroupe>[0], options = {}) => {
      const { troupe, model, consultEvents } = await createConsultTroupe(replies, options)
      const run = await runToEnd(troupe, 'consult', { question })
      const failed = (await consultEvents(run.run_id)).filter(({ type }) => type === 'consult:failed')
      return [run.status, run.error?.code, failed.length, model.requests.length]
    }
    const refuse = (code: 'model_auth' | 'script_miss') => () => {
      throw new TroupeError(code, 'the model cannot be used', { hint: 'correct the configuration' })
    }
    expect(await outcome({ orchestrator: refuse('script_miss') })).toEqual(['failed', 'script_miss', 1, 1])
    expect(await outcome({ answering: refuse('model_auth') })).toEqual(['failed', 'model_auth', 1, 2])
    const agents = [agent('asking'), agent('answering', { model: 'nobody/nothing' })]
    expect(await outcome({ answering: answerJson('id') }, { agents })).toEqual(['failed', 'unknown_model', 1, 1])
  })

  test('CS21 no capable agent: a person is asked, and the answer resolves the consultation', async () => {
    const orchestrator = { text: JSON.stringify({ agents: [], rationale: 'Nobody knows contracts.' }) }
    const { troupe, consultEvents } = await createConsultTroupe({ orchestrator })
    const parked = await troupe.run('consult', { question, as: 'asking' })
    expect(parked.status).toBe('waiting')
    expect(parked.gates[0]?.question).toContain('Nobody knows contracts.')
    const ended = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'Ask legal.')).result
    expect(ended.output).toMatchObject({ status: 'resolved', source: 'person', response: { answer: 'Ask legal.' } })
    const types = (await consultEvents(ended.run_id)).map(({ type }) => type)
    expect(types).toEqual(['consult:request', 'consult:escalated', 'consult:response', 'consult:resolved'])
  })

  test('CS20 a specialist that misses the deadline: timeout, with what it had written', async () => {
    const slow = createSlowModel('It has an id')
    const { troupe } = await createConsultTroupe({}, { model: slow, consult: { deadlines: { critical: 30 } } })
    const { output } = await troupe.run('consult', { question, urgency: 'critical' })
    expect(output).toMatchObject({
      status: 'timeout',
      consulted_agent: 'answering',
      response: { answer: 'It has an id' },
    })
  })
})

describe('autonomy', () => {
  const outcome = async (autonomy: 'low' | 'medium' | 'high', confidence: number) => {
    const answering = answerJson('id', { confidence })
    const { troupe } = await createConsultTroupe({ answering }, { consult: { autonomy } })
    return (await troupe.run('consult', { question })).status
  }
  test('CS30 a person is asked always, below 0.7 or below 0.3', async () => {
    expect(await outcome('low', 1)).toBe('waiting')
    expect(await outcome('medium', 0.69)).toBe('waiting')
    expect(await outcome('medium', 0.7)).toBe('completed')
    expect(await outcome('high', 0.3)).toBe('completed')
    expect(await outcome('high', 0.29)).toBe('waiting')
  })

  test('CS31 a person approves an answer, or replaces it', async () => {
    const answering = answerJson('id', { confidence: 0.1 })
    const answered = async (text: string) => {
      const { troupe } = await createConsultTroupe({ answering })
      const parked = await troupe.run('consult', { question })
      return (await (await troupe.answer(parked.gates[0]?.gate_id ?? '', text)).result).output
    }
    expect(await answered('ok')).toMatchObject({ consulted_agent: 'answering', response: { answer: 'id' } })
    expect(await answered('name')).toMatchObject({ consulted_agent: 'user', response: { answer: 'name' } })
  })
})

describe('depth and cycles', () => {
  test('CS40 S20 a child at the depth limit can consult, and its specialist can delegate no deeper', async () => {
    const lead = agent('lead', { tools: ['task', ...CONSULT_TOOLS] })
    const { troupe, task } = await createConsultTroupe(
      { lead: asker(() => [taskCall('asking', 'go')]), asking: ask, answering: answerJson('id') },
      { agents: [lead, agent('asking'), agent('answering')], limits: { depth: 1 } },
    )
    const run = await task('lead', 'go')
    expect((run.output as { response: string }).response).toContain('resolved')
    const opened = (await troupe.events(run.run_id).all()).flatMap((event) =>
      isEvent(event, 'session:open') ? event.data : [],
    )
    const levels = opened.map(({ agent: { name }, depth, max_depth, tools }) => [
      name,
      depth,
      max_depth,
      tools.includes('task'),
    ])
    expect(levels).toEqual([
      ['lead', 0, 1, true],
      ['asking', 1, 1, false],
      ['orchestrator', 2, 2, false],
      ['answering', 2, 2, false],
    ])
    expect(opened.at(-1)?.tools).toContain('consult')
  })

  test('CS44 a specialist without tools of its own has at most those of the asker', async () => {
    const tool = (name: string) =>
      defineTool({
        ...{ name, description: name, input: z.object({}), category: 'perception', kind: 'read' },
        execute: async () => ({ success: true, output: name }),
      })
    const { troupe, task } = await createConsultTroupe(
      { asking: ask, answering: answerJson('id') },
      {
        agents: [agent('asking', { tools: ['consult', 'look'] }), agent('answering', { exclude_tools: ['consult'] })],
        tools: [tool('look'), tool('erase')],
      },
    )
    const { run_id } = await task('asking', 'go')
    const opened = (await troupe.events(run_id).all()).flatMap((event) =>
      isEvent(event, 'session:open') && event.data.agent.name === 'answering' ? event.data : [],
    )
    expect(opened.map(({ tools }) => tools)).toEqual([['look']])
  })

  test('CS216 a question to a role that waits up the chain is answered by the orchestrator, which names what is missing', async () => {
    const cycleReply = { answer: null, missing_information: ['Which version?'], who_could_know: null }
    const { task, consultEvents } = await createConsultTroupe({
      asking: ask,
      answering: asker(() => [consultCall('Which version do you mean?')]),
      orchestrator: ({ messages }) => {
        const text = JSON.stringify(messages)
        if (text.includes('<cycle')) return { text: JSON.stringify(cycleReply) }
        return routeTo(text.includes('Which version do you mean?') ? 'asking' : 'answering')
      },
    })
    const run = await task('asking', 'go')
    expect(run.status).toBe('completed')
    const inner = deliveredTo(run)
    expect(JSON.stringify(inner)).toContain('Which version?')
    const loop = (await consultEvents(run.run_id)).find(({ type }) => type === 'consult:loop')
    expect(loop?.data).toMatchObject({ loop_type: 'circular_dependency', resolution: 'resolved' })
  })
})

describe('the queue of an asker', () => {
  test('CS42 more than max_active_collaborations_per_agent wait, ordered by urgency', async () => {
    const order: string[] = []
    const mayAnswer = Promise.withResolvers<void>()
    const { task } = await createConsultTroupe(
      {
        asking: asker(() => [
          consultCall('first?'),
          consultCall('low?', { urgency: 'low' }),
          consultCall('critical?', { urgency: 'critical' }),
        ]),
        answering: async ({ messages }) => {
          const [, name = ''] = /(first|low|critical)\?/.exec(JSON.stringify(messages)) ?? []
          order.push(name)
          // The others have to be in the queue before the first one ends.
          if (order.length === 1) setTimeout(mayAnswer.resolve, 300)
          await mayAnswer.promise
          return answerJson('id')
        },
      },
      { consult: { limits: { max_active_collaborations_per_agent: 1 } } },
    )
    await task('asking', 'go')
    expect(order).toEqual([order[0], ...['critical', 'first', 'low'].filter((name) => name !== order[0])])
  })
})

describe('in the background', () => {
  test('CS50 a background consultation returns at once, and consult_result gets the answer', async () => {
    const mayAnswer = Promise.withResolvers<void>()
    const { task, troupe } = await createConsultTroupe({
      asking: asker(
        () => [consultCall(question, { background: true })],
        (request) => {
          const { status, collaboration_id } = consultResult(request)
          expect(status).toBe('in_progress')
          return [{ name: 'consult_result', input: { collaboration_id, wait: false } }]
        },
        (request) => {
          const { status, collaboration_id } = consultResult(request)
          expect(status).toBe('in_progress')
          mayAnswer.resolve()
          return [{ name: 'consult_result', input: { collaboration_id } }]
        },
      ),
      answering: async () => {
        await mayAnswer.promise
        return answerJson('id')
      },
    })
    const run = await task('asking', 'go')
    expect(deliveredTo(run)).toMatchObject({ status: 'resolved', response: { answer: 'id' } })
    const [row] = await troupe.query({ table: 'agent_collaborations' }).all()
    expect(row).toMatchObject({ request_tokens: 10, response_tokens: 5 })
  })

  test('CS51 S22 an answer that was not collected is delivered before the asker ends, and resolves the consultation', async () => {
    const { task, consultEvents } = await createConsultTroupe({
      asking: (request) => {
        if (request.session.turn === 1) return { calls: [consultCall(question, { background: true })] }
        return { text: request.session.turn === 2 ? 'done' : lastMessageText(request) }
      },
      answering: answerJson('id'),
    })
    const run = await task('asking', 'go')
    expect((run.output as { response: string }).response).toContain('"status":"resolved"')
    expect((await consultEvents(run.run_id)).at(-1)?.type).toBe('consult:resolved')
  })
})

describe('wrong input', () => {
  test('CS70 wrong input is refused before anything is paid, with the alternatives', async () => {
    const { troupe, model } = await createConsultTroupe({ answering: answerJson('id') })
    const refused = async (input: object) => {
      const error = await troupe.run('consult', { question, ...input }).then(
        (run) => run.error,
        (thrown) => thrown,
      )
      return [error?.code, error?.message] as [string, string]
    }
    expect(await refused({ question: ' ' })).toEqual(['invalid_input', '`question` is empty'])
    expect((await refused({ question: 'x'.repeat(1_000_000) }))[0]).toBe('too_large')
    expect((await refused({ as: 'nobody' }))[0]).toBe('unknown_agent')
    expect((await refused({ suggested_agent: 'answerin' }))[1]).toContain('answering')
    expect((await refused({ collaboration_id: 'x' }))[1]).toContain('`collaboration_id` is unknown')
    expect(model.requests).toHaveLength(0)
    const { output } = await troupe.run('consult', { question, consultation_reason: 'my own words' })
    expect(output).toMatchObject({ status: 'resolved' })
  })

  test('CS71 a rating is 1 to 5, and a second one replaces the first', async () => {
    const { troupe } = await createConsultTroupe({ answering: answerJson('id') })
    const { collaboration_id } = (await troupe.run('consult', { question })).output ?? { collaboration_id: '' }
    const rate = (rating: number) =>
      troupe.run('rate_consultation', { collaboration_id, rating, lessons_learned: 'Ask.' })
    await expect(rate(7)).rejects.toMatchObject({ code: 'invalid_input' })
    expect((await rate(2)).output).toEqual({ collaboration_id, success_rating: 2 })
    expect((await rate(5)).output).toEqual({ collaboration_id, success_rating: 5, replaced: 2 })
    const [row] = await troupe.query({ table: 'collaboration_outcomes', where: { collaboration_id } }).all()
    expect(row).toMatchObject({ success_rating: 5, lessons_learned: 'Ask.', outcome_type: 'successful' })
  })
})
