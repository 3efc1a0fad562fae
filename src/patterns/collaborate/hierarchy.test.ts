import { describe, expect, test } from 'vitest'
import type { AgentReplies } from '../../../test/support/collaboration.ts'
import {
  contributionJson,
  lastInstruction,
  permanentError,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import { agent } from '../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../entries/models.ts'

const agents = ['lead', 'back', 'front', 'infra'].map((name) => ({ name, role: name, focus: `${name} things` }))
const team = { mode: 'hierarchical', agents }

interface TestAssignment {
  agent: string
  subtask: string
  depends_on?: (string | number)[]
  model?: string
}
const plan = (...assignments: TestAssignment[]) => JSON.stringify({ plan: 'divide and do', assignments })
/** A lead that returns these divisions, one per turn, and then writes the answer. */
const divideInTurn =
  (...divisions: string[]) =>
  (request: ModelRequest) =>
    request.output ? (divisions[request.session.turn - 1] ?? '') : 'The answer.'
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
const promptOf = (request: ModelRequest | undefined) => lastInstruction(request as ModelRequest)

describe('decomposition', () => {
  test('CO35 the first agent divides the task and writes the answer in the same session', async () => {
    const { output, model, troupe, result } = await runCollaboration({ ...work, lead: divideInTurn(built) }, team)
    expect(output.result).toBe('The answer.')
    expect(output.contributions.map(({ agent, role, response, subtask }) => [agent, role, response, subtask])).toEqual([
      ['lead', 'coordinator', 'divide and do', undefined],
      ['back', 'back', 'because of rest', 'the api'],
      ['front', 'front', 'because of rest', 'the page'],
      ['infra', 'infra', 'because of rest', 'the host'],
    ])
    const [division, synthesis] = model.requestsFrom('lead')
    expect(promptOf(division)).toContain('<specialists>\n- back; focus: back things\n- front; focus: front things')
    expect(promptOf(synthesis)).toContain('because of rest')
    expect(synthesis?.messages.length).toBe(3)
    expect(await troupe.sessions({ run_id: result.run_id }).all()).toHaveLength(4)
    expect(output.metadata).toMatchObject({ mode: 'hierarchical', agents_count: 4, status: 'completed' })
  })

  test.each([
    built,
    `\`\`\`json\n${built}\n\`\`\``,
    '{"plan":"this task has a specialist", "assistant: yes", "dev","subtask":"what the task requires',
    '{"plan":"web page speed up, simpler way.","model":null}',
    '{"plan":"How the task is divided, and why it is in two sentences"}',
  ])('CO123 when the coordinator sends its division again, the contributions are the result: %s', async (text) => {
    const lead = (request: ModelRequest) => (request.output ? built : text)
    const { output, model } = await runCollaboration({ ...work, lead }, team)
    expect(output.result).toContain('because of rest')
    expect(output.result).not.toMatch(/"plan"|assignments/)
    expect(output.metadata).toMatchObject({
      status: 'partial',
      problems: ['the coordinator failed: it sent its division of the task again'],
    })
    expect(model.requestsFrom('lead')).toHaveLength(2)
  })

  test('CO123 an answer in JSON is an answer', async () => {
    const answer = '{"plan":"migrate on Monday"}'
    const lead = (request: ModelRequest) => (request.output ? built : answer)
    expect((await runCollaboration({ ...work, lead }, team)).output.result).toBe(answer)
  })

  test('CO100 the coordinator gets the description, tools and model role of each specialist', async () => {
    const described = { ...agent('back', { tools: ['Read'], model: 'fast' }), description: 'Builds\n  services.' }
    const { model } = await runCollaboration({ ...work, lead: divideInTurn(built) }, team, { agents: [described] })
    expect(promptOf(model.requestsFrom('lead')[0])).toContain(
      '- back: Builds services. (tools: Read; model: fast); focus: back things\n- front; focus: front things',
    )
  })

  test('CO36 independent subtasks run in parallel; a dependent one starts later and sees its dependencies', async () => {
    const { model } = await runCollaboration({ ...work, lead: divideInTurn(built) }, team)
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['lead', 'back', 'front', 'infra', 'lead'])
    expect(promptOf(model.requestsFrom('front')[0])).toMatch(
      /<contributions>[^{]*\n<<<data\n\{"agent":"back","role":"back"/,
    )
    expect(promptOf(model.requestsFrom('back')[0])).not.toContain('<contributions>')
    expect(promptOf(model.requestsFrom('back')[0])).toContain('<subtask>\nthe api\n</subtask>')
    const both = Promise.withResolvers<void>()
    let started = 0
    const waitForBoth = async () => {
      started += 1
      if (started === 2) both.resolve()
      await both.promise
      return [
        { type: 'text' as const, text: contributionJson('x') },
        { type: 'finish' as const, stop: 'end' as const, usage },
      ]
    }
    const independent = plan({ agent: 'back', subtask: 'one' }, { agent: 'front', subtask: 'two' })
    const { result } = await runCollaboration(
      { lead: divideInTurn(independent), back: waitForBoth, front: waitForBoth },
      team,
    )
    expect(result.status).toBe('completed')
  })

  test('CO36 an assignment can set its model', async () => {
    const cheap = plan({ agent: 'back', subtask: 'easy', model: 'fast' }, { agent: 'front', subtask: 'hard' })
    const { events } = await runCollaboration({ ...work, lead: divideInTurn(cheap) }, team)
    const opened = events
      .filter(({ type }) => type === 'session:open')
      .map(({ data }) => data as { agent: { name: string }; model?: string })
    expect(opened.find((open) => open.agent.name === 'back')?.model).toBe('fast')
    expect(opened.find((open) => open.agent.name === 'front')?.model).toBeUndefined()
  })
})

describe('invalid assignments', () => {
  const wrong = plan({ agent: 'backend', subtask: 'the api' }, { agent: 'front', subtask: 'the page' })

  test('CO37 the coordinator corrects an unknown agent once, with the problem and the names', async () => {
    const { output, model } = await runCollaboration({ ...work, lead: divideInTurn(wrong, built) }, team)
    expect(model.requestsFrom('lead')).toHaveLength(3)
    const correction = promptOf(model.requestsFrom('lead')[1])
    expect(correction).toContain("- assignment 1: unknown specialist 'backend'")
    expect(correction).toContain('The specialists are: back, front, infra.')
    expect(output.contributions[0]?.tokens_used).toBe(30)
    expect(output.metadata.status).toBe('completed')
    expect(output.metadata.problems).toBeUndefined()
  })

  test('CO37 assignments that stay invalid are left out and reported, with status partial', async () => {
    const { output, model } = await runCollaboration({ ...work, lead: divideInTurn(wrong, wrong) }, team)
    expect(model.requestsFrom('lead')).toHaveLength(3)
    expect(output.contributions.map(({ agent }) => agent)).toEqual(['lead', 'front'])
    expect(output.metadata).toMatchObject({
      status: 'partial',
      problems: ["assignment 1: unknown specialist 'backend'"],
    })
  })

  test('CO37 assignments in a dependency cycle are left out and reported', async () => {
    const cycle = plan(
      { agent: 'back', subtask: 'x', depends_on: ['front'] },
      { agent: 'front', subtask: 'y', depends_on: ['back'] },
      { agent: 'infra', subtask: 'z' },
    )
    const { output } = await runCollaboration({ ...work, lead: divideInTurn(cycle, cycle) }, team)
    expect(output.contributions.map(({ agent }) => agent)).toEqual(['lead', 'infra'])
    expect(output.metadata.problems).toEqual(['assignments 1 and 2 depend on each other'])
  })

  test('CO37 when the correction is unusable, the valid assignments of the first answer are used', async () => {
    const { output } = await runCollaboration(
      {
        ...work,
        lead: (request) => (request.output ? (request.session.turn === 1 ? wrong : 'no idea') : 'The answer.'),
      },
      team,
    )
    expect(output.contributions.map(({ agent }) => agent)).toEqual(['lead', 'front'])
    expect(output.metadata.problems?.[0]).toBe("assignment 1: unknown specialist 'backend'")
  })

  test('CO125 a division in prose is corrected once', async () => {
    const lead = divideInTurn('The back end comes first.', built)
    const { output, model } = await runCollaboration({ ...work, lead }, team)
    expect(model.requestsFrom('lead')).toHaveLength(3)
    expect(output).toMatchObject({ result: 'The answer.', metadata: { status: 'completed' } })
  })

  test('CO125 prose twice costs two requests, and fails', async () => {
    const lead = divideInTurn('The back end comes first.', 'The front end comes first.')
    const { result, model } = await runCollaboration({ ...work, lead }, team)
    expect(model.requestsFrom('lead')).toHaveLength(2)
    expect(result).toMatchObject({ status: 'failed', error: { code: 'model_invalid_response' } })
  })

  test('CO125 a division that is cut off twice is used without its incomplete assignment', async () => {
    const cutOff = built.slice(0, built.indexOf('the page') + 5)
    const { output, model } = await runCollaboration({ ...work, lead: divideInTurn(cutOff, cutOff) }, team)
    expect(model.requestsFrom('lead')).toHaveLength(3)
    expect(output.contributions.map(({ subtask }) => subtask)).toEqual([undefined, 'the api'])
    expect(output.metadata).toMatchObject({
      status: 'partial',
      problems: ['assignment 2 is incomplete: it has no `agent`'],
    })
  })

  test('CO37 without any valid assignment the collaboration fails', async () => {
    const unknownAgent = plan({ agent: 'x', subtask: 'y' })
    const { result } = await runCollaboration({ ...work, lead: divideInTurn(unknownAgent, unknownAgent) }, team)
    expect(result.error?.message).toBe(
      "the coordinator gave no usable `assignments`: assignment 1: unknown specialist 'x'",
    )
    const prose = await runCollaboration({ ...work, lead: 'Let us all do it.' }, team)
    expect(prose.result).toMatchObject({ status: 'failed', error: { code: 'model_invalid_response' } })
    const failed = await runCollaboration({ ...work, lead: permanentError('unavailable') }, team)
    expect(failed.result.error?.message).toContain('unavailable')
    expect(failed.events.at(-2)?.data).toMatchObject({ status: 'failed' })
  })
})

describe('failed subtasks', () => {
  test('CO38 a subtask with a failed dependency is not started, and both are reported', async () => {
    const { output, model } = await runCollaboration(
      {
        ...work,
        back: permanentError('agent failed'),
        lead: divideInTurn(
          plan(
            { agent: 'back', subtask: 'a' },
            { agent: 'front', subtask: 'b', depends_on: [1] },
            { agent: 'infra', subtask: 'c' },
          ),
        ),
      },
      { ...team, quorum: 0.3 },
    )
    expect(model.requestsFrom('front')).toEqual([])
    expect(output.contributions.map(({ agent, status }) => [agent, status])).toEqual([
      ['lead', 'completed'],
      ['back', 'failed'],
      ['front', 'failed'],
      ['infra', 'completed'],
    ])
    expect(output.contributions[2]?.error?.message).toBe('not started: it depends on the failed subtask of back')
    expect(output.metadata.status).toBe('partial')
    const prompt = promptOf(model.requestsFrom('lead')[1])
    expect(prompt).toContain('<not_heard>')
    expect(prompt).toContain('- front (front): not started')
  })

  test('CO38 when all subtasks fail, the collaboration fails with each reason', async () => {
    const failing = { back: permanentError('one'), front: permanentError('two'), infra: permanentError('three') }
    const independent = plan({ agent: 'back', subtask: 'a' }, { agent: 'front', subtask: 'b' })
    const { result, model } = await runCollaboration({ ...failing, lead: divideInTurn(independent) }, team)
    expect(result.error?.message).toMatch(/^all 2 agents failed: back: .*one.*; front: .*two/)
    expect(result.output).toMatchObject({ contributions: [{ agent: 'lead', response: 'divide and do' }, {}, {}] })
    expect(model.requestsFrom('lead')).toHaveLength(1)
  })

  test('CO35 best_of and vote use the subtasks, not the plan', async () => {
    const best = JSON.stringify({
      scores: [1, 2, 3].map((answer) => ({ answer, score: answer, reason: '' })),
      best: 3,
      reason: 'r',
    })
    const { output } = await runCollaboration(
      { ...work, lead: divideInTurn(built), evaluator: best },
      { ...team, synthesis: 'best_of' },
    )
    expect(output.best_of).toMatchObject({ index: 3, agent: 'infra' })
    const voted = await runCollaboration({ ...work, lead: divideInTurn(built) }, { ...team, synthesis: 'vote' })
    expect(voted.output.vote?.winner).toBe('rest')
  })

  test('CO60 contributions to different subtasks are not compared, except for a vote', async () => {
    const { output } = await runCollaboration(
      { ...work, lead: divideInTurn(built) },
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

describe('limits of assignments', () => {
  test('CO83 more than four assignments per agent are corrected once, then left out and reported', async () => {
    const sixty = plan(
      ...Array.from({ length: 60 }, (_, index) => ({ agent: index % 2 ? 'back' : 'front', subtask: `p${index}` })),
    )
    const { output, model } = await runCollaboration({ ...work, lead: divideInTurn(sixty, sixty) }, team)
    expect(model.requestsFrom('lead')).toHaveLength(3)
    expect(promptOf(model.requestsFrom('lead')[1])).toContain('front can have at most 4 assignments')
    expect(model.requests).toHaveLength(11)
    expect(output.metadata.status).toBe('partial')
    expect(output.metadata.problems).toHaveLength(52)
  })

  test('CO83 an unavailable model is corrected once, then the default model is used', async () => {
    const wrong = plan({ agent: 'back', subtask: 'the api', model: 'nobody/knows' })
    const corrected = await runCollaboration(
      { ...work, lead: divideInTurn(wrong, plan({ agent: 'back', subtask: 'the api' })) },
      team,
    )
    expect(promptOf(corrected.model.requestsFrom('lead')[1])).toContain("assignment 1: 'nobody/knows' is none of")
    expect(corrected.output.metadata.problems).toBeUndefined()
    const uncorrected = await runCollaboration({ ...work, lead: divideInTurn(wrong, wrong) }, team)
    expect(uncorrected.output.contributions[1]).toMatchObject({ agent: 'back', status: 'completed' })
    expect(uncorrected.output.metadata.problems).toEqual([expect.stringContaining("'nobody/knows' is none of")])
  })
})
