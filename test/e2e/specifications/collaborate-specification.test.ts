import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../../src/entries/models.ts'
import type { Event } from '../../../src/index.ts'
import { createTroupe } from '../../../src/index.ts'
import { collaborate } from '../../../src/patterns/collaborate/collaborate.ts'
import { toJsonSchema } from '../../../src/schema/schema.ts'
import { agentModel, contributionJson, lastInstruction, runCollaboration } from '../../support/collaboration.ts'
import { agent, functionModel } from '../../support/test-troupe.ts'

/* Specification 000 (collaboration of specialists), example by example. Every specialist gives its own name as its answer. */

const ownName = (request: ModelRequest) => contributionJson(`do what ${request.session.agent} says`)
const names = (contributions: readonly { agent: string }[]) => contributions.map(({ agent }) => agent)

describe('000 collaboration modes', () => {
  const reviewers = [
    { name: 'security-reviewer', role: 'security', focus: 'vulnerabilities, auth, injection' },
    { name: 'performance-reviewer', role: 'performance', focus: 'complexity, caching, queries' },
    { name: 'maintainability-reviewer', role: 'maintainability', focus: 'patterns, coupling, readability' },
  ]

  test('000 parallel: every specialist sees the task and its focus, none the others; a coordinator synthesises', async () => {
    const { output, model } = await runCollaboration(
      { everybody: ownName, coordinator: 'One review of three.' },
      { mode: 'parallel', agents: reviewers, synthesis: 'coordinator' },
    )
    expect(output.result).toBe('One review of three.')
    expect(names(output.contributions)).toEqual(names(reviewers.map(({ name }) => ({ agent: name }))))
    for (const { name, role, focus } of reviewers) {
      const [request] = model.requestsFrom(name)
      expect(request && `${request.system ?? ''}\n${lastInstruction(request)}`).toContain(focus)
      expect(request && `${request.system ?? ''}\n${lastInstruction(request)}`).toContain(role)
      expect(request && lastInstruction(request)).not.toContain('says')
    }
    const [synthesis] = model.requestsFrom('coordinator')
    for (const { name } of reviewers) expect(synthesis && lastInstruction(synthesis)).toContain(`do what ${name} says`)
    expect(synthesis?.settings.temperature).toBe(0.3)
  })

  test('000 sequential: every agent sees the answers before it; merge keeps the chain visible', async () => {
    const chain = [
      { name: 'analyzer', role: 'analysis', focus: 'understand the problem' },
      { name: 'designer', role: 'design', focus: 'propose solution based on analysis' },
      { name: 'critic', role: 'critique', focus: 'evaluate design, find gaps' },
      { name: 'refiner', role: 'refinement', focus: 'improve design based on critique' },
    ]
    const { output, model } = await runCollaboration(
      { everybody: ownName },
      { mode: 'sequential', agents: chain, synthesis: 'merge' },
    )
    for (const [index, { name }] of chain.entries()) {
      const [request] = model.requestsFrom(name)
      const seen = chain.filter((other) => request && lastInstruction(request).includes(`do what ${other.name} says`))
      expect(seen).toEqual(chain.slice(0, index))
    }
    const headings = [...output.result.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(chain.map(({ name, role }) => `${name} (${role})`))
  })

  test('000 hierarchical: the first agent divides the task, specialists work on their parts, it writes the answer', async () => {
    const agents = [
      { name: 'coordinator', role: 'coordinator', focus: 'decompose task, assign to specialists, synthesize' },
      { name: 'backend-specialist', role: 'backend', focus: 'API, database, services' },
      { name: 'frontend-specialist', role: 'frontend', focus: 'UI, state, components' },
      { name: 'infra-specialist', role: 'infrastructure', focus: 'deployment, scaling, monitoring' },
    ]
    const assignments = agents.slice(1).map(({ name }) => ({ agent: name, subtask: `the part of ${name}` }))
    const { output, model } = await runCollaboration(
      {
        everybody: ownName,
        coordinator: ({ output: schema }) =>
          schema ? JSON.stringify({ plan: 'Three parts.', assignments }) : 'The whole.',
      },
      { mode: 'hierarchical', agents, synthesis: 'coordinator' },
    )
    expect(output.result).toBe('The whole.')
    expect(output.contributions.map(({ agent, subtask }) => ({ agent, subtask })).slice(1)).toEqual(assignments)
    for (const { agent, subtask } of assignments) {
      const [request] = model.requestsFrom(agent)
      expect(request && lastInstruction(request)).toContain(subtask)
    }
  })
})

describe('000 usage examples', () => {
  test('000 a pull request review with a temperature per reviewer', async () => {
    const provider = (temperature: number) => ({
      providers: [{ module: 'provider-anthropic', config: { temperature } }],
    })
    const { output, model, result } = await runCollaboration(
      { everybody: ownName, coordinator: 'Change it.' },
      {
        task: 'Review PR #482: reset a forgotten password\n\nDiff:\n+ app.post("/reset")',
        agents: [
          { name: 'security-reviewer', role: 'security', config: provider(0.1), focus: 'Security vulnerabilities' },
          { name: 'quality-reviewer', role: 'code-quality', config: provider(0.2), focus: 'Code patterns' },
          { name: 'test-reviewer', role: 'testing', focus: 'Test coverage' },
        ],
        mode: 'parallel',
        synthesis: 'coordinator',
      },
    )
    expect(result.status).toBe('completed')
    expect(output.contributions).toHaveLength(3)
    expect(model.requestsFrom('security-reviewer')[0]?.settings.temperature).toBe(0.1)
    expect(model.requestsFrom('quality-reviewer')[0]?.settings.temperature).toBe(0.2)
  })

  test('000 an architecture debate with shared context and a model for the coordinator', async () => {
    const context = { team_size: 8, timeline: '6 months', scale_requirements: '10k requests/day initially' }
    const opus = Object.assign(agentModel({ coordinator: 'A monolith.' }), { name: 'anthropic/claude-opus-4' })
    const { output, model, result } = await runCollaboration(
      { everybody: ownName },
      {
        task: 'Should we use microservices or monolith for the new payment system?',
        agents: [
          { name: 'microservices-advocate', role: 'advocate', focus: 'Argue FOR microservices architecture' },
          { name: 'monolith-advocate', role: 'advocate', focus: 'Argue FOR monolith architecture' },
          { name: 'pragmatist', role: 'evaluator', focus: 'Evaluate both arguments, consider team context' },
        ],
        mode: 'sequential',
        synthesis: 'coordinator',
        coordinator_config: {
          providers: [{ module: 'provider-anthropic', config: { model: 'claude-opus-4', temperature: 0.3 } }],
        },
        context,
      },
      { models: { custom: [opus] } },
    )
    expect(result.error).toBeNull()
    expect(output.result).toBe('A monolith.')
    expect(opus.requests[0]?.settings.temperature).toBe(0.3)
    for (const { session, messages } of model.requests.filter(({ session }) => session.agent !== 'coordinator')) {
      const text = JSON.stringify(messages)
      for (const value of ['8', '6 months', '10k requests/day initially']) expect(text, session.agent).toContain(value)
    }
    expect(context).toEqual({ team_size: 8, timeline: '6 months', scale_requirements: '10k requests/day initially' })
  })
})

describe('000 contract', () => {
  const specialists = ['security-specialist', 'performance-specialist', 'maintainability-specialist']

  /** The main session calls the tool of the document in its first turn and reports its result. */
  async function callFromMainSession() {
    const config = { temperature: 0.4 }
    const agents = specialists.map((name) => ({ name, role: name.split('-')[0], focus: 'its own field', config }))
    const facts = { context: { language: 'TypeScript' }, coordinator_config: { temperature: 0.1 } }
    const model = functionModel((request) => {
      const { agent: name, turn } = request.session
      if (specialists.includes(name)) return { text: ownName(request) }
      if (name === 'coordinator') return { text: 'One analysis.' }
      const call = { name: 'collaborate', input: { task: 'Analyse the change.', agents, ...facts } }
      return turn === 1 ? { calls: [call] } : { text: 'Here is the comprehensive analysis.' }
    })
    const main = agent('main', { tools: ['collaborate'] })
    const troupe = await createTroupe({ store: 'memory', embedder: false, model, agents: [main] })
    const result = await troupe.run('task', { agent: 'main', instruction: 'Review it.' })
    const events = await troupe.events(result.run_id).all()
    await troupe.close()
    return { model, result, events }
  }

  test('000 architecture: the main session calls the tool, specialists work in parallel, a coordinator synthesises', async () => {
    const { model, result, events } = await callFromMainSession()
    const order = model.requests.map(({ session }) => session.agent)
    expect([order[0], new Set(order.slice(1, 4)), ...order.slice(4)]).toEqual([
      ...['main', new Set(specialists), 'coordinator', 'main'],
    ])
    expect(result.output).toMatchObject({ response: 'Here is the comprehensive analysis.' })
    const told = model.requests.at(-1)
    expect(JSON.stringify(told?.messages.at(-1))).toContain('One analysis.')
    expect(new Set(events.map(({ run_id }) => run_id)).size).toBe(1)
  })

  test('000 the tool contract: parameters, types, enum values and what is required', () => {
    const schema = toJsonSchema(collaborate.input)
    const several = (...values: string[]) => ({ type: 'string', enum: expect.arrayContaining(values) })
    expect(schema).toMatchObject({
      type: 'object',
      properties: {
        task: { type: 'string' },
        agents: { type: 'array' },
        mode: several('parallel', 'sequential', 'hierarchical'),
        synthesis: several('coordinator', 'vote', 'merge', 'best_of'),
        coordinator_config: { type: 'object' },
        context: { type: 'object' },
      },
    })
    expect(new Set((schema as { required: string[] }).required)).toEqual(new Set(['task', 'agents']))
    const { agents } = (schema as { properties: Record<string, unknown> }).properties
    for (const field of ['name', 'role', 'config', 'focus']) expect(JSON.stringify(agents)).toContain(`"${field}":`)
  })

  test('000 the tool takes every parameter of the contract from a model, which is offered those it usually chooses', async () => {
    const { model } = await callFromMainSession()
    const offered = model.requests[0]?.tools.find(({ name }) => name === 'collaborate')?.input
    const { properties } = offered as { properties: Record<string, unknown> }
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(['task', 'agents', 'mode', 'synthesis']))
    const requestOf = (agent: string) => model.requests.find(({ session }) => session.agent === agent)
    const specialist = requestOf(specialists[0] ?? '')
    expect(specialist && lastInstruction(specialist)).toContain('language: TypeScript')
    expect(specialist?.settings.temperature).toBe(0.4)
    expect(requestOf('coordinator')?.settings.temperature).toBe(0.1)
  })

  test('000 the output has result, contributions, consensus and metadata with the fields of the document', async () => {
    const { output } = await runCollaboration({ everybody: contributionJson('ship it'), coordinator: 'Ship it.' })
    expect(output).toMatchObject({
      result: 'Ship it.',
      contributions: [
        {
          agent: 'a',
          role: 'role a',
          response: 'because of ship it',
          confidence: 0.8,
          tokens_used: expect.any(Number),
        },
        { agent: 'b' },
        { agent: 'c' },
      ],
      consensus: { agents_count: 3, has_consensus: true, agreement_score: 1, key_disagreements: [] },
      metadata: { agents_count: 3, mode: 'parallel', synthesis: 'coordinator' },
    })
    const used = output.contributions.reduce((sum, { tokens_used }) => sum + tokens_used, 0)
    expect(output.metadata.total_tokens).toBeGreaterThan(used)
  })

  test('000 a vote names the consensus, divergent views and the majority', async () => {
    const { output } = await runCollaboration(
      { a: contributionJson('yes', 0.9), b: contributionJson('yes', 0.6), c: contributionJson('no', 0.5) },
      { synthesis: 'vote', categories: ['yes', 'no'] },
    )
    expect(output.vote).toMatchObject({ winner: 'yes' })
    expect(output.consensus.consensus_score).toBeCloseTo(1.5 / 2)
    expect(output.consensus.dissenting).toEqual(['role c'])
    expect(output.result).toContain('yes')
  })

  test('000 best_of returns one answer with a score for each', async () => {
    const scores = [5, 6, 7].map((score, index) => ({ answer: index + 1, score, reason: 'so so' }))
    const { output } = await runCollaboration(
      { everybody: ownName, evaluator: JSON.stringify({ scores, best: 3, reason: 'the most complete' }) },
      { synthesis: 'best_of' },
    )
    expect(output.best_of?.agent).toBe('c')
    expect(output.best_of?.scores.map(({ score }) => score)).toEqual([5, 6, 7])
    expect(output.result).toContain('do what c says')
  })
})

