import { describe, expect, test } from 'vitest'
import {
  answerQuestion,
  conversationFrom,
  handoffsFrom,
  readTeamRun,
  requestsFrom,
  runTeam,
  teamModel,
} from '../../../test/support/team-harness.ts'
import { createTroupe } from '../../index.ts'
import type { ModelRequest } from '../../kernel/model.ts'

const inner = (name: string, worker: string, more = {}) => ({
  ...{ name, agents: [{ name: worker, tools: ['ArtifactWrite', 'ArtifactRead'], ...more }] },
  handoffs: [{ from_agent: worker, to_agent: 'user' }],
})

const outer = {
  name: 'Company',
  agents: [
    {
      name: 'research',
      team: inner('Research', 'searcher', { outputs: { sources: 'number' } }),
      outputs: { sources: 'number' },
    },
    { name: 'production', team: inner('Production', 'maker') },
    { name: 'editor' },
  ],
  handoffs: [
    { from_agent: 'research', to_agent: 'production', condition: 'sources >= 3' },
    { from_agent: 'production', to_agent: 'editor' },
  ],
  after_work_behavior: 'terminate',
}

describe('sub-teams', () => {
  test('TM13 a sub-team returns to its parent with its variables and artifacts', async () => {
    const model = teamModel({
      searcher: (turn) =>
        turn === 1
          ? ({ tool: 'ArtifactWrite', input: { name: 'notes', content: 'n' } } as never)
          : { response: 'Found.', variables: { sources: 4 } },
      maker: ['Made.'],
      editor: ['Edited.'],
    })
    const stream = model.stream.bind(model)
    model.stream = (request, signal) => withToolCalls(stream(request, signal))
    const troupe = await createTroupe({ store: 'memory', model })
    const run = await readTeamRun(troupe, model, await troupe.run('team' as string, { team: outer, message: 'Go.' }))
    expect([run.result.status, run.result.error]).toEqual(['completed', null])
    expect(run.output.history.map(({ agent_name }) => agent_name)).toEqual(['user', 'research', 'production', 'editor'])
    expect(run.output).toMatchObject({ response: 'Edited.', variables: { sources: 4 }, artifacts: ['notes@1'] })
    const [modelRequest] = requestsFrom(run, 'maker')
    expect(modelRequest && conversationFrom(modelRequest)).toEqual([
      { from: 'user', text: 'Go.' },
      { from: 'Company/research', text: 'Found.', artifacts: ['notes@1'] },
    ])
    expect(modelRequest?.system).toContain('"Production"')
    const [last] = requestsFrom(run, 'editor')
    expect(last && conversationFrom(last).at(1)).toEqual({
      from: 'research',
      round: 1,
      text: 'Found.',
      artifacts: ['notes@1'],
    })
    expect(handoffsFrom(run.events).map(({ from, to }) => `${from} ${to}`)).toContain('research production')
  })

  test('TM13 a failed sub-team fails its turn, and resume continues inside it', async () => {
    const failOnce = (turn: number) => (turn === 1 ? Object.assign(new Error('down'), { status: 404 }) : 'Made.')
    const replies = {
      searcher: [{ response: 'Found.', variables: { sources: 3 } }],
      maker: failOnce,
      editor: ['Edited.'],
    }
    const failed = await runTeam(outer, replies)
    expect(failed.result).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/^production, round 2: .*down/) },
    })
    const handle = await failed.troupe.resume(failed.result.run_id)
    const done = await readTeamRun(failed.troupe, failed.model, await handle.result)
    expect([done.result.status, requestsFrom(done, 'searcher').length]).toEqual(['completed', 1])
  })

  test('TM13 a human member of a sub-team is asked', async () => {
    const team = {
      name: 'Outer',
      agents: [{ name: 'desk', team: { name: 'Desk', agents: [{ name: 'signer', kind: 'human' }] } }],
      after_work_behavior: 'terminate',
    }
    const waiting = await runTeam(team, {}, { message: 'Sign this' })
    expect(waiting.result.gates[0]).toMatchObject({ question: 'Sign this', detail: { as: 'signer' } })
    expect((await answerQuestion(waiting, 'Signed')).output.response).toBe('Signed')
  })
})

/** Turns a text that names a tool into a tool call. */
async function* withToolCalls(chunks: AsyncIterable<unknown>): AsyncGenerator<never> {
  for await (const chunk of chunks) {
    const { type, text } = chunk as { type: string; text?: string }
    const call =
      type === 'text' && text?.startsWith('{"tool"')
        ? (JSON.parse(text) as { tool: string; input: unknown })
        : undefined
    if (call) yield { type: 'tool-call', id: 'c1', name: call.tool, input: call.input } as never
    else if (type === 'finish') yield { ...(chunk as object) } as never
    else yield chunk as never
  }
}

describe('artifacts', () => {
  test('TM21 the conversation references artifacts by version and never contains their content', async () => {
    const team = {
      name: 'Makers',
      agents: [{ name: 'a', tools: ['ArtifactWrite'] }, { name: 'b', tools: ['ArtifactWrite'] }, { name: 'c' }],
      handoffs: [
        { from_agent: 'a', to_agent: 'b' },
        { from_agent: 'b', to_agent: 'c' },
      ],
      after_work_behavior: 'terminate',
    }
    const write = (content: string) => ({ tool: 'ArtifactWrite', input: { name: 'draft', content } }) as never
    const model = teamModel({
      a: (turn) => (turn === 1 ? write('SECRET ONE') : 'wrote'),
      b: (turn) => (turn === 1 ? write('SECRET TWO') : 'rewrote'),
      c: ['seen'],
    })
    const stream = model.stream.bind(model)
    model.stream = (request, signal) => withToolCalls(stream(request, signal))
    const troupe = await createTroupe({ store: 'memory', model })
    const run = await readTeamRun(troupe, model, await troupe.run('team' as string, { team, message: 'Go.' }))
    expect(run.output.history.slice(1).map(({ artifacts }) => artifacts)).toEqual([['draft@1'], ['draft@2'], []])
    expect(run.output.artifacts).toEqual(['draft@1', 'draft@2'])
    const [last] = requestsFrom(run, 'c')
    expect(JSON.stringify(last?.messages)).not.toContain('SECRET')
    expect(last && conversationFrom(last).map(({ artifacts }) => artifacts)).toEqual([
      undefined,
      ['draft@1'],
      ['draft@2'],
    ])
  })
})

describe('a consensus group', () => {
  test('TM12 the message of the group is the answer collaborate makes of its members’ answers', async () => {
    const team = {
      name: 'Experts',
      agents: [{ name: 'one', role: 'first' }, { name: 'two', role: 'second' }, { name: 'decider' }],
      entry: 'panel',
      groups: [{ name: 'panel', kind: 'consensus', members: ['one', 'two'], synthesis: 'merge' }],
      handoffs: [{ from_agent: 'panel', to_agent: 'decider', condition: 'panel complete and one complete' }],
      after_work_behavior: 'terminate',
    }
    const contribution = (text: string) => [
      { response: text, recommendation: text, confidence: 0.9, concerns: [], questions: [] },
    ]
    const run = await runTeam(team, { one: contribution('Left.'), two: contribution('Right.'), decider: ['Decided.'] })
    expect([run.result.status, run.result.error, run.route]).toEqual(['completed', null, ['panel', 'decider']])
    const [request] = requestsFrom(run, 'decider')
    const message = request && (conversationFrom(request as ModelRequest).at(-1) as { from: string; text: string })
    expect(message?.from).toBe('panel')
    expect(message?.text).toMatch(/Left\.[\s\S]*Right\./)
  })
})
