import { describe, expect, test } from 'vitest'
import {
  contributionJson,
  createCollaborationTroupe,
  lastInstruction,
  runCollaboration,
} from '../../../../test/support/collaboration.ts'
import { toolCallChunks } from '../../../../test/support/manual-doubles.ts'
import { agent } from '../../../../test/support/test-troupe.ts'
import type { Model, ModelRequest } from '../../../entries/models.ts'
import { scriptedModel } from '../../../models/scripted.ts'
import { validateValue } from '../../../schema/schema.ts'
import { collaborate } from '../collaborate.ts'
import { collaborateOutput } from '../output.ts'
import { parseDuration } from '../view/duration.ts'
import { DEFAULT_COLLABORATE_CONFIG } from './collaborate-config.ts'
import { collaborateInput } from './input.ts'

const yes = contributionJson('yes')
const everybody = { everybody: yes, coordinator: 'All say yes.' }

describe('input and output', () => {
  test('CO1 only task and agents are required; the rest has the defaults of the specification', async () => {
    const { output, model } = await runCollaboration(everybody)
    expect(output.metadata).toMatchObject({ mode: 'parallel', synthesis: 'coordinator', agents_count: 3 })
    expect(output.result).toBe('All say yes.')
    expect(model.requests).toHaveLength(4)
    expect(DEFAULT_COLLABORATE_CONFIG).toMatchObject({
      default_mode: 'parallel',
      default_synthesis: 'coordinator',
      max_agents: 5,
      max_parallel: 3,
      agent_timeout: '300s',
      coordinator: { temperature: 0.3 },
    })
    expect(collaborateInput.safeParse({ task: 'x' }).success).toBe(false)
    expect(collaborateInput.safeParse({ agents: ['a'] }).success).toBe(false)
    expect(collaborateInput.safeParse({ task: 'x', agents: ['a'], mod: 'parallel' }).success).toBe(false)
    const rest = { on_conflict: 'surface', structured: true, cache: false }
    expect(collaborateInput.parse({ task: 'x', agents: ['a'] })).toEqual({ task: 'x', agents: ['a'], ...rest })
  })

  test('CO1 the output matches its schema, and configured defaults replace the built-in ones', async () => {
    const { output } = await runCollaboration(
      everybody,
      {},
      { collaborate: { default_synthesis: 'merge', max_agents: 3 } },
    )
    expect(collaborateOutput.safeParse(output).success).toBe(true)
    expect(output.metadata.synthesis).toBe('merge')
    const four = ['a', 'b', 'c', 'd'].map((name) => ({ name }))
    await expect(
      runCollaboration(everybody, { agents: four }, { collaborate: { max_agents: 3 } }),
    ).rejects.toMatchObject({
      message: '`agents` has 4 entries, but `limits.max_agents` is 3',
    })
  })

  test('CO1 a duration is 300s, 5m, 2h, 500ms or a number of seconds', () => {
    expect(['300s', '5m', '2h', '500ms', 1.5, ' 2 s '].map(parseDuration)).toEqual([
      300_000, 300_000, 7_200_000, 500, 1500, 2000,
    ])
    expect(['', '5', 'soon', '-1s', '0s', 0, -1].map(parseDuration)).toEqual(Array(7).fill(undefined))
    const limits = (agent_timeout: unknown) =>
      collaborateInput.safeParse({ task: 'x', agents: ['a'], limits: { agent_timeout } })
    expect(limits('soon').success).toBe(false)
    expect(limits('90s').success).toBe(true)
  })

  test('CO2 prompts start with the same task and context; role and focus come after them', async () => {
    const agents = [
      { name: 'a', role: 'security', focus: 'injection' },
      { name: 'b', role: 'speed' },
    ]
    const { model } = await runCollaboration(everybody, { agents, context: { team: 8, when: 'soon' } })
    const [a = '', b = ''] = ['a', 'b'].map((name) => lastInstruction(model.requestsFrom(name)[0] as ModelRequest))
    const shared = '<task>\nWhat now?\n</task>\n<context>\n- team: 8\n- when: soon\n</context>\n'
    expect(a.startsWith(shared)).toBe(true)
    expect(b.startsWith(shared)).toBe(true)
    expect(a).toContain('<you>\nName: a. Field: security. Focus: injection\n</you>')
    expect(b).toContain('<you>\nName: b. Field: speed.\n</you>')
    expect(model.requestsFrom('a')[0]?.system).toBe(model.requestsFrom('b')[0]?.system)
    expect(lastInstruction(model.requestsFrom('coordinator')[0] as ModelRequest).startsWith(shared)).toBe(true)
  })

  test('CO2 the context of the input is never modified', async () => {
    const context = Object.freeze({ facts: Object.freeze(['one']) })
    for (const mode of ['parallel', 'sequential']) {
      const { result } = await runCollaboration(everybody, { mode, context })
      expect(result.status).toBe('completed')
    }
    expect(context).toEqual({ facts: ['one'] })
  })
})

