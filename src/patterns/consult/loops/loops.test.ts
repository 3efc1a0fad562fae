import { describe, expect, test } from 'vitest'
import type { Reply } from '../../../../test/support/consult-replies.ts'
import { answerJson, asker, consultCall, routeTo } from '../../../../test/support/consult-replies.ts'
import {
  consultAgents,
  consultResult,
  createConsultTroupe,
  deliveredTo,
} from '../../../../test/support/consultation.ts'
import { wordEmbedder } from '../../../testing/word-embedder.ts'

const QUESTION = 'Which fields does the user model have?'
const ANSWER = 'The user model has a name, a mail address and a picture.'
const agents = consultAgents.filter(({ name }) => name !== 'guarding')
const askAll = (...questions: string[]) => asker(...questions.map((question) => () => [consultCall(question)]))
const same = (count: number) => Array.from({ length: count }, () => QUESTION)

async function runAll(
  questions: readonly string[],
  given: Parameters<typeof createConsultTroupe>[0] = {},
  options = {},
) {
  const replies = {
    asking: askAll(...questions),
    answering: answerJson(ANSWER),
    checking: answerJson(ANSWER),
    ...given,
  }
  const created = await createConsultTroupe(replies, { agents, ...options })
  const run = await created.task('asking', 'Build the page.')
  const events = await created.consultEvents(run.run_id)
  const loops = events.filter(({ type }) => type === 'consult:loop').map(({ data }) => data)
  const asked = created.model.requests.filter(({ session }) => ['answering', 'checking'].includes(session.agent))
  return { ...created, run, events, loops, asked: asked.map(({ session }) => session.agent) }
}

const toWhoeverIsLeft: Reply = ({ messages }) => {
  const isLeft = (name: string) => JSON.stringify(messages).includes(`- ${name}:`)
  return routeTo(['answering', 'checking', 'backend_developer'].find(isLeft) ?? '')
}

describe('loops of other kinds', () => {
  const questions = ['What is next?', 'How to go on?', 'Who decides this?', 'Which option is right?', 'Is it settled?']
  const unclear = answerJson('I cannot say until the requirements are clear.')

  test('CS220 answers in a row without anything new are found in a run', async () => {
    const { loops } = await runAll([...questions, 'Any news here?'], { answering: unclear })
    expect(loops[0]).toMatchObject({ loop_type: 'repeated_answers', resolution: 'continued' })
  })

  test('CS220 agents that ask each other in turn without anything new are found across runs', async () => {
    const created = await createConsultTroupe(
      {
        orchestrator: ({ messages }) =>
          routeTo(JSON.stringify(messages).includes('- answering:') ? 'answering' : 'asking'),
        asking: unclear,
        answering: unclear,
      },
      { agents: agents.filter(({ name }) => name !== 'checking') },
    )
    for (const [index, question] of [...questions, 'Any news here?', 'What now?'].entries())
      await created.troupe.run('consult', { question, as: index % 2 === 0 ? 'asking' : 'answering' })
    const found = await created.troupe.query({ table: 'collaboration_loops' }).all()
    expect(found[0]).toMatchObject({ loop_type: 'alternation', resolution: 'continued' })
  })
})

