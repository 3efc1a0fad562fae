import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agentModel } from '../../../test/support/collaboration.ts'
import { eventData, textChunks, toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { plainStyle } from '../../../test/support/plain-style.ts'
import { crashingStore, expectReplayMatches } from '../../../test/support/replay-harness.ts'
import { routeFrom } from '../../../test/support/team-harness.ts'
import { agent, createTestTroupe, createTroupeWithStore, storeOf } from '../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../entries/models.ts'
import type { TroupeOptions } from '../../index.ts'
import { createTroupe } from '../../index.ts'
import { formatProgressLine } from '../../surfaces/cli/render/run-progress.ts'
import { runViewFrom } from '../../views/run-view.ts'
import { teamEvents } from './events.ts'
import { teamView } from './view.ts'

const desk = {
  name: 'Desk',
  description: 'Writes and checks texts.',
  agents: [{ name: 'writer' }, { name: 'checker' }],
  handoffs: [{ from_agent: 'writer', to_agent: 'checker' }],
}
const call = { name: 'team', input: { team: 'Desk', message: 'Write a poem.' } }

/** A lead that calls the team in its first turn and then ends. */
function leadModel(replies: Parameters<typeof agentModel>[0] = {}, toolCall: object = call) {
  const lead = ({ session }: ModelRequest) =>
    session.turn === 1 ? toolCallChunks(toolCall as never) : textChunks('Done.')
  return agentModel({ lead, writer: 'A poem.', checker: 'A good poem.', ...replies })
}

async function runLead(
  model: ReturnType<typeof leadModel>,
  options: TroupeOptions = {},
  lead: Parameters<typeof agent>[1] = {},
) {
  const { troupe, task } = await createTestTroupe({
    ...{ agents: [agent('lead', lead)], model, team: { teams: [desk] } },
    ...options,
  })
  const result = await task('lead', 'Get a poem.')
  return { troupe, result, events: await troupe.events(result.run_id).all() }
}

/** The result of the only call of `team`, as the lead reads it. */
function toolResult(model: ReturnType<typeof leadModel>): string {
  return JSON.stringify(model.requestsFrom('lead')[1]?.messages.at(-1)).replaceAll('\\"', '"')
}

describe('a team that an agent calls', () => {
  test('TM61 the tool runs the named team as a subtree of the run and returns its response', async () => {
    const model = leadModel()
    const { result, events, troupe } = await runLead(model)
    expect([result.status, result.error]).toEqual(['completed', null])
    expect(routeFrom(events)).toEqual(['writer', 'checker'])
    expect(toolResult(model)).toContain('A good poem.')
    expect(toolResult(model)).toContain('"reason":"returned"')
    expect(toolResult(model)).not.toContain('history')
    expect(result.usage.calls).toBe(4)
    const opened = eventData(events, 'session:open').map(({ agent: { name }, depth }) => `${name} ${depth}`)
    expect(opened).toEqual(['lead 0', 'writer 1', 'checker 1'])
    await expectReplayMatches(storeOf(troupe), result.run_id, { agents: [agent('lead')], team: { teams: [desk] } })
  })

  test('TM61 the tool lists the configured teams with their descriptions', async () => {
    const model = leadModel()
    await runLead(model)
    const tool = model.requestsFrom('lead')[0]?.tools.find(({ name }) => name === 'team')
    expect(tool?.input).toMatchObject({ properties: { team: { enum: ['Desk'] } } })
    expect(JSON.stringify(tool?.input)).toContain('- Desk: Writes and checks texts.')
    const member = model.requestsFrom('writer')[0]?.tools.map(({ name }) => name) ?? []
    expect(member).not.toContain('team')
  })

  test.each([
    ['another name', { team: 'Desc', message: 'x' }, 'Desk'],
    ['a team of its own', { team: { ...desk, name: 'Mine' }, message: 'x' }, 'team'],
    ['an empty message', { team: 'Desk', message: ' ' }, '`message` is empty'],
    ['an unknown variable', { team: 'Desk', message: 'x', variables: { mood: 'good' } }, "no variable 'mood'"],
  ])('TM62 a model cannot call %s', async (_, input, problem) => {
    const model = leadModel({}, { name: 'team', input })
    const { result, events } = await runLead(model)
    expect(result.status).toBe('completed')
    expect(eventData(events, 'tool:error')[0]?.error).toContain(problem)
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['lead', 'lead'])
  })

  test('TM62 without configured teams there is no such tool', async () => {
    for (const team of [undefined, { teams: [] }]) {
      const model = leadModel()
      const { events } = await runLead(model, team ? { team } : { team: {} })
      expect(model.requestsFrom('lead')[0]?.tools.map(({ name }) => name)).not.toContain('team')
      expect(eventData(events, 'tool:error')[0]?.error).toContain("no tool 'team'")
    }
  })

  test('TM62 no folder is searched for team files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-teams-'))
    const source = 'name: Desk\nagents:\n  - name: writer\n  - name: checker\n'
    for (const place of ['.troupe/teams', 'teams']) {
      await mkdir(join(folder, place), { recursive: true })
      await writeFile(join(folder, place, 'desk.yaml'), source)
    }
    const config = join(folder, 'troupe.config.json')
    await writeFile(config, '{}')
    const model = leadModel()
    await using troupe = await createTroupe({ store: 'memory', config, agents: [agent('lead')], model })
    await troupe.run('task', { agent: 'lead', instruction: 'x' })
    expect(model.requestsFrom('lead')[0]?.tools.map(({ name }) => name)).not.toContain('team')
  })

  test('TM63 members have no more rights than their caller gives and their own list says', async () => {
    const look = { ...agent('x'), name: 'writer', tools: [] }
    const team = { ...desk, agents: [look, { name: 'checker' }].map(({ name, ...rest }) => ({ name, ...pick(rest) })) }
    const model = leadModel()
    await runLead(model, { team: { teams: [team] } }, { tools: ['team', 'ask_user'] })
    const toolsOf = (name: string) => model.requestsFrom(name)[0]?.tools.map((tool) => tool.name)
    expect(toolsOf('checker')).toEqual(['ask_user', 'ArtifactRead', 'ArtifactWrite'])
    expect(toolsOf('writer')).toEqual([])
  })

  test('TM63 an agent that may delegate to some agents only cannot reach others through a team', async () => {
    const model = leadModel()
    const { events } = await runLead(model, {}, { agents: ['writer'] })
    expect(eventData(events, 'tool:error')[0]?.error).toContain('may not delegate to checker')
    expect(model.requestsFrom('writer')).toEqual([])
  })

  test('TM63 permission rules match the members, and the depth limit applies', async () => {
    const denied = await runLead(leadModel(), { permissions: { deny: ['team(checker)'] } })
    expect(eventData(denied.events, 'tool:error')[0]?.error).toContain('denied')
    const tooDeep = await runLead(leadModel(), { limits: { depth: 0 } })
    expect(eventData(tooDeep.events, 'tool:error')[0]?.error).toContain('recursion depth')
    const self = { ...desk, agents: [{ name: 'writer' }, { name: 'checker' }, { name: 'lead' }], entry: 'lead' }
    const model = leadModel()
    const cycle = await runLead(model, { team: { teams: [self] }, limits: { self_depth: 0 } })
    expect(eventData(cycle.events, 'tool:error')[0]?.error).toContain('self_depth')
  })
})

