import { describe, expect, test } from 'vitest'
import type { AgentReplies } from '../../../test/support/collaboration.ts'
import {
  contributionJson,
  lastInstruction,
  permanentError,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import type { ModelRequest } from '../../index.ts'

const agents = ['lead', 'back', 'front', 'infra'].map((name) => ({ name, role: name, focus: `${name} things` }))
const team = { mode: 'hierarchical', agents }

interface Assigned {
  agent: string
  subtask: string
  depends_on?: (string | number)[]
  model?: string
}
const plan = (...assignments: Assigned[]) => JSON.stringify({ plan: 'divide and do', assignments })
/** A lead that gives these divisions, one after the other, and then writes the answer. */
const leading =
  (...divisions: string[]) =>
  (request: ModelRequest) =>
    request.output ? (divisions[request.session.turn - 1] ?? '') : 'The whole.'
const work: AgentReplies = {
  back: contributionJson('rest', 0.9),
  front: contributionJson('rest', 0.9),
  infra: contributionJson('rest', 0.9),
}
const built = plan(
  { agent: 'back', subtask: 'the api' },
  { agent: 'front', subtask: 'the page', depends_on: ['back'] },
  { agent: 'infra', subtask: 'the host', depends_on: [1] },
)
const partOf = (request: ModelRequest | undefined) => lastInstruction(request as ModelRequest)

describe('dividing', () => {
  test('CO35 the first agent divides, the others do their parts, and it writes the answer in its own session', async () => {
    const { output, model, troupe, result } = await runCollaboration({ ...work, lead: leading(built) }, team)
    expect(output.result).toBe('The whole.')
    expect(output.contributions.map(({ agent, role, response, subtask }) => [agent, role, response, subtask])).toEqual([
      ['lead', 'coordinator', 'divide and do', undefined],
      ['back', 'back', 'because of rest', 'the api'],
      ['front', 'front', 'because of rest', 'the page'],
      ['infra', 'infra', 'because of rest', 'the host'],
    ])
    const [asked, writing] = model.requestsFrom('lead')
    expect(partOf(asked)).toContain('# Specialists\n- back: back (back things)\n- front: front (front things)')
    expect(partOf(writing)).toContain('because of rest')
    expect(writing?.messages.length).toBe(3)
    expect(await troupe.sessions(result.run_id)).toHaveLength(4)
    expect(output.metadata).toMatchObject({ mode: 'hierarchical', agents_count: 4, status: 'completed' })
  })

  test('CO36 independent parts run at the same time; a part that depends on others starts after them and sees them', async () => {
    const { model } = await runCollaboration({ ...work, lead: leading(built) }, team)
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['lead', 'back', 'front', 'infra', 'lead'])
    expect(partOf(model.requestsFrom('front')[0])).toContain('# What was said before you\n## back (back)')
    expect(partOf(model.requestsFrom('back')[0])).not.toContain('What was said before you')
    expect(partOf(model.requestsFrom('back')[0])).toContain('# Your part of the task\nthe api')
    const both = Promise.withResolvers<void>()
    let begun = 0
    const together = async () => {
      begun += 1
      if (begun === 2) both.resolve()
      await both.promise
      return [
        { type: 'text' as const, text: contributionJson('x') },
        { type: 'finish' as const, stop: 'end' as const, usage },
      ]
    }
    const apart = plan({ agent: 'back', subtask: 'one' }, { agent: 'front', subtask: 'two' })
    const { result } = await runCollaboration({ lead: leading(apart), back: together, front: together }, team)
    expect(result.status).toBe('completed')
  })

  test('CO36 an assignment may name its model', async () => {
    const cheap = plan({ agent: 'back', subtask: 'easy', model: 'fast' }, { agent: 'front', subtask: 'hard' })
    const { events } = await runCollaboration({ ...work, lead: leading(cheap) }, team)
    const opened = events
      .filter(({ type }) => type === 'session:open')
      .map(({ data }) => data as { agent: { name: string }; model?: string })
    expect(opened.find((open) => open.agent.name === 'back')?.model).toBe('fast')
    expect(opened.find((open) => open.agent.name === 'front')?.model).toBeUndefined()
  })
})

