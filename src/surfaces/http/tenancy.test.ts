import { describe, expect, test } from 'vitest'
import type { TestServer } from '../../../test/support/http-harness.ts'
import { startTestServer, waitUntil } from '../../../test/support/http-harness.ts'
import { agent, modelFromRules } from '../../../test/support/test-troupe.ts'
import type { RunPage } from './contract.ts'

const call = (name: string, input: unknown) => ({ name, input })
const model = modelFromRules(
  { when: { turn: 1 }, reply: { toolCalls: [call('ArtifactWrite', { name: 'plan/a.md', content: 'secret plan' })] } },
  { when: { turn: 2 }, reply: { toolCalls: [call('ask_user', { question: 'Go on?' })] } },
  { reply: { text: 'Done.' } },
)
const agents = [agent('lead', { tools: ['ArtifactWrite', 'ask_user'] })]

async function fillProject({ troupe }: TestServer) {
  const { run_id, gates } = await troupe.run('task', { agent: 'lead', instruction: 'Plan.' })
  await troupe.run('task', { agent: 'lead', instruction: 'Plan again.' })
  const [session] = (await troupe.sessions({ run_id })).items
  return { run_id, gate_id: gates[0]?.gate_id ?? '', session_id: session?.session_id ?? '' }
}

describe('projects', () => {
  test('HS12 runs, events, sessions, questions, artifacts and cursors of another project do not exist', async () => {
    const own = await startTestServer({ troupe: { agents, model, project: 'own' } })
    const { run_id, gate_id, session_id } = await fillProject(own)
    const cursor = ((await own.call('/api/runs?limit=1')).json as RunPage).cursor
    const foreign = await startTestServer({
      folder: own.folder,
      troupe: { agents, model, project: 'foreign' },
      executes: false,
    })
    const reads = [
      ...['', '/result', '/events', '/export', '/artifacts', '/panels', '/timeline'].map(
        (path) => `/api/runs/${run_id}${path}`,
      ),
      `/api/runs/${run_id}/detail?kind=event&id=1`,
      `/api/runs/${run_id}/artifacts/plan%2Fa.md`,
      `/api/runs/${run_id}/artifacts/plan%2Fa.md/preview`,
      `/api/cost?run_id=${run_id}`,
    ]
    for (const path of reads) {
      const refused = await foreign.call(path)
      expect([path, refused.status]).toEqual([path, 404])
      expect(refused.text).not.toContain(run_id)
      // The same as for a run that does not exist at all.
      expect(refused.text).toBe((await foreign.call(path.replace(run_id, 'r_000000000000'))).text)
      if (!path.endsWith('/timeline')) expect([path, (await own.call(path)).status]).toEqual([path, 200])
    }
    const rest = (gate: string) => `/api/gates/${gate}/blocks/0?from=0&hash=x`
    expect((await own.call(rest(gate_id))).status).toBe(409)
    expect(await foreign.call(rest(gate_id))).toMatchObject({ status: 404 })
    expect((await foreign.call(rest(gate_id))).text).toBe((await foreign.call(rest('g_000000000000'))).text)
    const writes = [
      ...['cancel', 'resume', 'steer'].map(
        (name) => [`/api/runs/${run_id}/${name}`, name === 'steer' ? { do: 'pause' } : {}] as const,
      ),
      [`/api/runs/${run_id}/fork`, { seq: 1 }],
      [`/api/gates/${gate_id}/answer`, { answer: 'yes', hash: 'x' }],
    ] as const
    const before = await own.troupe.events(run_id).all()
    for (const [path, body] of writes)
      expect([path, (await foreign.call(path, body)).status]).toEqual([path, path.match(/resume|fork/) ? 409 : 404])
    expect(await own.troupe.events(run_id).all()).toEqual(before)
    expect((await foreign.call(`/api/runs?limit=1&cursor=${cursor}`)).status).toBe(400)
    expect((await foreign.call(`/api/runs/summaries?ids=${run_id}`)).json).toEqual([])
    expect((await foreign.call('/api/inbox')).json).toEqual([])
    expect(((await foreign.call('/api/runs')).json as RunPage).runs).toEqual([])
    const executing = await startTestServer({ folder: own.folder, troupe: { agents, model, project: 'foreign' } })
    for (const name of ['resume', 'fork'])
      expect((await executing.call(`/api/runs/${run_id}/${name}`, name === 'fork' ? { seq: 1 } : {})).status).toBe(404)
    const input = { agent: 'lead', instruction: 'x', session_id }
    const started = (await executing.call('/api/patterns/task/runs', { input })).json as { run_id: string }
    const ended = await waitUntil(async () => {
      const result = await executing.troupe.result(started.run_id)
      return result.status === 'failed' && result
    })
    expect(ended.error).toMatchObject({ code: 'unknown_session' })
    expect((await own.call(`/api/runs/${run_id}/cancel`, {})).status).toBe(200)
  })
})

describe('choices of the operator', () => {
  const team = { name: 'Desk', agents: [{ name: 'writer' }], handoffs: [] }

  test('HS13 a request chooses no model, tools, limits, team definition or approval rule', async () => {
    const server = await startTestServer({ troupe: { team: { teams: [team] } } })
    const refused = [
      ['task', { agent: 'lead', instruction: 'x', model: 'scripted:/etc/passwd' }],
      [
        'task',
        {
          agent: 'lead',
          instruction: 'x',
          output: { type: 'object', properties: { a: { type: 'string', pattern: '(a+)+$' } } },
        },
      ],
      ['collaborate', { agents: ['lead', 'default'], task: 'x', coordinator_config: { model: 'a/b' } }],
      ['collaborate', { agents: ['lead', 'default'], task: 'x', limits: { max_agents: 50 } }],
      ['collaborate', { agents: [{ name: 'lead', config: { tools: ['Bash'] } }], task: 'x' }],
      ['build', { request: 'x', escalation_on_max: 'force_approve' }],
      ['build', { request: 'x', max_iterations: 20 }],
      ['team', { team, message: 'x' }],
      ['team', { team: 'Nobody', message: 'x' }],
    ] as const
    for (const [pattern, input] of refused) {
      const response = await server.call(`/api/patterns/${pattern}/runs`, { input })
      expect([pattern, response.status, response.json]).toEqual([
        pattern,
        400,
        { error: expect.objectContaining({ code: 'invalid_input' }) },
      ])
    }
    expect(await server.troupe.runs().all()).toEqual([])
    for (const [pattern, input] of [
      ['task', { agent: 'lead', instruction: 'x' }],
      ['collaborate', { agents: ['lead', 'default'], task: 'x' }],
      ['team', { team: 'Desk', message: 'x' }],
    ] as const)
      expect([pattern, (await server.call(`/api/patterns/${pattern}/runs`, { input })).status]).toEqual([pattern, 200])
    const runs = await server.troupe.runs().all()
    const desk = runs.find(({ pattern }) => pattern === 'team')?.run_id ?? ''
    expect((await server.troupe.events(desk))?.items[0]?.data).toMatchObject({ input: { team: { name: 'Desk' } } })
  })

  test('HS13 without teams in the configuration the pattern cannot be started', async () => {
    const server = await startTestServer()
    expect((await server.call('/api/patterns/team/runs', { input: { team, message: 'x' } })).status).toBe(404)
    const { patterns } = (await server.call('/api/session')).json as { patterns: { name: string }[] }
    expect(patterns.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['task', 'collaborate', 'consult', 'build']),
    )
    expect(patterns.map(({ name }) => name)).not.toContain('team')
  })
})
