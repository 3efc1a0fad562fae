import { describe, expect, test } from 'vitest'
import { readTeamTree } from '../../../src/formats/team-tree.ts'
import { createTroupe } from '../../../src/index.ts'
import { contributionJson } from '../../support/collaboration.ts'
import { eventData } from '../../support/manual-doubles.ts'
import {
  conversationFrom,
  handoffsFrom,
  readTeamRun,
  replyWithVerdicts,
  requestsFrom,
  runTeam,
} from '../../support/team-harness.ts'
import { functionModel, lastMessageText } from '../../support/test-troupe.ts'
import { exampleFile, runExample } from './team-example.ts'

/* Sections 1 to 4 of the specification of teams, without the conditions (team.test.ts). */

const readExample = async (name: string) => (await readTeamTree(exampleFile(name))).team

describe('1 team structure', () => {
  test('TM1 1.1 team structure: agents without handoffs are a valid team; the first works, and the others are reported', async () => {
    const run = await runExample('1.1-team-structure', { researcher: ['Facts.'] })
    expect([run.route, run.result.status]).toEqual([['researcher'], 'waiting'])
    expect(run.result.gates[0]?.question).toBe('Facts.')
    const [start] = eventData(run.events, 'team:start')
    expect(start).toMatchObject({ team: 'ContentTeam', agents: 4, first: 'researcher' })
    for (const name of ['writer', 'reviewer', 'publisher'])
      expect(start?.warnings).toContainEqual(expect.stringContaining(`no handoff leads to '${name}'`))
    const { system = '' } = requestsFrom(run, 'researcher')[0] ?? {}
    for (const role of ['fact-checking', 'drafting', 'editing', 'distribution']) expect(system).toContain(role)
  })

  test('TM1 1.2 sequential collaboration: each agent reads all earlier answers', async () => {
    const run = await runExample('1.2-sequential', {
      ...{ Researcher: ['Facts.'], Writer: ['Text.'], Reviewer: ['Right.'], Publisher: ['Out.'] },
    })
    expect(run.route).toEqual(['Researcher', 'Writer', 'Reviewer', 'Publisher'])
    const [last] = requestsFrom(run, 'Publisher')
    expect(last && conversationFrom(last).map(({ from, text }) => [from, text])).toEqual([
      ['user', 'Please do it.'],
      ['Researcher', 'Facts.'],
      ['Writer', 'Text.'],
      ['Reviewer', 'Right.'],
    ])
  })

  test('TM1 1.2 iterative collaboration: writer and reviewer alternate until it is approved', async () => {
    const run = await runExample('1.2-iterative', {
      Writer: ['First.', 'Second.'],
      Reviewer: ['Not yet.', { text: 'Yes.', holds: ['approved'] }],
      Publisher: ['Out.'],
    })
    expect(run.route).toEqual(['Writer', 'Reviewer', 'Writer', 'Reviewer', 'Publisher'])
  })

  test('TM11 1.2 parallel collaboration: three researchers work at the same time, then the writer', async () => {
    const run = await runExample('1.2-parallel', {
      ...{ Researcher_A: ['One.'], Researcher_B: ['Two.'], Researcher_C: ['Three.'] },
      ...{ Writer: ['All three.'], Reviewer: ['Right.'] },
    })
    expect(run.route).toEqual(['Research', 'Writer', 'Reviewer'])
    const [written] = requestsFrom(run, 'Writer')
    expect(written && conversationFrom(written).map(({ text }) => text)).toEqual([
      'Please do it.',
      ...['One.', 'Two.', 'Three.'],
    ])
    for (const name of ['Researcher_A', 'Researcher_B', 'Researcher_C'])
      expect(requestsFrom(run, name).map((request) => conversationFrom(request).length)).toEqual([1])
  })

  test('TM12 1.2 consensus collaboration: the synthesizer gets one decision of three experts', async () => {
    const run = await runExample('1.2-consensus', {
      Expert_A: [contributionJson('Ship in May', 0.9)],
      Expert_B: [contributionJson('Ship in May', 0.8)],
      Expert_C: [contributionJson('Wait for June', 0.6)],
      Synthesizer: ['We ship in May.'],
    })
    expect(run.route).toEqual(['Experts', 'Synthesizer'])
    const [request] = requestsFrom(run, 'Synthesizer')
    const [, decision] = request ? conversationFrom(request) : []
    expect(decision).toMatchObject({ from: 'Experts', text: expect.stringContaining('Ship in May') })
    expect(run.output.response).toBe('We ship in May.')
  })
})

