import { describe, expect, test } from 'vitest'
import { buildTeamGraph, nodesInFlowOrder } from './graph.ts'
import { toMermaid } from './mermaid.ts'
import type { TeamInput } from './team-schema.ts'
import { teamSchema } from './team-schema.ts'

// biome-ignore lint/suspicious/noThenProperty: the key of the specification; its value is text and never awaited
const nextAgent = { then: 'p' }

const mermaid = (team: TeamInput) => toMermaid(buildTeamGraph(teamSchema.parse(team))).split('\n')

describe('the graph of a team', () => {
  test('TF20 it contains all members and handoffs, highest priority first', () => {
    const graph = buildTeamGraph(
      teamSchema.parse({
        name: 'T',
        agents: [
          { name: 'a', role: 'begins' },
          { name: 'b', uses: 'architect' },
          { name: 'p', kind: 'human' },
        ],
        handoffs: [
          { from_agent: 'a', to_agent: 'b', condition: 'done' },
          { from_agent: 'any_agent', to_agent: 'p', condition: 'error detected', priority: 10, approve: true },
        ],
        groups: [{ name: 'g', kind: 'parallel', members: ['a', 'b'], ...nextAgent }],
      }),
    )
    expect(graph).toEqual({
      name: 'T',
      entry: 'a',
      after_work: 'return_to_user',
      nodes: [
        { name: 'a', kind: 'agent', role: 'begins' },
        { name: 'b', kind: 'agent', role: 'uses architect' },
        { name: 'p', kind: 'human' },
        { name: 'g', kind: 'parallel', members: ['a', 'b'] },
      ],
      edges: [
        { from: 'any_agent', to: 'p', condition: 'error detected', priority: 10, approve: true },
        { from: 'a', to: 'b', condition: 'done', priority: 1, approve: false },
        { from: 'g', to: 'p', condition: '', priority: 0, approve: false },
      ],
    })
  })

  test('TF20 every member is listed once, in the order in which work reaches it', () => {
    const agents = ['d', 'c', 'b', 'a', 'alone'].map((name) => ({ name }))
    const handoffs = [
      { from_agent: 'a', to_agent: 'b' },
      { from_agent: 'b', to_agent: 'c' },
      { from_agent: 'c', to_agent: 'a' },
      { from_agent: 'c', to_agent: 'd' },
    ]
    const graph = buildTeamGraph(teamSchema.parse({ name: 'T', agents, handoffs, entry: 'a' }))
    expect(nodesInFlowOrder(graph).map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'alone'])
  })
})

describe('Mermaid', () => {
  test('TF20 it draws agents, people, groups and handoffs', () => {
    const lines = mermaid({
      name: 'T',
      entry: 'g',
      agents: [{ name: 'a' }, { name: 'b', role: 'reads' }, { name: 'p', kind: 'human' }],
      groups: [{ name: 'g', kind: 'consensus', members: ['a', 'b'], ...nextAgent }],
      handoffs: [{ from_agent: 'p', to_agent: 'user', condition: 'agreed', priority: 3, approve: true }],
    })
    expect(lines).toEqual([
      'flowchart TD',
      '  a_user(["user"])',
      '  subgraph a4["g #40;consensus#41;"]',
      '    a1["a"]',
      '    a2["b<br/>reads"]',
      '  end',
      '  a3{{"p"}}',
      '  a_user --> a4',
      '  a3 -->|"agreed<br/>priority 3<br/>needs approval"| a_user',
      '  a4 --> a3',
    ])
  })

  test('TF20 a sub-team is lines as a subgraph with its own ids', () => {
    const inner = { name: 'In', agents: [{ name: 'a' }, { name: 'x' }], handoffs: [{ from_agent: 'a', to_agent: 'x' }] }
    const lines = mermaid({
      name: 'T',
      agents: [
        { name: 'a', team: inner },
        { name: 'f', team: 'file.yaml' },
      ],
    })
    expect(lines).toEqual([
      'flowchart TD',
      '  a_user(["user"])',
      '  subgraph a1["a: In"]',
      '    a1__user(["user"])',
      '    a1_1["a"]',
      '    a1_2["x"]',
      '    a1__user --> a1_1',
      '    a1_1 --> a1_2',
      '  end',
      '  a2[["f"]]',
      '  a_user --> a1',
    ])
  })

  test('TF20 labels are escaped and shortened (no Mermaid injection)', () => {
    const condition = `"]; click a1 "javascript:x" and <b> | #quot; \`x\` {{ y }} ${'long '.repeat(30)}`
    const role = 'a "quoted" role\nwith ]--> arrows'
    const lines = mermaid({
      name: 'T',
      agents: [{ name: 'a', role }, { name: 'b' }],
      handoffs: [{ from_agent: 'a', to_agent: 'b', condition }],
    })
    expect(lines[2]).toBe('  a1["a<br/>a #34;quoted#34; role with #93;--#62; arrows"]')
    const [, label = ''] = /\|"(.*)"\|/.exec(lines.at(-1) ?? '') ?? []
    expect(label).not.toMatch(/["<>|`[\]{}()]/)
    expect(label.replaceAll(/#\d+;/g, 'x').length).toBeLessThanOrEqual(60)
  })

  test('TF20 a member of two groups is lines once', () => {
    const groups = ['g', 'h'].map((name) => ({ name, kind: 'parallel' as const, members: ['a'] }))
    const lines = mermaid({ name: 'T', agents: [{ name: 'a' }], groups })
    expect(lines.filter((line) => line.trim() === 'a1["a"]')).toHaveLength(1)
    expect(lines).toContain('  a3 -.- a1')
  })
})
