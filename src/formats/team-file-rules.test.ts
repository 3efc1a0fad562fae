import { describe, expect, test } from 'vitest'
import { linkedTeamYaml, parseTeamYaml, problemLines, teamYaml } from '../../test/support/team-yaml.ts'

describe('names', () => {
  test('TF5 an unknown agent is an error that lists the known ones, nearest first', async () => {
    expect(
      await problemLines(linkedTeamYaml('  - { from_agent: reviwer, to_agent: publisher }', 'entry: wrter')),
    ).toEqual([
      "error 7:19 no agent or group 'reviwer'; known: reviewer, writer, user, any_agent | did you mean 'reviewer'?",
      expect.stringMatching(/^error 7:38 no agent or group 'publisher'; known: .*reviewer/),
      "error 8:8 no agent or group 'wrter'; known: writer, reviewer | did you mean 'writer'?",
    ])
  })

  test('TF5 members, then, weights, supervisor and uses must name known agents', async () => {
    const text = linkedTeamYaml(
      'supervisor: boss',
      'groups:',
      '  - { name: g, kind: consensus, members: [writer, reviewr], then: publisher, weights: { wrter: 2 } }',
    ).replace('- name: writer', '- { name: writer, uses: architct }')
    expect(await problemLines(text, ['architect', 'developer'])).toEqual([
      "error 3:27 no agent 'architct' in the roster; known: architect, developer | did you mean 'architect'?",
      expect.stringMatching(/^error 7:13 no agent or group 'boss'; known: user, /),
      expect.stringMatching(/^error 9:51 no agent or group 'reviewr'; .* \| did you mean 'reviewer'\?/),
      expect.stringMatching(/^error 9:67 no agent or group 'publisher'/),
      expect.stringMatching(/^error 9:96 no agent or group 'wrter'; known: writer, reviewr/),
    ])
    expect(await problemLines(text.replace('architct', 'nobody'))).not.toContainEqual(expect.stringContaining('roster'))
  })

  test('TF5 any_agent cannot be a target, nor previous_agent a source', async () => {
    expect(await problemLines(linkedTeamYaml('  - { from_agent: previous_agent, to_agent: any_agent }'))).toEqual([
      expect.stringMatching(/^error 7:19 no agent or group 'previous_agent'/),
      expect.stringMatching(/^error 7:45 no agent or group 'any_agent'/),
    ])
  })

  test('TF6 an agent cannot hand off to itself', async () => {
    const found = await problemLines(
      linkedTeamYaml('  - { from_agent: writer, to_agent: writer, condition: "more is needed" }'),
    )
    expect(found).toEqual([
      expect.stringMatching(/^error 7:37 'writer' cannot hand off to itself \| .*others: reviewer, user$/),
    ])
  })

  test('TF6 names of agents and groups are unique and not reserved by handoffs', async () => {
    const text = teamYaml(
      '  - name: writer',
      '  - name: user',
      'groups: [{ name: reviewer, kind: parallel, members: [writer] }]',
    )
    expect(await problemLines(text)).toEqual([
      "error 5:11 the name 'writer' is already used | give each agent and group a unique name",
      "error 6:11 the name 'user' is reserved for handoffs",
      "error 7:18 the name 'reviewer' is already used | give each agent and group a unique name",
    ])
  })

  test('TF6 a team cannot be empty', async () => {
    expect(await problemLines('name: T\n')).toEqual([
      expect.stringMatching(/^error 1:1 the team is empty \| give it at least one/),
    ])
    expect(await problemLines('name: T\nagents: []\n')).toEqual([expect.stringMatching(/^error 2:9 the team is empty/)])
    const formed = 'name: T\nform: { roles: [{ name: scout, role: Looks around }] }\n'
    expect((await parseTeamYaml(formed)).team).toMatchObject({ agents: [], form: { max_agents: 5 } })
  })

  test('TF6 an agent is exactly one of: roster agent, team, human', async () => {
    const text = teamYaml().replace('- name: writer', '- { name: writer, uses: a, team: b.yaml }')
    expect(await problemLines(text)).toContainEqual(expect.stringMatching(/^error 3:36 an agent cannot have both/))
    const human = linkedTeamYaml().replace('- name: writer', '- { name: writer, kind: human, model: fast }')
    expect(await problemLines(human)).toEqual(["warning 3:34 'model' has no effect for a human agent"])
    const parallel = linkedTeamYaml(
      'groups: [{ name: g, kind: parallel, members: [writer, writer], threshold: 1 }]',
      'entry: g',
    )
    expect(await problemLines(parallel)).toEqual([
      "warning 7:55 'writer' is listed more than once",
      "warning 7:64 'threshold' has no effect for a parallel group | use kind: consensus to combine the answers",
    ])
  })
})