describe('2 orchestrator', () => {
  const verdicts = (...holds: boolean[]) =>
    JSON.stringify({ verdicts: holds.map((value, index) => ({ condition: index + 1, holds: value })) })

  test('TM5 2.2 routing: exact conditions in code, then the analysis of a model, then after_work_behavior', async () => {
    const score = { quality_score: 0.9, min_quality: 0.8, max_revisions: 2 }
    const exact = await runExample('5.3-quality-gates', {
      writer: [{ text: 'Draft.', holds: ['draft complete'], sets: { word_count: 900, min_words: 500 } }],
      reviewer: [{ text: 'Good.', sets: score }],
      publisher: ['Out.'],
    })
    expect(exact.handoffs.map(({ by }) => by)).toEqual(['verdict', 'exact', 'after_work'])
    expect(requestsFrom(exact, 'router')).toEqual([])
    const analysed = await runTeam(await readExample('3.2-handoff-structure'), {
      writer: ['In prose, without verdicts.'],
      router: [verdicts(true, true), verdicts(false, false, false)],
      reviewer: ['In prose, too.'],
    })
    expect(handoffsFrom(analysed.events).map(({ from, to, by }) => ({ from, to, by }))).toEqual([
      { from: 'writer', to: 'reviewer', by: 'model' },
      { from: 'reviewer', to: 'user', by: 'after_work' },
    ])
  })

  test('TM1 2.3 context transfer: history with response, timestamp and handoff_reason; the next agent gets all of it', async () => {
    const run = await runExample('3.2-handoff-structure', {
      writer: [{ text: 'Draft.', holds: ['draft is complete', 'ready for review'] }],
      reviewer: [{ text: 'Good.', holds: ['content is approved for publication'] }],
      publisher: [{ text: '', fails: 'no network' }],
    })
    expect(run.output.history[1]).toMatchObject({
      agent_name: 'writer',
      parts: [{ type: 'text', text: 'Draft.' }],
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      handoff_reason: expect.stringContaining('draft is complete and ready for review'),
    })
    const [request] = requestsFrom(run, 'publisher')
    expect(request && conversationFrom(request).map(({ from }) => from)).toEqual(['user', 'writer', 'reviewer'])
    expect(request && lastMessageText(request)).toContain('You are publisher')
  })
})

