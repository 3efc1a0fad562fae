import { expect, test } from 'vitest'
import { contributionJson, createCollaborationTroupe } from '../../../test/support/collaboration.ts'
import { rules } from '../../../test/support/recorded-run.ts'
import { runTeam } from '../../../test/support/team-harness.ts'
import { agent, agents, createTestTroupe } from '../../../test/support/test-troupe.ts'
import type { Event, Troupe } from '../../index.ts'
import { defineTool, isEvent } from '../../index.ts'
import * as z from '../../schema/zod.ts'
import { loadPatternViews } from '../pattern-views.ts'
import { timelineFrom } from '../timeline/reduce-timeline.ts'
import type { Timeline, TimelineCall, TimelineRef } from '../timeline/timeline.ts'
import { detailFrom } from './detail-from.ts'
import { callRows } from './folded-calls.ts'

const echo = defineTool({
  name: 'echo',
  description: 'Repeats the text.',
  kind: 'act',
  category: 'action',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => ({ success: true, output: text }),
})

/** The places of all rows of a timeline. */
function placesOf(timeline: Timeline): TimelineRef[] {
  const ids = (rows: readonly { id: string }[], kind: TimelineRef['kind']) => rows.map(({ id }) => ({ kind, id }))
  return [
    ...ids(timeline.lanes, 'agent'),
    ...ids(timeline.sessions, 'session'),
    ...ids(timeline.turns, 'turn'),
    ...ids(timeline.calls, 'call'),
    ...ids(timeline.gates, 'gate'),
    ...ids(timeline.messages, 'message'),
    ...ids(
      timeline.links.filter(({ kind }) => kind === 'delegation'),
      'delegation',
    ),
    ...ids(
      timeline.links.filter(({ kind }) => kind !== 'delegation'),
      'handoff',
    ),
    ...ids(
      timeline.sessions.filter(({ vote }) => vote),
      'vote',
    ),
  ]
}

/** Checks that every row has a detail, at its end and in the middle of the run. */
async function expectDetails(troupe: Troupe, run_id: string) {
  const events = await troupe.events(run_id).all()
  const views = await loadPatternViews(await troupe.patterns())
  const timeline = timelineFrom(events, { views })
  const places = placesOf(timeline)
  for (const ref of places) {
    const detail = detailFrom(events, ref, { views })
    expect(detail, JSON.stringify(ref)).toMatchObject({ ref })
    expect(detail?.sections.every(({ blocks }) => blocks.length > 0)).toBe(true)
  }
  const half = events.slice(0, Math.ceil(events.length / 2))
  for (const ref of placesOf(timelineFrom(half, { views }))) expect(detailFrom(half, ref, { views })).toBeDefined()
  return { events, timeline, kinds: new Set(places.map(({ kind }) => kind)) }
}

async function runTask() {
  const retryPolicy = { ready: () => undefined, next: ({ model }: { model: string }) => ({ model, delay_ms: 1 }) }
  const { troupe, task } = await createTestTroupe({ agents, tools: [echo], rules, engine: { retryPolicy } })
  const parked = await task('lead', 'go')
  const { run_id } = await (await troupe.answer(parked.gates[0]?.gate_id ?? '', 'yes', { by: 'ann' })).result
  return { troupe, run_id }
}

test('PN5 every row of the timeline has a detail: agents, sessions, turns, calls, questions, messages and delegations', async () => {
  const { troupe, run_id } = await runTask()
  const { timeline, kinds } = await expectDetails(troupe, run_id)
  expect(kinds).toEqual(new Set(['agent', 'session', 'turn', 'call', 'gate', 'message', 'delegation']))
  const lane = await troupe.detail(run_id, { kind: 'agent', id: 'coder' })
  expect(lane).toMatchObject({ title: 'coder', from: 'lead' })
  expect(JSON.stringify(lane.sections)).toContain('You are coder.')
  const delegated = timeline.sessions.find(({ lane: own }) => own === 'coder')
  const detail = await troupe.detail(run_id, { kind: 'delegation', id: delegated?.call ?? '' })
  expect(detail).toMatchObject({ from: 'lead', to: 'coder', state: 'completed' })
  expect(detail.kind).toMatch(/^Delegation, call \d+$/)
  expect(detail.sections.map(({ title }) => title)).toEqual(['Input', 'Sub-session', 'Output'])
  expect(detail.sections[1]?.note).toMatch(/2 turns, 1 call/)
  expect(JSON.stringify(detail.sections[2])).toContain('Written.')
  const gate = await troupe.detail(run_id, { kind: 'gate', id: timeline.gates[0]?.id ?? '' })
  expect(gate.facts).toContainEqual({ label: 'answered by', value: 'ann' })
  await troupe.close()
})