describe('agents and models', () => {
  const known = agent('designer', { instructions: 'Draw boxes.', temperature: 0.7, model: 'function' })

  test('CO3 an agent is a name or a definition; a definition with a known name changes that agent', async () => {
    const agents = ['designer', { name: 'b', role: 'speed', config: { system_prompt: 'Measure.' } }]
    const { output, model } = await runCollaboration(everybody, { agents }, { agents: [{ ...known, model: 'manual' }] })
    expect(output.contributions.map(({ agent: name, role }) => [name, role])).toEqual([
      ['designer', 'designer'],
      ['b', 'speed'],
    ])
    const [first] = model.requestsFrom('designer')
    expect(first?.settings.temperature).toBe(0.7)
    expect(lastInstruction(first as ModelRequest)).toMatch(/<you>\nName: designer\.\nDraw boxes\.\n<\/you>/)
    expect(lastInstruction(model.requestsFrom('b')[0] as ModelRequest)).toMatch(
      /<you>\nName: b\. Field: speed\.\nMeasure\.\n<\/you>/,
    )
    const object = { name: 'designer', role: 'critic', focus: 'lines', config: { temperature: 0.1 } }
    const again = await runCollaboration(
      everybody,
      { agents: [object, 'reviewer'] },
      { agents: [{ ...known, model: 'manual' }] },
    )
    const request = again.model.requestsFrom('designer')[0] as ModelRequest
    expect(again.output.contributions[0]).toMatchObject({ agent: 'designer', role: 'critic' })
    expect(request.settings.temperature).toBe(0.1)
    expect(lastInstruction(request)).toContain('Draw boxes.')
    expect(lastInstruction(request)).toContain('Focus: lines')
  })

  /** Runs a collaboration and records the model requested by each agent. */
  async function runWithResolver(input: Record<string, unknown>, run: { model?: string } = {}, collaborate = {}) {
    const names: [string, string | undefined][] = []
    const rules = [
      { when: { agent: 'coordinator' }, reply: { text: 'done' } },
      {
        when: { agent: 'evaluator' },
        reply: { object: { scores: [{ answer: 1, score: 5, reason: '' }], best: 1, reason: '' } },
      },
      { reply: { text: yes } },
    ]
    const resolver = {
      resolve(name: string | undefined): Model {
        const { stream } = scriptedModel({ rules, otherwise: 'error' } as never)
        const recordingStream: Model['stream'] = (request, signal) => {
          names.push([request.session.agent, name])
          return stream(request, signal)
        }
        return { name: name ?? 'default', stream: recordingStream }
      },
    }
    const { troupe } = await createCollaborationTroupe({}, { models: { resolver }, collaborate })
    const agents = [{ name: 'a' }, { name: 'b' }]
    const result = await troupe.run('collaborate' as string, { task: 'x', agents, ...input }, run)
    const opened = (await troupe.events(result.run_id).all()).filter(({ type }) => type === 'session:open')
    return { names: Object.fromEntries(names), result, opened, troupe }
  }

  test('CO4 providers[{module: provider-x, config}] is the model x/…; model takes precedence', async () => {
    const provider = (config: object) => ({
      providers: [{ module: 'provider-acme', source: 'git+https://example.invalid/x', config }],
    })
    const agents = [
      { name: 'a', config: provider({ model: 'm-1', temperature: 0.1 }) },
      { name: 'b', config: { model: 'fast', ...provider({ model: 'm-1' }) } },
      { name: 'c', config: provider({ model: 'other/m-2' }) },
      { name: 'd', config: provider({ temperature: 0.2 }) },
    ]
    const coordinator_config = { ...provider({ model: 'big', temperature: 0.9 }), system_prompt: 'Be brief.' }
    const { names, result, opened, troupe } = await runWithResolver({ agents, coordinator_config })
    expect(names).toEqual({ a: 'acme/m-1', b: 'fast', c: 'other/m-2', d: 'acme/general', coordinator: 'acme/big' })
    const temperatures = opened.map(({ data }) => (data as { agent: { name: string; temperature?: number } }).agent)
    expect(temperatures.map(({ name, temperature }) => [name, temperature])).toEqual([
      ['a', 0.1],
      ['b', undefined],
      ['c', undefined],
      ['d', 0.2],
      ['coordinator', 0.9],
    ])
    expect(opened.at(-1)?.data).toMatchObject({ agent: { instructions: expect.stringContaining('Be brief.') } })
    // `source` is stored with the run and never fetched.
    const [start] = await troupe.events(result.run_id).all()
    expect(JSON.stringify(start?.data)).toContain('git+https://example.invalid/x')
  })

  test('CO5 coordinator and evaluator have temperature 0.3 and 0.2 and use the run’s model by default', async () => {
    const temperature = (opened: Awaited<ReturnType<typeof runWithResolver>>['opened'], name: string) =>
      opened
        .map(({ data }) => (data as { agent: { name: string; temperature: number } }).agent)
        .find((one) => one.name === name)?.temperature
    const plain = await runWithResolver({})
    expect(plain.names.coordinator).toBeUndefined()
    expect(temperature(plain.opened, 'coordinator')).toBe(0.3)
    const named = await runWithResolver({ synthesis: 'best_of' }, { model: 'acme/run' })
    expect(named.names).toMatchObject({ a: 'acme/run', evaluator: 'acme/run' })
    expect(temperature(named.opened, 'evaluator')).toBe(0.2)
  })

  test('CO94 coordinator_config and the configured coordinator apply to the evaluator too', async () => {
    const coordinator_config = { model: 'acme/judge', temperature: 1, system_prompt: 'Be strict.' }
    const { names, opened } = await runWithResolver({ synthesis: 'best_of', coordinator_config })
    expect(names.evaluator).toBe('acme/judge')
    expect(opened.at(-1)?.data).toMatchObject({
      agent: { name: 'evaluator', temperature: 1, instructions: expect.stringContaining('Be strict.') },
    })
    const settings = { coordinator: { model: 'acme/ours', temperature: 0.9 } }
    const ours = await runWithResolver({ synthesis: 'best_of' }, {}, settings)
    expect(ours.names.evaluator).toBe('acme/ours')
    expect(ours.opened.at(-1)?.data).toMatchObject({ agent: { name: 'evaluator', temperature: 0.2 } })
  })
})

