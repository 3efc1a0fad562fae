import { describe, expect, test } from 'vitest'
import { eventData } from '../../../test/support/manual-doubles.ts'
import {
  handoffsFrom,
  replyWithVerdicts,
  requestsFrom,
  routerVerdicts,
  runTeam,
} from '../../../test/support/team-harness.ts'
import { isEvent } from '../../kernel/event.ts'

const agents = (...names: string[]) => names.map((name) => ({ name, role: `${name} of the test` }))
const rule = (from_agent: string, to_agent: string, condition?: string, more = {}) => ({
  ...{ from_agent, to_agent, ...(condition === undefined ? undefined : { condition }), ...more },
})

/** Avoids a literal `then` key: the object would look like a promise. */
const thenTarget = (name: string) => Object.fromEntries([['then', name]])

describe('orchestration patterns', () => {
  test('TM1 sequential: each member hands off to the next, and the history has the fields of the specification', async () => {
    const team = {
      name: 'Content',
      agents: agents('researcher', 'writer', 'reviewer', 'publisher'),
      handoffs: [
        rule('researcher', 'writer', 'research is complete'),
        rule('writer', 'reviewer', 'draft is finished'),
        rule('reviewer', 'publisher', 'review is done'),
      ],
      after_work_behavior: 'terminate',
    }
    const { route, output, result } = await runTeam(team, {
      researcher: [replyWithVerdicts('Facts.', true)],
      writer: [replyWithVerdicts('A draft.', true)],
      reviewer: [replyWithVerdicts('Fine.', true)],
      publisher: ['Published.'],
    })
    expect([result.status, result.error]).toEqual(['completed', null])
    expect(route).toEqual(['researcher', 'writer', 'reviewer', 'publisher'])
    expect(output).toMatchObject({ response: 'Published.', agent: 'publisher', reason: 'terminated', rounds: 4 })
    expect(output.history[1]).toEqual({
      step_id: 'round/1',
      agent_name: 'researcher',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      parts: [{ type: 'text', text: 'Facts.' }],
      artifacts: [],
      handoff_triggered: true,
      handoff_target: 'writer',
      handoff_reason: expect.stringContaining('research is complete'),
    })
    expect(output.history.map(({ handoff_target }) => handoff_target)).toEqual([
      'researcher',
      'writer',
      'reviewer',
      'publisher',
      null,
    ])
    expect(output.totals).toMatchObject({ turns: 4, router_calls: 0 })
  })

  test('TM1 iterative: the work goes back until it is approved or the limit is reached', async () => {
    const team = {
      name: 'Iterative',
      agents: agents('writer', 'reviewer', 'publisher'),
      handoffs: [
        rule('writer', 'reviewer'),
        rule('reviewer', 'writer', 'iteration_count < {{ max_iterations }} and needs revision'),
        rule('reviewer', 'publisher', 'approved or iteration_count >= {{ max_iterations }}', { priority: 2 }),
      ],
      context_variables: { max_iterations: 3 },
      after_work_behavior: 'terminate',
    }
    const approved = await runTeam(team, {
      writer: ['one', 'two'],
      reviewer: (turn) => replyWithVerdicts(`Look ${turn}`, turn === 2, turn === 1),
      publisher: ['out'],
    })
    expect(approved.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])
    const never = await runTeam(team, {
      writer: (turn) => `draft ${turn}`,
      reviewer: (turn) => replyWithVerdicts(`no ${turn}`, false, true),
      publisher: ['out'],
    })
    expect(never.route.join(' ')).toBe('writer reviewer writer reviewer writer reviewer publisher')
    expect(handoffsFrom(never.events).at(-2)).toMatchObject({ to: 'publisher', by: 'exact' })
  })

  test('TM11 parallel: members read the same conversation, and their answers join it in member order', async () => {
    const team = {
      name: 'Parallel',
      agents: agents('a', 'b', 'c', 'writer'),
      entry: 'research',
      groups: [{ name: 'research', kind: 'parallel', members: ['a', 'b', 'c'], ...thenTarget('writer') }],
      after_work_behavior: 'terminate',
    }
    const { route, output, model, events } = await runTeam(team, {
      a: ['topic 1'],
      b: ['topic 2'],
      c: ['topic 3'],
      writer: ['all of it'],
    })
    expect(route).toEqual(['research', 'writer'])
    expect(output.history.map(({ agent_name, step_id }) => `${step_id} ${agent_name}`)).toEqual([
      ...['start user', 'round/1/1 a', 'round/1/2 b', 'round/1/3 c', 'round/2 writer'],
    ])
    const [first, second, third, last] = model.requests
    expect([first, second, third].map((request) => request?.messages.length)).toEqual([2, 2, 2])
    expect(
      last?.messages.slice(1, 4).map(({ content }) => JSON.parse((content[0] as { text: string }).text).text),
    ).toEqual([...['topic 1', 'topic 2', 'topic 3']])
    expect(eventData(events, 'team:group')).toHaveLength(1)
    expect(handoffsFrom(events)[0]).toMatchObject({
      from: 'research',
      to: 'writer',
      by: 'exact',
      handoff_reason: expect.stringContaining('always'),
    })
  })

  test('TM11 a failed group member is reported, and the others continue', async () => {
    const team = {
      name: 'Parallel',
      agents: agents('a', 'b', 'writer'),
      entry: 'both',
      groups: [{ name: 'both', kind: 'parallel', members: ['a', 'b'] }],
      handoffs: [rule('both', 'writer', 'b complete and not a complete')],
      after_work_behavior: 'terminate',
    }
    const { route, events, output } = await runTeam(team, {
      a: [Object.assign(new Error('no such model'), { status: 404 })],
      b: ['here'],
      writer: ['done'],
    })
    expect(route).toEqual(['both', 'writer'])
    expect(handoffsFrom(events)[0]?.problems?.[0]).toMatch(/^a failed: .*no such model/)
    expect(output.history[1]).toMatchObject({ agent_name: 'a', error: expect.stringContaining('no such model') })
  })

  test('TM11 a unanimous verdict of a group counts; otherwise the router is asked', async () => {
    const team = {
      name: 'Jury',
      agents: agents('a', 'b', 'yes', 'no'),
      entry: 'jury',
      groups: [{ name: 'jury', kind: 'parallel', members: ['a', 'b'] }],
      handoffs: [rule('jury', 'yes', 'it is good'), rule('jury', 'no', 'it is bad')],
      after_work_behavior: 'terminate',
    }
    const replies = { a: [replyWithVerdicts('A', true, false)], yes: ['y'], no: ['n'] }
    const unanimous = await runTeam(team, { ...replies, b: [replyWithVerdicts('B', true, false)] })
    expect([unanimous.route, unanimous.output.totals.router_calls]).toEqual([['jury', 'yes'], 0])
    const split = await runTeam(team, {
      ...replies,
      b: [replyWithVerdicts('B', false, true)],
      router: routerVerdicts({ 'it is good': false, 'it is bad': true }),
    })
    expect([split.route, split.output.totals.router_calls]).toEqual([['jury', 'no'], 1])
  })
})