describe('rules', () => {
  test('TF7 a duplicate rule is reported, whatever its spelling', async () => {
    const twice = [
      '  - { from_agent: reviewer, to_agent: writer, condition: "needs work" }',
      '  - { from_agent: reviewer, to_agent: writer, condition: "Needs  work", priority: 4 }',
    ]
    expect(await problemLines(linkedTeamYaml(...twice))).toEqual([
      'warning 8:5 is the same as handoff 2 | remove one of them',
    ])
  })

  test('TF7 two rules with the same condition and priority but different targets conflict', async () => {
    const rules = (...more: string[]) => teamYaml('  - name: publisher', 'handoffs:', ...more)
    const always = '  - { from_agent: writer, to_agent: reviewer }'
    expect(await problemLines(rules(always, '  - { from_agent: writer, to_agent: publisher }'))).toContainEqual(
      "warning 8:37 conflicts with handoff 1: both hand off from 'writer' always with priority 1; 'reviewer' wins | give them different priorities or conditions",
    )
    const when = (to: string, priority: number) =>
      `  - { from_agent: writer, to_agent: ${to}, condition: done and good, priority: ${priority} }`
    expect(await problemLines(rules(when('reviewer', 2), when('publisher', 2)))).toEqual([
      expect.stringMatching(/^warning 8:37 conflicts with handoff 1: .* on the same condition with priority 2/),
    ])
    expect(await problemLines(rules(when('reviewer', 2), when('publisher', 3)))).toEqual([])
    const itself = '  - { from_agent: writer, to_agent: writer }'
    expect(await problemLines(rules(itself, always))).not.toContainEqual(expect.stringContaining('conflicts'))
  })

  test.each([
    ['plain', '    condition: draft is done and', 7, 30],
    ['in single quotes', "    condition: 'it''s done and'", 7, 28],
    ['in double quotes', '    condition: "it is \\"done\\" and"', 7, 32],
    ['folded', '    condition: >\n      it is done\n      and', 9, 7],
    ['literal', '    condition: |\n      it is done\n      and', 9, 7],
    ['over several plain lines', '    condition: it is done\n      and', 8, 7],
    ['with an escaped letter', '    condition: "caf\\u00e9 and"', 7, 27],
  ])('TF8 a problem in a condition written %s has its exact line and column', async (_, condition, line, column) => {
    const text = teamYaml('handoffs:', `  - from_agent: writer\n    to_agent: reviewer\n${condition}`)
    const { problems } = await parseTeamYaml(text)
    expect(problems).toMatchObject([{ severity: 'error', field: 'handoffs[0].condition', line: line + 1, column }])
    expect(problems[0]?.message).toContain("a condition is missing after 'and'")
  })

  test('TF8 = instead of == is reported at its position', async () => {
    expect(
      await problemLines(linkedTeamYaml('  - { from_agent: reviewer, to_agent: writer, condition: "score = 3" }')),
    ).toEqual([expect.stringMatching(/^error 7:65 .*==/)])
  })

  test('TF9 a variable has one type', async () => {
    const text = linkedTeamYaml('context_variables: { score: high }').replace(
      '- name: writer',
      '- { name: writer, outputs: { score: number } }',
    )
    expect(await problemLines(text)).toEqual([
      "error 3:39 'score' is a number here and a string in context_variables | use the same type everywhere",
    ])
  })

  test('TF9 condition keywords and __proto__ cannot be variable names', async () => {
    expect(
      await problemLines(linkedTeamYaml('context_variables: { And: 3, false: 1, __proto__: 2, android: 1 }')),
    ).toEqual([
      "error 7:22 'And' is a keyword of conditions and cannot be a variable name | use another name",
      "error 7:30 'false' is a keyword of conditions and cannot be a variable name | use another name",
      "error 7:40 '__proto__' is not allowed as a key | use another name",
    ])
    const inside = linkedTeamYaml().replace('- name: writer', '- { name: writer, outputs: { not: number } }')
    expect(await problemLines(inside)).toEqual([expect.stringMatching(/^error 3:32 'not' is a keyword of conditions/)])
  })

  test('TF9 variables set by the runtime cannot be set by a team', async () => {
    expect(await problemLines(linkedTeamYaml('context_variables: { round: 3, writer_load: 1 }'))).toEqual([
      "error 7:22 'round' is a system variable | use another name",
      "error 7:32 'writer_load' is a system variable | use another name",
    ])
  })
})