describe('000 events and configuration', () => {
  const dataOf = (events: readonly Event[], type: string) =>
    events.filter((event) => event.type === `tool:collaborative:${type}`).map(({ data }) => data)

  test('000 every event of the document is recorded with its data', async () => {
    const { events } = await runCollaboration({ everybody: ownName, coordinator: 'Done.' })
    expect(dataOf(events, 'start')).toEqual([expect.objectContaining({ task: 'What now?', mode: 'parallel' })])
    expect(dataOf(events, 'agent:start')).toHaveLength(3)
    expect(dataOf(events, 'agent:start')[0]).toMatchObject({ agent: 'a', role: 'role a' })
    expect(dataOf(events, 'agent:complete')[0]).toMatchObject({ agent: 'a', tokens: expect.any(Number) })
    expect(dataOf(events, 'synthesis:start')).toEqual([expect.objectContaining({ strategy: 'coordinator' })])
    expect(dataOf(events, 'complete')).toEqual([
      expect.objectContaining({ agents_count: 3, total_tokens: expect.any(Number) }),
    ])
  })

  test('000 the configuration of the document sets defaults and limits', async () => {
    const collaborate = {
      default_mode: 'sequential',
      default_synthesis: 'merge',
      max_agents: 5,
      max_parallel: 3,
      agent_timeout: '300s',
      coordinator: { temperature: 0.3 },
    } as const
    const { output } = await runCollaboration({ everybody: ownName }, {}, { collaborate })
    expect(output.metadata).toMatchObject({ mode: 'sequential', synthesis: 'merge' })
    const six = ['1', '2', '3', '4', '5', '6'].map((name) => ({ name: `agent-${name}` }))
    const rejected = runCollaboration({ everybody: ownName }, { agents: six }, { collaborate })
    await expect(rejected).rejects.toThrow('`limits.max_agents` is 5')
  })
})