test('PN5 a handoff has its explanation, and a vote whether it won', async () => {
  const team = {
    name: 'desk',
    agents: [{ name: 'triage' }, { name: 'billing' }],
    handoffs: [{ from_agent: 'triage', to_agent: 'billing', condition: 'amount > 10' }],
    after_work_behavior: 'terminate',
  }
  const run = await runTeam(team, {
    triage: [{ response: 'It is 50.', variables: { amount: 50 } }],
    billing: ['Paid.'],
  })
  const { timeline, kinds } = await expectDetails(run.troupe, run.result.run_id)
  expect(kinds.has('handoff')).toBe(true)
  const turn = timeline.turns.find(({ lane }) => lane === 'billing')
  const prompt = await run.troupe.detail(run.result.run_id, { kind: 'turn', id: turn?.id ?? '' })
  const request = prompt.sections.find(({ title }) => title === 'Request')
  const [sent] = run.model.requests.filter(({ session }) => session.agent === 'billing')
  const shown = request?.blocks.flatMap((block) => (block.kind === 'messages' ? block.messages : [])) ?? []
  expect(shown.map(({ parts }) => parts[0]?.text)).toEqual([
    ...(sent?.system === '' ? [] : [sent?.system]),
    ...(sent?.messages.map(({ content }) => (content[0] && 'text' in content[0] ? content[0].text : '')) ?? []),
  ])
  expect(request?.note).toBe('as recorded: its hash matches')
  const link = timeline.links.find(({ kind, to }) => kind === 'handoff' && to === 'billing')
  const handoff = await run.troupe.detail(run.result.run_id, { kind: 'handoff', id: link?.id ?? '' })
  expect(handoff).toMatchObject({ kind: 'Handoff', from: 'triage', to: 'billing' })
  expect(JSON.stringify(handoff.sections)).toContain('a rule on variables')
  await run.troupe.close()

  const names = ['a', 'b', 'c']
  const { troupe } = await createCollaborationTroupe({
    a: contributionJson('go'),
    b: contributionJson('go'),
    c: contributionJson('wait'),
  })
  const input = { task: 'x', agents: names.map((name) => ({ name, role: name })), synthesis: 'vote' }
  const { run_id } = await troupe.run('collaborate' as string, input)
  const votes = await expectDetails(troupe, run_id)
  const lost = votes.timeline.sessions.find(({ vote }) => vote?.won === false)
  // Contributions are JSON; messages have their words.
  const completions = votes.timeline.messages.filter(({ type }) => type === 'task_completion')
  expect(completions.map(({ text }) => text)).toEqual(expect.arrayContaining(['because of go', 'because of wait']))
  expect(completions.filter(({ text }) => text.startsWith('{'))).toEqual([])
  const vote = await troupe.detail(run_id, { kind: 'vote', id: lost?.id ?? '' })
  expect(vote.facts).toContainEqual({ label: 'result', value: 'dissent', tone: 'muted' })
  const answer = vote.sections.find(({ title }) => title === 'Answer')
  const fields = answer?.blocks.flatMap((block) => (block.kind === 'facts' ? block.facts : []))
  expect(fields?.map(({ label, value }) => [label, value])).toContainEqual(['recommendation', 'wait'])
  const [words] = completions
  const message = await troupe.detail(run_id, { kind: 'message', id: words?.id ?? '' })
  expect(message.kind).toBe('Message, task completion')
  await troupe.close()
})

test('PN3 no odd event makes a detail fail', async () => {
  const { troupe, run_id } = await runTask()
  const events = await troupe.events(run_id).all()
  const views = await loadPatternViews(await troupe.patterns())
  const places = placesOf(timelineFrom(events, { views }))
  for (const { type, seq } of events) {
    const odd = events.map((event) => (event.seq === seq ? ({ ...event, type, data: {} } as unknown as Event) : event))
    expect(detailFrom(odd, { kind: 'event', id: String(seq) }, { views })?.json).toBeDefined()
    const [first, ...rest] = places.toSpliced(0, seq % places.length)
    for (const ref of [...(first ? [first] : []), ...rest.filter((_, index) => index % 8 === 0)])
      expect(() => detailFrom(odd, ref, { views })).not.toThrow()
  }
  await troupe.close()
})

