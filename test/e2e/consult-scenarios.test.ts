import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../src/entries/models.ts'
import type { RunResult, TroupeOptions } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import type { Reply } from '../support/consult-replies.ts'
import { answerJson, asker, consultCall } from '../support/consult-replies.ts'
import { consultResult, deliveredTo } from '../support/consultation.ts'
import { createSqlStore } from '../support/sql-store.ts'
import type { ModelReply } from '../support/test-troupe.ts'
import { functionModel, lastMessageText } from '../support/test-troupe.ts'

/*
 * The end-to-end scenarios of the specification, with the shipped agents: an agent asks in the middle of its work, and what happened
 * is in the database for anyone who reads it with SQL.
 */

interface Scene {
  /** Runs `task` with this agent. */
  start(agent: string): Promise<RunResult>
  troupe: Awaited<ReturnType<typeof createTroupe>>
  requests: ModelRequest[]
  /** Closes the troupe and reads its database with plain SQL. */
  sql(query: string): Promise<Record<string, unknown>[]>
}

async function createScene(replies: Record<string, Reply>, options: TroupeOptions = {}): Promise<Scene> {
  const { path, sql } = createSqlStore(() => troupe.close())
  const model = functionModel((request) => {
    const reply = replies[request.session.agent]
    if (!reply) throw new Error(`no reply for ${request.session.agent}`)
    return typeof reply === 'function' ? reply(request) : reply
  })
  const troupe = await createTroupe({ store: path, model, embedder: false, config: false, ...options })
  return {
    troupe,
    requests: model.requests,
    start: (agent) => troupe.run('task', { agent, instruction: 'Do your part of the shop.' }),
    async sql(query) {
      await troupe.close()
      return sql(query)
    },
  }
}

function decide(reason: string, ...agents: string[]): ModelReply {
  const rationale = `${agents.join(' and ')} can answer it.`
  return { text: JSON.stringify({ needed: 'facts', agents, reason, rationale, confidence: 0.9 }) }
}

const COLLABORATIONS =
  'SELECT requesting_agent, specialist_agent, consultation_reason, status, escalated FROM agent_collaborations ORDER BY created_at, id'
const EXCHANGES = 'SELECT from_agent, to_agent, message_type FROM collaboration_exchanges ORDER BY rowid'
const OUTCOMES =
  'SELECT outcome_type, resolution_summary, success_rating, lessons_learned FROM collaboration_outcomes ORDER BY rowid'

/** The prompt of an agent's first request. */
function promptOf({ requests }: Scene, agent: string): string {
  const request = requests.find(({ session }) => session.agent === agent)
  return request ? lastMessageText(request) : ''
}