function pick({ tools }: { tools?: string[] }) {
  return tools ? { tools } : {}
}

describe('a team inside a task that stops and goes on', () => {
  test('TM64 what a rule hands to the user is a question in the inbox, and the answer goes on', async () => {
    const asks = { ...desk, handoffs: [{ from_agent: 'writer', to_agent: 'user', condition: 'round < 2' }] }
    const model = leadModel({ writer: ({ messages }) => (messages.length > 2 ? 'A sad poem.' : 'Sad or glad?') })
    const { troupe, result } = await runLead(model, { team: { teams: [asks] } })
    expect([result.status, result.gates[0]?.question]).toEqual(['waiting', 'Sad or glad?'])
    expect((await troupe.gates().all()).map(({ run_id }) => run_id)).toEqual([result.run_id])
    const done = await (await troupe.answer(result.gates[0]?.gate_id ?? '', 'sad')).result
    expect(done.status).toBe('completed')
    expect(toolResult(model)).toContain('A sad poem.')
  })

  test('TM65 a run that is killed anywhere repeats no finished turn of the team', async () => {
    const full = await runLead(leadModel())
    for (let limit = 1; limit < full.events.length; limit += 2) {
      const { store, revive } = crashingStore(limit)
      const model = leadModel()
      const options = { store, agents: [agent('lead')], model, team: { teams: [desk] } }
      const handle = await (await createTroupe(options)).stream('task', { agent: 'lead', instruction: 'Get a poem.' })
      await handle.result.catch(() => {})
      revive()
      const second = await createTroupe({ ...options, team: { teams: [{ ...desk, description: 'Changed.' }] } })
      const result = await (await second.resume(handle.run_id)).result
      expect([limit, result.status]).toEqual([limit, 'completed'])
      const ended = (await second.events(handle.run_id).all()).filter(({ type }) => type === 'session:end')
      expect([limit, ended.length]).toEqual([limit, 3])
      await expectReplayMatches(store, handle.run_id, { agents: [agent('lead')], team: { teams: [desk] } })
    }
  })

  test('TM65 a process without the team leaves the run to one that has it', async () => {
    const asks = { ...desk, handoffs: [{ from_agent: 'writer', to_agent: 'user' }] }
    const model = leadModel()
    const { troupe, result } = await runLead(model, { team: { teams: [asks] } })
    const other = await createTroupeWithStore({ store: storeOf(troupe), agents: [agent('lead')], model })
    const later = await (await other.answer(result.gates[0]?.gate_id ?? '', 'x')).result
    expect(later).toMatchObject({ status: 'waiting', not_continued: { code: 'needs_missing', alternatives: ['Desk'] } })
  })

  test('TM65 a failed member is reported to the caller with what the team has done', async () => {
    const model = leadModel({ checker: Object.assign(new Error('gone'), { status: 404 }) })
    const { result } = await runLead(model)
    expect(result.status).toBe('completed')
    expect(toolResult(model)).toContain('gone')
    expect(toolResult(model)).toContain('A poem.')
  })
})

