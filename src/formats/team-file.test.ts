import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { linkedTeamYaml, parseTeamYaml, problemLines, teamYaml } from '../../test/support/team-yaml.ts'

describe('YAML', () => {
  test('TF1 omitted fields have defaults', async () => {
    const { team: parsed, problems } = await parseTeamYaml(linkedTeamYaml())
    expect(problems).toEqual([])
    expect(parsed).toEqual({
      name: 'T',
      agents: [
        { name: 'writer', kind: 'agent' },
        { name: 'reviewer', kind: 'agent' },
      ],
      handoffs: [{ from_agent: 'writer', to_agent: 'reviewer', priority: 1, approve: false }],
      groups: [],
      context_variables: {},
      after_work_behavior: 'return_to_user',
      limits: { max_rounds: 50, max_repeats_per_edge: 3, max_parallel: 3, ping_pong: 4 },
    })
  })

  test('TF2 invalid YAML is an error with its line and column', async () => {
    expect(await problemLines('name: T\nagents:\n  - name: "writer\n')).toEqual([
      'error 4:1 invalid YAML: Missing closing "quote',
    ])
    expect(await problemLines('name: T\nagents:\n\t- name: writer\n')).toContainEqual(
      'error 3:1 invalid YAML: Tabs are not allowed as indentation | indent with spaces',
    )
    expect(await problemLines('name: T\nname: U\n')).toEqual([
      'error 2:1 invalid YAML: Map keys must be unique | remove the duplicate key',
    ])
    const unquoted = teamYaml(
      'handoffs:',
      '  - from_agent: writer',
      '    to_agent: reviewer',
      '    condition: done: really',
    )
    expect(await problemLines(unquoted)).toEqual([
      expect.stringMatching(/^error 8:16 invalid YAML: .* \| quote text that contains : or #/),
    ])
  })

  test('TF2 several documents, an empty file and data that is not a map are rejected', async () => {
    expect(await problemLines('name: T\n---\nname: U\n')).toEqual([
      expect.stringMatching(/^error 2:1 .*use one file per team$/),
    ])
    expect(await problemLines('')).toEqual(['error 1:1 the file is empty | start the team with name: and agents:'])
    expect(await problemLines('# only a comment\n')).toEqual([expect.stringContaining('the file is empty')])
    expect(await problemLines('- a\n- b\n')).toEqual(['error 1:1 a team must be a map'])
    expect(await problemLines('just words')).toEqual(['error 1:1 a team must be a map'])
  })

  test('TF2 a YAML alias bomb is rejected, not expanded', async () => {
    const rows = Array.from(
      { length: 12 },
      (_, level) => `l${level + 1}: &l${level + 1} [${Array(9).fill(`*l${level}`).join(', ')}]`,
    )
    expect(await problemLines(['l0: &l0 [x]', ...rows].join('\n'))).toEqual([
      expect.stringMatching(/^error 1:1 invalid YAML: Excessive alias count/),
    ])
  })

  test('TF2 too deeply nested YAML is rejected', async () => {
    const found = await problemLines(`name: T\nagents: ${'['.repeat(50_000)}`)
    expect(found[0]).toMatch(/^error 2:\d+ invalid YAML: it is nested too deeply$/)
    expect(found).toHaveLength(10)
  })

  test('TF2 a byte order mark and CRLF line ends do not shift positions', async () => {
    const text = '\uFEFFnme: T\r\nname: T\r\nagents:\r\n  - name: writer\r\n    rol: x\r\n'
    expect(await problemLines(text)).toEqual([
      expect.stringMatching(/^warning 1:1 unknown key 'nme'/),
      expect.stringMatching(/^warning 5:5 unknown key 'rol'/),
    ])
  })
})

describe('keys and values', () => {
  test('TF3 an unknown key is ignored and reported at its position, with the nearest known one', async () => {
    const text = linkedTeamYaml('limts: { max_rounds: 3 }').replace(
      '  - name: writer',
      '  - name: writer\n    rolle: Writes',
    )
    expect(await problemLines(text)).toEqual([
      expect.stringMatching(/^warning 4:5 unknown key 'rolle' is ignored \| did you mean 'role'\?/),
      expect.stringMatching(/^warning 8:1 unknown key 'limts' is ignored \| did you mean 'limits'\?/),
    ])
    const { team: parsed } = await parseTeamYaml(text)
    expect(parsed).toMatchObject({ agents: [{ name: 'writer' }, {}], limits: { max_rounds: 50 } })
    expect(parsed).not.toHaveProperty('limts')
  })

  test('TF3 unknown keys are found in handoffs, groups, limits, form and sub-teams', async () => {
    const text = [
      'name: T',
      'agents:',
      '  - name: a',
      '    team: { name: Inner, agents: [{ name: x, tols: [] }] }',
      'handoffs: [{ from_agent: a, to_agent: g, priorty: 2 }]',
      'groups: [{ name: g, kind: parallel, members: [a], than: a }]',
      'limits: { max_round: 4 }',
      'form: { roles: [{ name: b, role: r, expertize: [] }], max_agent: 2 }',
    ].join('\n')
    const found = (await problemLines(text)).filter((line) => line.includes('unknown key'))
    expect(
      found.map((line) => /^warning (\d+:\d+) .*'(\w+)' is ignored \| did you mean '(\w+)'/.exec(line)?.slice(1)),
    ).toEqual([
      ['4:46', 'tols', 'tools'],
      ['5:42', 'priorty', 'priority'],
      ['6:51', 'than', 'then'],
      ['7:11', 'max_round', 'max_rounds'],
      ['8:37', 'expertize', 'expertise'],
      ['8:55', 'max_agent', 'max_agents'],
    ])
  })

  test('TF4 an invalid value is an error at the position of the value', async () => {
    const text = teamYaml(
      'after_work_behavior: return_to_usr',
      'limits: { max_rounds: 0, max_parallel: many }',
      'context_variables: { words: [1], 9lives: 3, ok: 1 }',
      'handoffs:',
      '  - from_agent: writer',
      '    to_agent: reviewer',
      '    condition: true',
      '    priority: high',
      '  - to_agent: writer',
      '  - writer to reviewer',
      'groups: [{ name: g, kind: paralel, members: [] }]',
    ).replace('- name: reviewer', '- name: the reviewer\n    temperature: 9\n    outputs: { a: int }\n    role:')
    expect(await problemLines(text)).toEqual([
      'error 4:11 agents[1].name: not a valid name: use letters, digits, - and _',
      'error 5:18 agents[1].temperature: Too big: expected number to be <=2',
      'error 6:19 agents[1].outputs.a: Invalid option: expected one of "number"|"string"|"boolean"',
      'error 7:10 agents[1].role: Invalid input: expected string, received null',
      expect.stringMatching(/^error 8:22 after_work_behavior: Invalid option: .* \| did you mean 'return_to_user'\?$/),
      'error 9:23 limits.max_rounds: Too small: expected number to be >0',
      'error 9:40 limits.max_parallel: Invalid input: expected number, received string',
      'error 10:29 context_variables.words: Invalid input: expected number, string or boolean',
      'error 10:34 context_variables.9lives: not a valid variable name: use letters, digits and _, and no digit first',
      'error 14:16 handoffs[0].condition: Invalid input: expected string, received boolean',
      'error 15:15 handoffs[0].priority: Invalid input: expected number, received string',
      'error 16:5 handoffs[1].from_agent: Invalid input: expected string, received undefined',
      'error 17:5 handoffs[2]: Invalid input: expected object, received string',
      `error 18:27 groups[0].kind: Invalid option: expected one of "parallel"|"consensus" | did you mean 'parallel'?`,
      'error 18:45 groups[0].members: Too small: expected array to have >=1 items',
    ])
  })

  test('TF4 a similar choice is suggested', async () => {
    expect(await problemLines(linkedTeamYaml('after_work_behavior: return_user'))).toEqual([
      expect.stringMatching(/^error 7:22 .*did you mean 'return_to_user'\?/),
    ])
    expect(await problemLines(linkedTeamYaml('after_work_behavior: eminate'))).toEqual([
      expect.stringMatching(/did you mean 'terminate'\?/),
    ])
  })

  test('TF4 an unquoted template, which YAML reads as a map, gets a hint about quotes', async () => {
    expect(
      await problemLines(linkedTeamYaml('  - { from_agent: reviewer, to_agent: writer, condition: {{ ready }} }')),
    ).toEqual([expect.stringMatching(/quotes$/)])
  })

  test('TF4 a missing name is reported once, at its agent', async () => {
    expect(await problemLines('name: T\nagents:\n  - role: Writes\n  - name: a\n')).toEqual([
      'error 3:5 agents[0].name: Invalid input: expected string, received undefined',
    ])
  })
})

describe('all problems', () => {
  test('TF10 all problems are reported at once, in file order, and a team is returned only without errors', async () => {
    const text = linkedTeamYaml(
      '  - { from_agent: reviewer, to_agent: nobody, condition: "and" }',
      'limits: 3',
      'entry: wrter',
    )
    const { team: none, problems } = await parseTeamYaml(text)
    expect(none).toBeUndefined()
    expect(problems.map(({ line, field }) => `${line} ${field}`)).toEqual([
      '7 handoffs[1].to_agent',
      '7 handoffs[1].condition',
      '8 limits',
      '9 entry',
    ])
    expect((await parseTeamYaml(linkedTeamYaml('colour: red'))).team).toBeDefined()
  })

  test('TF10 any input yields a team or an error', async () => {
    const word = fc.constantFrom(
      'name',
      'agents',
      'handoffs',
      'groups',
      'team',
      'condition',
      'a',
      'user',
      '__proto__',
      'then',
    )
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('a', '', 'x and', '{{ x }}', null, 0, -1, true, 1e300),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(word, tie('any'), { maxKeys: 4 }),
      ),
    })).any
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          value.map((data) => JSON.stringify(data) ?? ''),
        ),
        async (text) => {
          const { team: parsed, problems } = await parseTeamYaml(text)
          expect(parsed !== undefined || problems.some(({ severity }) => severity === 'error')).toBe(true)
          for (const { line, column } of problems) expect(line > 0 && column > 0).toBe(true)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('TF10 at most a hundred problems are reported', async () => {
    const text = `name: T\nagents:\n${'  - { role: x }\n'.repeat(5000)}`
    expect((await parseTeamYaml(text)).problems).toHaveLength(100)
  })
})