test('CO1 the tool schema lists the agents that the caller may use', () => {
  expect(collaborate.on_request).toBe(true)
  const opening = { agent: { agents: ['one', 'two'] } }
  const schema = collaborate.inputFor?.({ caller: { opening }, roster: { names: ['one', 'two', 'three'] } } as never)
  expect(schema && validateValue(schema, { task: 'x', agents: ['one'] }).ok).toBe(true)
  expect(schema && validateValue(schema, { task: 'x', agents: ['three'] }).ok).toBe(false)
  expect(schema && validateValue(schema, { task: 'x', agents: [{ name: 'new' }] }).ok).toBe(true)
})

test('CO1 tool-collaborative is an alias, and permission rules can match the agents', async () => {
  const input = { task: 'x', agents: ['architect', { name: 'a' }] }
  const { troupe, model } = await createCollaborationTroupe(
    {
      lead: (request) => (request.session.turn === 1 ? toolCallChunks({ name: 'tool-collaborative', input }) : 'end'),
      ...everybody,
    },
    { agents: [agent('lead', { tools: ['tool-collaborative'] })] },
  )
  const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
  expect(result.status).toBe('completed')
  expect(model.requestsFrom('a')).toHaveLength(1)
  expect(collaborate.agents?.(input as never, undefined as never)).toEqual(['architect', 'a'])
})