describe('divisions that cannot be used', () => {
  const wrong = plan({ agent: 'backend', subtask: 'the api' }, { agent: 'front', subtask: 'the page' })

  test('CO37 an unknown agent goes back to the coordinator once, with the reason and the names', async () => {
    const { output, model } = await runCollaboration({ ...work, lead: leading(wrong, built) }, team)
    expect(model.requestsFrom('lead')).toHaveLength(3)
    const corrected = partOf(model.requestsFrom('lead')[1])
    expect(corrected).toContain("- assignment 1: no specialist is called 'backend'")
    expect(corrected).toContain('The specialists are: back, front, infra.')
    expect(output.contributions[0]?.tokens_used).toBe(30)
    expect(output.metadata.status).toBe('completed')
    expect(output.metadata.problems).toBeUndefined()
  })

  test('CO37 what is wrong even then is left out and reported: status partial', async () => {
    const { output, model } = await runCollaboration({ ...work, lead: leading(wrong, wrong) }, team)
    expect(model.requestsFrom('lead')).toHaveLength(3)
    expect(output.contributions.map(({ agent }) => agent)).toEqual(['lead', 'front'])
    expect(output.metadata).toMatchObject({
      status: 'partial',
      problems: ["assignment 1: no specialist is called 'backend'"],
    })
  })

  test('CO37 parts that wait for each other are treated likewise', async () => {
    const circle = plan(
      { agent: 'back', subtask: 'x', depends_on: ['front'] },
      { agent: 'front', subtask: 'y', depends_on: ['back'] },
      { agent: 'infra', subtask: 'z' },
    )
    const { output } = await runCollaboration({ ...work, lead: leading(circle, circle) }, team)
    expect(output.contributions.map(({ agent }) => agent)).toEqual(['lead', 'infra'])
    expect(output.metadata.problems).toEqual(['assignments 1 and 2 wait for each other'])
  })

  test('CO37 a correction that is worse does not count: the first division is used as far as it goes', async () => {
    const { output } = await runCollaboration(
      {
        ...work,
        lead: (request) => (request.output ? (request.session.turn === 1 ? wrong : 'no idea') : 'The whole.'),
      },
      team,
    )
    expect(output.contributions.map(({ agent }) => agent)).toEqual(['lead', 'front'])
    expect(output.metadata.problems?.[0]).toBe("assignment 1: no specialist is called 'backend'")
  })

  test('CO37 when nothing can be used the collaboration fails and says why', async () => {
    const nobody = plan({ agent: 'x', subtask: 'y' })
    const { result } = await runCollaboration({ ...work, lead: leading(nobody, nobody) }, team)
    expect(result.error?.message).toBe("the work could not be divided: assignment 1: no specialist is called 'x'")
    const prose = await runCollaboration({ ...work, lead: 'Let us all do it.' }, team)
    expect(prose.result).toMatchObject({ status: 'failed', error: { code: 'model_invalid_response' } })
    const out = await runCollaboration({ ...work, lead: permanentError('ill') }, team)
    expect(out.result.error?.message).toContain('ill')
    expect(out.events.at(-2)?.data).toMatchObject({ status: 'failed' })
  })
})