describe('the scenarios of the specification', () => {
  test('CS85 security review: the backend developer asks, the security expert answers, the rating is kept', async () => {
    const question = 'Is this login implementation secure?'
    const snippet = { path: 'src/login.ts', text: 'const token = md5(user.id)' }
    const scene = await createScene({
      backend_developer: asker(
        () => [consultCall(question, { context: { current_task: 'Build the login.', code_snippets: [snippet] } })],
        (request) => {
          const { collaboration_id } = consultResult(request)
          return [{ name: 'rate_consultation', input: { collaboration_id, rating: 5, lessons_learned: 'Never md5.' } }]
        },
      ),
      orchestrator: decide('security_review', 'security_expert'),
      security_expert: answerJson('No: the token can be guessed.', {
        code_reference: 'src/login.ts line 1',
        suggested_next_steps: ['Use random tokens'],
      }),
    })
    expect(await scene.start('backend_developer')).toMatchObject({ status: 'completed' })
    expect(promptOf(scene, 'orchestrator')).toContain(question)
    expect(promptOf(scene, 'security_expert')).toContain('md5(user.id)')
    expect(await scene.sql(COLLABORATIONS)).toEqual([
      {
        requesting_agent: 'backend_developer',
        specialist_agent: 'security_expert',
        consultation_reason: 'security_review',
        status: 'resolved',
        escalated: 0,
      },
    ])
    expect(await scene.sql(EXCHANGES)).toEqual([
      { from_agent: 'backend_developer', to_agent: 'security_expert', message_type: 'question' },
      { from_agent: 'security_expert', to_agent: 'backend_developer', message_type: 'response' },
    ])
    const [outcome] = await scene.sql(OUTCOMES)
    expect(outcome).toMatchObject({ outcome_type: 'successful', success_rating: 5, lessons_learned: 'Never md5.' })
  })

  test('CS86 API clarification: the suggestion is not followed, the specialist asks back, the answer is delivered', async () => {
    const scene = await createScene({
      frontend_developer: asker(
        () => [consultCall('What does POST /users return on conflict?', { suggested_agent: 'project_manager' })],
        (request) => [
          consultCall('The one of version 2.', { collaboration_id: consultResult(request).collaboration_id }),
        ],
      ),
      orchestrator: decide('api_clarification', 'backend_developer'),
      backend_developer: ({ session }) =>
        session.turn === 1
          ? { text: JSON.stringify({ clarification_needed: 'Of which version?' }) }
          : answerJson('409 with the id of the existing user'),
    })
    const output = deliveredTo(await scene.start('frontend_developer'))
    expect(output).toMatchObject({
      status: 'resolved',
      consulted_agent: 'backend_developer',
      response: { answer: '409 with the id of the existing user' },
    })
    const [routed] = (await scene.troupe.query({ table: 'agent_collaborations' }).all()).map(({ run_id }) => run_id)
    const events = await scene.troupe.events(String(routed)).all()
    expect(events.find(({ type }) => type === ('consult:routed' as string))?.data).toMatchObject({
      hint: 'not_followed',
      rationale: expect.stringContaining('The suggestion project_manager was not followed.'),
    })
    const types = (await scene.sql(EXCHANGES)).map(({ message_type }) => message_type)
    expect(types).toEqual(['question', 'clarification', 'question', 'response'])
    expect(await scene.sql(COLLABORATIONS)).toMatchObject([
      { specialist_agent: 'backend_developer', consultation_reason: 'api_clarification', status: 'resolved' },
    ])
  })

  test('CS92 bug debugging: the first developer gives no answer, another one finds the cause', async () => {
    const routes = [decide('bug_debugging', 'backend_developer'), decide('bug_debugging', 'frontend_developer')]
    let routed = 0
    const error = 'SessionError: duplicate key'
    const scene = await createScene({
      qa_engineer: asker(() => [
        consultCall('Login fails intermittently. Why?', { context: { error_messages: [error] } }),
      ]),
      orchestrator: () => routes[routed++] ?? decide('bug_debugging'),
      backend_developer: { text: ' ' },
      frontend_developer: answerJson('A race in the creation of sessions', {
        code_reference: 'src/session.ts line 40',
      }),
    })
    const output = deliveredTo(await scene.start('qa_engineer'))
    expect(output).toMatchObject({
      status: 'resolved',
      consulted_agent: 'frontend_developer',
      response: { answer: 'A race in the creation of sessions', code_reference: 'src/session.ts line 40' },
    })
    // The fallback of the scenario is the asker itself: the orchestrator decides again, and is told why.
    expect(routed).toBe(2)
    expect(promptOf(scene, 'frontend_developer')).toContain(error)
    expect(await scene.sql(COLLABORATIONS)).toMatchObject([
      { requesting_agent: 'qa_engineer', specialist_agent: 'frontend_developer', status: 'resolved' },
    ])
  })

  test('CS91 loop: the same question again and again is noticed, then a person is asked, whose answer resolves it', async () => {
    const question = 'Should pagination start at 0 or 1?'
    const turns = Array.from({ length: 8 }, () => () => [consultCall(question)])
    const scene = await createScene({
      frontend_developer: asker(...turns),
      orchestrator: decide('requirements', 'project_manager'),
      project_manager: answerJson('It depends.'),
      architect: answerJson('It depends.'),
    })
    const parked = await scene.start('frontend_developer')
    expect(parked.status).toBe('waiting')
    const [gate] = parked.gates
    expect(gate?.question).toContain(question)
    expect(gate?.question).toMatch(/Why you are asked: .*asked/)
    const { status } = await (await scene.troupe.answer(gate?.gate_id ?? '', 'At 1.')).result
    expect(['completed', 'waiting']).toContain(status)
    const rows = await scene.sql(COLLABORATIONS)
    expect(rows.filter(({ escalated }) => escalated === 1).length).toBeGreaterThan(0)
    const loops = await scene.sql('SELECT loop_type, resolution FROM collaboration_loops ORDER BY detected_at, rowid')
    expect(new Set(loops.map(({ loop_type }) => loop_type))).toEqual(new Set(['identical_questions']))
    expect(loops.map(({ resolution }) => resolution).slice(0, 3)).toEqual(['continued', 'continued', 'escalated'])
    const outcomes = await scene.sql(OUTCOMES)
    expect(outcomes).toContainEqual(
      expect.objectContaining({ outcome_type: 'escalated', resolution_summary: expect.stringContaining('At 1.') }),
    )
  })

  test('CS88 several specialists: a question that spans two fields gets one answer, and a second question its own', async () => {
    const scene = await createScene({
      backend_developer: asker(
        () => [consultCall('How do we deploy the new login without logging everybody out, and is that safe?')],
        () => [consultCall('Is the logout part of this release?')],
      ),
      orchestrator: (request) => {
        const prompt = lastMessageText(request)
        if (prompt.includes('<answers>')) return answerJson('Roll out in two steps; rotate the keys after the second.')
        return prompt.includes('part of this release')
          ? decide('requirements', 'project_manager')
          : decide('infrastructure', 'devops_engineer', 'security_expert')
      },
      devops_engineer: answerJson('Roll out in two steps.'),
      security_expert: answerJson('Rotate the keys after the second step.'),
      project_manager: answerJson('No, in the next one.'),
    })
    const output = deliveredTo(await scene.start('backend_developer'))
    expect(output).toMatchObject({ consulted_agent: 'project_manager', response: { answer: 'No, in the next one.' } })
    expect(await scene.sql(COLLABORATIONS)).toMatchObject([
      { specialist_agent: 'devops_engineer', consultation_reason: 'infrastructure', status: 'resolved' },
      { specialist_agent: 'project_manager', consultation_reason: 'requirements', status: 'resolved' },
    ])
    const asked = await scene.sql("SELECT to_agent FROM collaboration_exchanges WHERE message_type = 'question'")
    expect(asked.map(({ to_agent }) => to_agent).sort()).toEqual([
      'devops_engineer',
      'project_manager',
      'security_expert',
    ])
    const [first] = await scene.sql(OUTCOMES)
    expect(first?.resolution_summary).toContain('Roll out in two steps; rotate the keys')
  })

  test.each([
    ['model_data', 'frontend_developer', 'What fields are in the User model?', 'backend_developer'],
    ['requirements', 'qa_engineer', 'Should pagination start at 0 or 1?', 'project_manager'],
    ['infrastructure', 'backend_developer', 'How should I structure Docker volumes?', 'devops_engineer'],
  ])('CS80 %s: %s asks, the usual specialist answers', async (reason, requesting_agent, question, specialist_agent) => {
    const scene = await createScene({
      [requesting_agent]: asker(() => [consultCall(question)]),
      orchestrator: (request) => {
        // The decision of a model that follows the scenarios in its prompt.
        const [, usual = ''] = new RegExp(`- ${reason}: .*\\(usually (\\w+)`).exec(lastMessageText(request)) ?? []
        return decide(reason, usual)
      },
      [specialist_agent]: answerJson('As the team agreed.'),
    })
    const output = deliveredTo(await scene.start(requesting_agent))
    expect(output).toMatchObject({ status: 'resolved', consulted_agent: specialist_agent })
    expect(await scene.sql(COLLABORATIONS)).toEqual([
      { requesting_agent, specialist_agent, consultation_reason: reason, status: 'resolved', escalated: 0 },
    ])
  })

  test('CS100 a busy specialist: the question goes to the fallback of the scenario, and back when it is free', async () => {
    const mayAnswer = Promise.withResolvers<void>()
    const ask = (file: string, more = {}) => [consultCall(`Is the login in ${file} secure?`, more)]
    let first = ''
    const scene = await createScene(
      {
        default: asker(
          () => ask('one.ts', { background: true }),
          (request) => {
            first = consultResult(request).collaboration_id
            return ask('two.ts')
          },
          () => {
            mayAnswer.resolve()
            return [{ name: 'consult_result', input: { collaboration_id: first } }]
          },
          () => ask('three.ts'),
        ),
        orchestrator: decide('security_review', 'security_expert'),
        security_expert: async () => {
          await mayAnswer.promise
          return answerJson('No.')
        },
        reviewer: answerJson('Yes.'),
      },
      { consult: { limits: { max_active_collaborations_per_specialist: 1 } } },
    )
    const run = await scene.start('default')
    expect(deliveredTo(run)).toMatchObject({ consulted_agent: 'security_expert' })
    const prompts = scene.requests.flatMap((request) =>
      request.session.agent === 'orchestrator' ? lastMessageText(request) : [],
    )
    const load = '- security_expert: 1 active; busy, choose it only if nobody else can answer'
    expect(prompts.map((prompt) => prompt.includes(load))).toEqual([false, true, false])
    const events = await scene.troupe.events(run.run_id).all()
    expect(
      events.flatMap(({ type, data }) =>
        type === ('consult:routed' as string) ? (data as { rationale?: string }).rationale : [],
      )[1],
    ).toBe('security_expert was chosen, but it works on a question already; reviewer answers security_review, too.')
    expect(await scene.sql(COLLABORATIONS)).toMatchObject([
      { specialist_agent: 'security_expert', status: 'resolved' },
      { specialist_agent: 'reviewer', status: 'resolved' },
      { specialist_agent: 'security_expert', status: 'resolved' },
    ])
  })
})