describe('identical questions', () => {
  test('CS210 the third time gets the earlier answer with advice, and no specialist is asked', async () => {
    const { run, loops, asked } = await runAll(same(3))
    expect(asked).toEqual(['answering', 'answering'])
    expect(loops).toMatchObject([
      { loop_type: 'identical_questions', resolution: 'continued', evidence: [{ question: QUESTION }, {}] },
    ])
    expect(deliveredTo(run)).toMatchObject({
      status: 'resolved',
      response: { answer: ANSWER },
      note: expect.stringContaining('Do not ask it again'),
    })
  })

  test('CS211 then another specialist, then a person; the answer of the person starts over', async () => {
    let asked = 0
    const orchestrator = (request: { messages: readonly unknown[] }) =>
      routeTo(
        asked++ < 2 || !JSON.stringify(request.messages).includes('checking of the test') ? 'answering' : 'checking',
      )
    const { troupe, run, loops } = await runAll(same(6), { orchestrator })
    expect(run.status).toBe('waiting')
    expect(loops.map(({ resolution }) => resolution)).toEqual(['continued', 'continued', 'escalated'])
    const ended = await (await troupe.answer(run.gates[0]?.gate_id ?? '', 'The fields are in the schema file.')).result
    expect(ended.status).toBe('completed')
    expect(deliveredTo(ended)).toMatchObject({ status: 'resolved', source: 'specialist' })
  })

  test('CS210 CS211 the limits are set by name', async () => {
    const once = { consult: { limits: { max_identical_questions: 1 } } }
    expect((await runAll(same(2), {}, once)).asked).toEqual(['answering'])
    const replies = { orchestrator: toWhoeverIsLeft, backend_developer: answerJson(ANSWER) }
    const patient = { consult: { limits: { escalation_after_loops: 2 } } }
    const { run, loops } = await runAll(same(8), replies, patient)
    expect(run.status).toBe('waiting')
    expect(loops.map(({ resolution }) => resolution)).toEqual(['continued', 'continued', 'continued', 'escalated'])
  })

  test('QS2 QS3 near-identical questions are found by an embedder, opposites never', async () => {
    const embedder = { ...wordEmbedder(), close: async () => {} }
    const paraphrases = [
      QUESTION,
      'Which fields does the user model now have?',
      'The user model, which fields does it have?',
    ]
    expect((await runAll(paraphrases, {}, { embedder })).loops).toMatchObject([{ loop_type: 'identical_questions' }])
    const opposites = [
      'Should we increase the timeout of the user model?',
      'Should we decrease the timeout of the user model?',
    ]
    const numbers = [
      'Should we set the timeout of the user model to 5?',
      'Should we set the timeout of the user model to 9?',
    ]
    expect((await runAll([...opposites, ...numbers], {}, { embedder })).loops).toEqual([])
  })

  test('QS4 without an embedder, or when it fails, words are compared', async () => {
    const broken = {
      id: 'broken',
      threshold: 0.5,
      embed: () => Promise.reject(new Error('no memory')),
      close: async () => {},
    }
    const questions = [QUESTION, `Please, ${QUESTION}`, QUESTION.toUpperCase()]
    expect((await runAll(questions)).loops).toHaveLength(1)
    expect((await runAll(questions, {}, { embedder: broken })).loops).toHaveLength(1)
  })

  test('CS213 the window is an hour and ten consultations of this agent in this project', async () => {
    const others = Array.from({ length: 10 }, (_, index) => `What is rule number ${index}?`)
    const answers = (request: { session: { session_id: string } }) => answerJson(`It is ${request.session.session_id}.`)
    const { loops } = await runAll([QUESTION, QUESTION, ...others, QUESTION], { answering: answers })
    expect(loops).toEqual([])
    const narrow = { consult: { limits: { window_hours: 1e-9 } } }
    expect((await runAll(same(3), {}, narrow)).loops).toEqual([])
  })

  test('LP17 a consultation that missed its deadline does not count', async () => {
    const never = () => new Promise<never>(() => {})
    const options = { agents, consult: { deadlines: { normal: 20 } } }
    const { troupe } = await createConsultTroupe({ answering: never }, options)
    const ask = () => troupe.run('consult', { question: QUESTION, as: 'asking' })
    for (const _ of [1, 2, 3]) expect((await ask()).output).toMatchObject({ status: 'timeout' })
    expect((await troupe.query({ table: 'collaboration_loops' })).items).toEqual([])
  })
})

describe('wait-for cycles', () => {
  const question = 'Which page needs the field?'

  test('CS216 a specialist that asks the agent which waits for it gets the missing information from the orchestrator', async () => {
    let routes = 0
    const orchestrator = (request: { session: { instructions?: string }; messages: readonly unknown[] }) =>
      JSON.stringify(request).includes('Agents wait for each other')
        ? { text: JSON.stringify({ answer: null, missing_information: ['Which page is it?'], who_could_know: null }) }
        : routeTo(routes++ === 0 ? 'answering' : 'asking')
    const seen: unknown[] = []
    const { loops, events } = await runAll([QUESTION], {
      orchestrator: orchestrator as never,
      answering: (request) => {
        if (request.session.turn === 1) return { calls: [consultCall(question)] }
        seen.push(consultResult(request))
        return answerJson('It depends on the page.')
      },
    })
    expect(seen).toMatchObject([{ missing_information: ['Which page is it?'], consulted_agent: 'orchestrator' }])
    expect(loops).toMatchObject([{ loop_type: 'circular_dependency', resolution: 'resolved' }])
    expect(JSON.stringify(loops)).toContain('asking')
    expect(events.filter(({ type }) => type === 'consult:request')).toHaveLength(2)
  })
})