test('TM24 timestamps come from the recorded clock, in UTC', async () => {
  const alone = { name: 'One', agents: [{ name: 'a' }], after_work_behavior: 'terminate' }
  const { output, events } = await runTeam(alone, { a: ['x'] })
  const stepResults = (key: string) =>
    events.flatMap((event) =>
      isEvent(event, 'step:end') && event.data.key === key ? (event.data.result as number) : [],
    )
  expect(output.history.map(({ timestamp }) => timestamp)).toEqual([
    ...[...stepResults('start/asked/at'), ...stepResults('round/1/at')].map((ms) => new Date(ms).toISOString()),
  ])
  expect(output.history[0]?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

describe('handoff target', () => {
  test('TM6 branching: the highest priority wins, and each rule is explained part by part', async () => {
    const team = {
      name: 'Branching',
      agents: agents('analyzer', 'simple_writer', 'expert_writer', 'researcher'),
      handoffs: [
        rule('analyzer', 'simple_writer', 'analysis shows simple topic'),
        rule('analyzer', 'expert_writer', 'analysis shows complex topic requiring expertise', { priority: 5 }),
        rule('analyzer', 'researcher', 'insufficient data for analysis'),
      ],
      after_work_behavior: 'terminate',
    }
    const { route, events } = await runTeam(team, {
      analyzer: [replyWithVerdicts('Complex, and simple.', true, true, false)],
      expert_writer: ['Written.'],
    })
    expect(route).toEqual(['analyzer', 'expert_writer'])
    expect(handoffsFrom(events)[0]?.explanation).toEqual({
      decision: { to: 'expert_writer', by: 'verdict' },
      rules: [
        {
          ...{ from: 'analyzer', to: 'expert_writer', priority: 5, holds: true },
          parts: [
            {
              ...{ text: 'analysis shows complex topic requiring expertise', kind: 'semantic', value: true },
              reason: 'the agent judged it true',
            },
          ],
        },
        expect.objectContaining({ to: 'simple_writer', priority: 1, holds: true }),
        expect.objectContaining({ to: 'researcher', priority: 1, holds: false }),
      ],
    })
  })

  test('TM8 revision_count limits revisions, and <agent>_load balances the load', async () => {
    const gates = {
      name: 'Gates',
      agents: [
        { name: 'writer', outputs: { word_count: 'number' } },
        { name: 'reviewer', outputs: { quality_score: 'number' } },
        { name: 'publisher' },
      ],
      handoffs: [
        rule('writer', 'reviewer', 'word_count >= {{ min_words }}'),
        rule('reviewer', 'writer', 'quality_score < {{ min_quality }} and revision_count < {{ max_revisions }}'),
        rule('reviewer', 'publisher', 'quality_score >= {{ min_quality }} or revision_count >= {{ max_revisions }}'),
      ],
      context_variables: { min_words: 100, min_quality: 0.8, max_revisions: 2 },
      after_work_behavior: 'terminate',
    }
    const { route, output } = await runTeam(gates, {
      writer: (turn) => ({ response: `d${turn}`, variables: [{ name: 'word_count', value: 90 + 10 * turn }] }),
      reviewer: (turn) => ({ response: `r${turn}`, variables: { quality_score: 0.5 } }),
      publisher: ['out'],
    })
    expect(route.join(' ')).toBe('writer reviewer writer reviewer writer reviewer publisher')
    expect(output.variables).toMatchObject({ word_count: 120, quality_score: 0.5, min_words: 100 })

    const balanced = {
      name: 'Balanced',
      agents: agents('coordinator', 'writer_a', 'writer_b'),
      handoffs: [
        rule('coordinator', 'writer_a', 'round < 6 and writer_a_load < writer_b_load'),
        rule('coordinator', 'writer_b', 'round < 6 and writer_b_load <= writer_a_load'),
        rule('writer_a', 'coordinator'),
        rule('writer_b', 'coordinator'),
      ],
      after_work_behavior: 'terminate',
    }
    const replies = {
      coordinator: (n: number) => `c${n}`,
      writer_a: (n: number) => `a${n}`,
      writer_b: (n: number) => `b${n}`,
    }
    expect((await runTeam(balanced, replies)).route.join(' ')).toBe(
      'coordinator writer_b coordinator writer_a coordinator writer_b coordinator',
    )
  })

  test('TM8 <name>_complete serves as synchronisation point and dependency', async () => {
    const team = {
      name: 'Sync',
      agents: agents('researcher_a', 'researcher_b', 'synthesizer'),
      handoffs: [
        rule('researcher_a', 'synthesizer', 'researcher_a complete and researcher_b complete', { priority: 2 }),
        rule('researcher_a', 'researcher_b'),
        rule('researcher_b', 'synthesizer', 'researcher_b complete and researcher_a complete'),
      ],
      after_work_behavior: 'terminate',
    }
    const { route, events } = await runTeam(team, { researcher_a: ['A'], researcher_b: ['B'], synthesizer: ['AB'] })
    expect(route).toEqual(['researcher_a', 'researcher_b', 'synthesizer'])
    expect(handoffsFrom(events).map(({ by }) => by)).toEqual(['exact', 'exact', 'after_work'])

    const dependent = {
      name: 'Dependencies',
      agents: agents('requirements', 'architect', 'developer'),
      handoffs: [
        rule('requirements', 'architect', 'requirements complete'),
        rule('architect', 'developer', 'architecture approved and requirements_complete'),
      ],
      after_work_behavior: 'terminate',
    }
    const replies = { requirements: ['R'], architect: [replyWithVerdicts('A', true)], developer: ['D'] }
    expect((await runTeam(dependent, replies)).route).toEqual(['requirements', 'architect', 'developer'])
  })

  test('TM10 rules from user choose the first member; each agent sees its own expertise', async () => {
    const team = {
      name: 'Triage',
      agents: [
        ...agents('triager'),
        { name: 'technical_writer', expertise: ['compilers'] },
        { name: 'creative_writer', expertise: ['poems'] },
      ],
      handoffs: [
        rule('user', 'creative_writer', 'the user asks for a poem'),
        rule('triager', 'technical_writer', 'topic requires technical expertise'),
        rule('triager', 'creative_writer', 'topic requires creative approach'),
      ],
      after_work_behavior: 'terminate',
    }
    const router = routerVerdicts({ 'the user asks for a poem': true })
    const poem = await runTeam(team, { creative_writer: ['Roses.'], router }, { message: 'A poem, please' })
    expect([poem.route, poem.output.totals.router_calls]).toEqual([['creative_writer'], 1])
    expect(requestsFrom(poem, 'creative_writer')[0]?.messages.at(-1)?.content).toMatchObject([
      { text: expect.stringContaining('Your expertise: poems.') },
    ])
    const manual = await runTeam(team, {
      triager: [replyWithVerdicts('A compiler.', true, false)],
      technical_writer: ['Manual.'],
      router: routerVerdicts({ 'the user asks for a poem': false }),
    })
    expect(manual.route).toEqual(['triager', 'technical_writer'])
  })
})