test('PN6 a question has the whole call, who asks and where that agent is from, its words as a claim, and what happened before', async () => {
  const { troupe, task } = await createTestTroupe({
    agents: [
      agent('lead', {
        tools: ['echo'],
        permissions: { ask: ['echo'] },
        origin: { by: 'user', path: 'agents/lead.md' },
      }),
    ],
    tools: [echo],
    rules: [
      { when: { turn: 1 }, reply: { text: 'First.', toolCalls: [{ name: 'echo', input: { text: 'one' } }] } },
      {
        when: { turn: 2 },
        reply: { text: 'I need the second.', toolCalls: [{ name: 'echo', input: { text: 'two\nlines' } }] },
      },
      { when: { turn: 3 }, reply: { text: 'done' } },
    ],
  })
  const first = await task('lead', 'go')
  const parked = await (await troupe.answer(first.gates[0]?.gate_id ?? '', 'deny: not now', { by: 'ann' })).result
  const blocks = await troupe.gateBlocks(parked.gates[0]?.gate_id ?? '')
  const [facts] = blocks
  const values =
    facts?.kind === 'facts' ? Object.fromEntries(facts.facts.map(({ label, value }) => [label, value])) : {}
  expect(values).toMatchObject({ agent: 'lead', tool: 'echo', from: expect.stringContaining('lead.md') })
  expect(values['bound to']).toBeTypeOf('string')
  expect(blocks).toContainEqual({ kind: 'code', title: 'text', text: 'two\nlines' })
  expect(blocks).toContainEqual({
    kind: 'text',
    title: 'Last message',
    text: 'I need the second.',
    claimed_by: 'lead',
  })
  const before = blocks.find((block) => block.kind === 'table')
  expect(before).toMatchObject({
    title: 'Before this',
    rows: [{ call: expect.stringMatching(/^echo.*\n/), state: 'failed' }],
  })
  expect(JSON.stringify(before)).toContain('not now')
  await expect(troupe.gateBlocks('g_none')).rejects.toThrow()
  await troupe.close()
})

test('PN7 the panel of costs has what is left of the limits, lost requests and models without a price', async () => {
  const { troupe, run_id } = await runTask()
  const events = await troupe.events(run_id).all()
  const { panels } = await troupe.panels(run_id)
  const cost = panels.find(({ id }) => id === 'cost')
  const facts = cost?.blocks.flatMap((block) => (block.kind === 'facts' ? block.facts : [])) ?? []
  const requests = events.filter((event) => isEvent(event, 'model:end') || isEvent(event, 'model:error')).length
  expect(facts).toContainEqual({ label: 'requests', value: requests, unit: 'count' })
  expect(facts.find(({ label }) => label === 'requests left')?.value).toBeGreaterThan(0)
  expect((await troupe.panels(run_id, { seq: 2 })).panels).toEqual([])
  await troupe.close()
})

test('PN5 neighbouring calls that only read are one row; changes, failures, questions and blocked time keep their own', () => {
  const call = (number: number, tool: string, more: Partial<TimelineCall> = {}) =>
    ({
      ...{ id: `c${number}`, session: 's', number, tool, target: `f${number}`, category: 'perception', status: 'ok' },
      ...{ files: 0, error: null, started_at: number * 10, ended_at: number * 10 + 5 },
      ...more,
    }) as TimelineCall
  const calls = [
    ...[call(1, 'Read'), call(2, 'Read'), call(3, 'Read')],
    call(4, 'Write', { category: 'action', files: 1 }),
    ...[call(5, 'Read'), call(6, 'Read', { status: 'failed', error: 'no such file' }), call(7, 'Grep')],
  ]
  const gates = [{ session: 's', question: 'May it?', answer: 'allow', started_at: 41, ended_at: 45 }]
  const pauses = [{ session: 's', kind: 'blocked', text: 'Blocked by task 1', started_at: 75, ended_at: null }]
  const timeline = { calls, gates, pauses, turns: [], sessions: [], lanes: [] } as unknown as Timeline
  const rows = callRows(timeline, 's')
  expect(rows.map(({ number, tool, state }) => [number, tool, state])).toEqual([
    ['1–3', 'Read × 3', 'completed'],
    ['4', 'Write', 'completed'],
    [null, 'question', 'answered'],
    ['5', 'Read', 'completed'],
    ['6', 'Read', 'failed'],
    ['7', 'Grep', 'completed'],
    [null, 'blocked', 'blocked'],
  ])
  expect(rows[0]).toMatchObject({ target: 'f1, f2, f3', took: 15 })
})