describe('3 handoffs', () => {
  const draft = (text: string) => ({ text, holds: ['draft is complete', 'ready for review'] })
  const revise = ['feedback has been provided', 'revisions are needed']

  test('TM4 3.2 handoff structure: revisions, then the approval, whose higher priority wins when both hold', async () => {
    const run = await runExample('3.2-handoff-structure', {
      writer: [draft('Draft.'), draft('Better.')],
      reviewer: [
        { text: 'More facts.', holds: revise },
        { text: 'Good, with remarks.', holds: [...revise, 'content is approved for publication'] },
      ],
      publisher: ['Out.'],
    })
    expect(run.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])
    const priorities = eventData(run.events, 'team:handoff')[3]?.explanation.rules.map(({ priority }) => priority)
    expect(priorities?.[0]).toBe(2)
  })

  test('TM9 3.4 after-work behavior: return_to_user is the default and asks the user', async () => {
    const stated = await runExample('3.4-after-work-behavior', { writer: ['Done.', 'Done again.'] })
    expect([stated.route, stated.result.status, stated.result.gates[0]?.question]).toEqual([
      ...[['writer'], 'waiting', 'Done.'],
    ])
    const next = await stated.answer('Once more.')
    expect([next.route, next.result.gates[0]?.question]).toEqual([['writer', 'writer'], 'Done again.'])
    const { after_work_behavior, ...team } = (await readExample('3.4-after-work-behavior')) ?? {}
    expect(after_work_behavior).toBe('return_to_user')
    const unstated = await runTeam(team, { writer: ['Done.'] })
    expect(unstated.result).toMatchObject({ status: 'waiting', gates: [{ question: 'Done.' }] })
  })

  test('TM9 3.4 after-work behavior: terminate completes the run', async () => {
    const team = await readExample('3.4-after-work-behavior')
    const run = await runTeam({ ...team, after_work_behavior: 'terminate' }, { writer: ['Done.'] })
    expect([run.route, run.result.status, run.output.response]).toEqual([['writer'], 'completed', 'Done.'])
  })

  test('TM9 3.4 after-work behavior: continue repeats the agent until a rule holds; a team that never ends is refused', async () => {
    const endless = { ...(await readExample('3.4-after-work-behavior')), after_work_behavior: 'continue' }
    await expect(runTeam(endless, { writer: ['Still at it.'] })).rejects.toThrow("'writer' never ends")
    const example = await readExample('3.2-handoff-structure')
    const exit = { from_agent: 'publisher', to_agent: 'user', condition: 'publisher complete' }
    const handoffs = [...(example?.handoffs ?? []), exit]
    const run = await runTeam(
      { ...example, handoffs, after_work_behavior: 'continue' },
      {
        writer: [replyWithVerdicts('Half.', false, false), replyWithVerdicts('Whole.', true, true)],
        reviewer: [replyWithVerdicts('Hm.', false, false, false), replyWithVerdicts('Good.', true, false, false)],
        publisher: ['Out.'],
      },
    )
    expect(run.route).toEqual(['writer', 'writer', 'reviewer', 'reviewer', 'publisher'])
  })
})

describe('4 message flow', () => {
  test('TM1 4.1 basic message flow: request, turns and handoffs alternate up to the final response; a follow-up goes on', async () => {
    const run = await runExample('1.2-sequential', {
      ...{ Researcher: ['Facts.'], Writer: ['Text.'], Reviewer: ['Right.'], Publisher: ['Out.', 'Out again.'] },
    })
    const flow = run.events.flatMap(({ type }) => (/^(run:start|team:(start|turn|handoff))$/.test(type) ? [type] : []))
    const turn = ['team:turn', 'team:handoff']
    expect(flow).toEqual(['run:start', 'team:start', ...turn, ...turn, ...turn, ...turn])
    const next = await run.answer('Now the printed edition.')
    expect(next.route.slice(4)).toEqual(['Publisher'])
    expect(next.result.gates[0]?.question).toBe('Out again.')
  })

  test('TM1 4.2 conversation history: the fields of the document, with artifacts by name', async () => {
    const model = functionModel(({ session, messages }) => {
      if (session.agent !== 'writer') return { text: 'Read.' }
      const write = (name: string) => ({ name: 'ArtifactWrite', input: { name, content: 'x' } })
      if (messages.at(-1)?.role !== 'tool') return { calls: [write('draft_v1.md'), write('research_notes.json')] }
      const holds = [1, 2].map((condition) => ({ condition, holds: true }))
      return { text: JSON.stringify({ response: 'I have completed the first draft...', verdicts: holds }) }
    })
    const troupe = await createTroupe({ store: 'memory', model })
    const team = { ...(await readExample('3.2-handoff-structure')), after_work_behavior: 'terminate' }
    const input = { team, message: 'Write it.' }
    const run = await readTeamRun(troupe, model, await troupe.run('team' as string, input))
    await troupe.close()
    expect(run.output.history[1]).toMatchObject({
      step_id: expect.any(String),
      agent_name: 'writer',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      parts: [{ type: 'text', text: 'I have completed the first draft...' }],
      artifacts: ['draft_v1.md@1', 'research_notes.json@1'],
      handoff_triggered: true,
      handoff_target: 'reviewer',
    })
    const steps = run.output.history.map(({ step_id }) => step_id)
    expect(new Set(steps).size).toBe(steps.length)
  })
})