test('TM61 progress of a called team is shown below its caller', async () => {
  const { events } = await runLead(leadModel())
  const run = runViewFrom(events, [{ name: 'team', events: Object.keys(teamEvents), view: teamView }])
  const lines = events.flatMap((event) =>
    event.type.startsWith('team:') ? (formatProgressLine(event, run, plainStyle(100))?.slice(8) ?? []) : [],
  )
  expect(lines).toEqual([
    '  Desk  writer starts',
    '  writer  round 1',
    '  writer → checker  always',
    '  checker  round 2',
    '  checker → back  no rule holds; after_work_behavior is return_to_user',
  ])
})

describe('configured teams', () => {
  test('TM66 team files of a configuration are read from its folder and checked', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-teams-'))
    const config = join(folder, 'troupe.config.json')
    await writeFile(config, '{ "team": { "teams": ["desk.yaml"] } }')
    await writeFile(join(folder, 'desk.yaml'), 'name: Desk\nagents:\n  - name: writer\n  - name: checker\n')
    const model = leadModel()
    await using troupe = await createTroupe({ store: 'memory', config, agents: [agent('lead')], model })
    expect((await troupe.run('task', { agent: 'lead', instruction: 'x' })).status).toBe('completed')
    expect(model.requestsFrom('writer')).toHaveLength(1)
    await writeFile(join(folder, 'desk.yaml'), 'name: Desk\nagents:\n  - name: writer\n    uses: nobody\n')
    await expect(createTroupe({ store: 'memory', config })).rejects.toMatchObject({
      message: expect.stringMatching(/`team\.teams`: .*desk\.yaml:4:\d+: .*nobody/),
    })
  })

  test.each([
    [{ teams: ['missing.yaml'] }, 'missing.yaml'],
    [{ teams: [desk, desk] }, "two teams have the name 'Desk'"],
    [{ teams: [{ name: 'Empty' }] }, '`team.teams[0]` is invalid'],
    [{ team: [] }, 'option `team` is invalid'],
  ])('TM66 invalid settings are refused: %j', async (team, problem) => {
    await expect(createTroupe({ store: 'memory', team: team as never })).rejects.toMatchObject({
      ...{ code: 'invalid_input', message: expect.stringContaining(problem) },
    })
  })
})