describe('parts that fail', () => {
  test('CO38 what depends on a failed part is not begun; the rest is done, and both are disclosed', async () => {
    const { output, model } = await runCollaboration(
      {
        ...work,
        back: permanentError('no luck'),
        lead: leading(
          plan(
            { agent: 'back', subtask: 'a' },
            { agent: 'front', subtask: 'b', depends_on: [1] },
            { agent: 'infra', subtask: 'c' },
          ),
        ),
      },
      team,
    )
    expect(model.requestsFrom('front')).toEqual([])
    expect(output.contributions.map(({ agent, status }) => [agent, status])).toEqual([
      ['lead', 'completed'],
      ['back', 'failed'],
      ['front', 'failed'],
      ['infra', 'completed'],
    ])
    expect(output.contributions[2]?.error?.message).toBe('not begun: it needs what back could not deliver')
    expect(output.metadata.status).toBe('partial')
    const written = partOf(model.requestsFrom('lead')[1])
    expect(written).toContain('Who could not be heard')
    expect(written).toContain('- front (front): not begun')
  })

  test('CO38 where every part fails the collaboration fails with each reason: a plan is no answer', async () => {
    const out = { back: permanentError('one'), front: permanentError('two'), infra: permanentError('three') }
    const apart = plan({ agent: 'back', subtask: 'a' }, { agent: 'front', subtask: 'b' })
    const { result, model } = await runCollaboration({ ...out, lead: leading(apart) }, team)
    expect(result.error?.message).toMatch(/^all 2 agents failed: back: .*one.*; front: .*two/)
    expect(result.output).toMatchObject({ contributions: [{ agent: 'lead', response: 'divide and do' }, {}, {}] })
    expect(model.requestsFrom('lead')).toHaveLength(1)
  })

  test('CO35 best_of judges the parts and not the plan; a vote counts the parts', async () => {
    const best = JSON.stringify({
      scores: [1, 2, 3].map((answer) => ({ answer, score: answer, reason: '' })),
      best: 3,
      reason: 'r',
    })
    const { output } = await runCollaboration(
      { ...work, lead: leading(built), evaluator: best },
      { ...team, synthesis: 'best_of' },
    )
    expect(output.best_of).toMatchObject({ index: 3, agent: 'infra' })
    const voted = await runCollaboration({ ...work, lead: leading(built) }, { ...team, synthesis: 'vote' })
    expect(voted.output.vote?.winner).toBe('rest')
  })

  test('CO60 what is said of different parts is not compared, unless a vote is asked for', async () => {
    const { output } = await runCollaboration(
      { ...work, lead: leading(built) },
      { ...team, synthesis: 'auto', on_conflict: 'escalate' },
    )
    expect(output.metadata.synthesis).toBe('coordinator')
    expect(output.consensus).toMatchObject({
      agents_count: 4,
      agreement_score: null,
      clusters: [],
      has_consensus: false,
    })
  })
})

const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 }

describe('what a division may cost', () => {
  test('CO83 sixty parts for two go back once; what is too many even then is left out and told', async () => {
    const sixty = plan(
      ...Array.from({ length: 60 }, (_, at) => ({ agent: at % 2 ? 'back' : 'front', subtask: `p${at}` })),
    )
    const { output, model } = await runCollaboration({ ...work, lead: leading(sixty, sixty) }, team)
    expect(model.requestsFrom('lead')).toHaveLength(3)
    expect(partOf(model.requestsFrom('lead')[1])).toContain('front can be given 4 parts at most')
    expect(model.requests).toHaveLength(11)
    expect(output.metadata.status).toBe('partial')
    expect(output.metadata.problems).toHaveLength(52)
  })

  test('CO83 a model that cannot be had goes back; after that the part is done with the usual one', async () => {
    const wrong = plan({ agent: 'back', subtask: 'the api', model: 'nobody/knows' })
    const corrected = await runCollaboration(
      { ...work, lead: leading(wrong, plan({ agent: 'back', subtask: 'the api' })) },
      team,
    )
    expect(partOf(corrected.model.requestsFrom('lead')[1])).toContain("assignment 1: no provider 'nobody'")
    expect(corrected.output.metadata.problems).toBeUndefined()
    const stubborn = await runCollaboration({ ...work, lead: leading(wrong, wrong) }, team)
    expect(stubborn.output.contributions[1]).toMatchObject({ agent: 'back', status: 'completed' })
    expect(stubborn.output.metadata.problems).toEqual([expect.stringContaining("no provider 'nobody'")])
  })
})
