import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseTeamText } from './team-file.ts'

const read = (text: string, roster?: readonly string[]) =>
  parseTeamText({ text, path: 'team.yaml', ...(roster && { roster }) })

/** Each problem as one line: `error 3:5 message | hint`. */
async function problemLines(text: string, roster?: readonly string[]): Promise<string[]> {
  const { problems } = await read(text, roster)
  return problems.map(
    ({ severity, line, column, message, hint }) =>
      `${severity} ${line}:${column} ${message}${hint === undefined ? '' : ` | ${hint}`}`,
  )
}

const team = (...lines: string[]) =>
  ['name: T', 'agents:', '  - name: writer', '  - name: reviewer', ...lines, ''].join('\n')
const linked = (...lines: string[]) => team('handoffs:', '  - { from_agent: writer, to_agent: reviewer }', ...lines)

describe('YAML', () => {
  test('TF1 omitted fields have defaults', async () => {
    const { team: whole, problems } = await read(linked())
    expect(problems).toEqual([])
    expect(whole).toEqual({
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
    const unquoted = team(
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
    expect(await problemLines('- a\n- b\n')).toEqual(['error 1:1 a team must be a map, not a list'])
    expect(await problemLines('just words')).toEqual(["error 1:1 a team must be a map, not the text 'just words'"])
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
    const text = linked('limts: { max_rounds: 3 }').replace('  - name: writer', '  - name: writer\n    rolle: Writes')
    expect(await problemLines(text)).toEqual([
      expect.stringMatching(/^warning 4:5 unknown key 'rolle' is ignored \| did you mean 'role'\?/),
      expect.stringMatching(/^warning 8:1 unknown key 'limts' is ignored \| did you mean 'limits'\?/),
    ])
    const { team: whole } = await read(text)
    expect(whole).toMatchObject({ agents: [{ name: 'writer' }, {}], limits: { max_rounds: 50 } })
    expect(whole).not.toHaveProperty('limts')
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
    const text = team(
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
      "error 4:11 'the reviewer' is not a valid name: use letters, digits, - and _",
      "error 5:18 'temperature' must be at most 2",
      "error 6:19 'a' cannot be 'int' | did you mean 'string'? known: number, string, boolean",
      "error 7:10 'role' is empty",
      expect.stringMatching(
        /^error 8:22 'after_work_behavior' cannot be 'return_to_usr' \| did you mean 'return_to_user'\?/,
      ),
      "error 9:23 'max_rounds' must be above 0",
      "error 9:40 'max_parallel' must be a number, not the text 'many'",
      "error 10:29 'words' must be a number, text, true or false, not a list",
      "error 10:34 '9lives' is not a valid variable name: use letters, digits and _, and no digit first",
      `error 14:16 'condition' must be text, not true | write it in quotes: "true"`,
      "error 15:15 'priority' must be a number, not the text 'high'",
      "error 16:5 'from_agent' is missing",
      "error 17:5 entry 3 of 'handoffs' must be a map, not the text 'writer to reviewer'",
      "error 18:27 'kind' cannot be 'paralel' | did you mean 'parallel'? known: parallel, consensus",
      "error 18:45 'members' is empty",
    ])
  })

  test('TF4 the choice with the same beginning is suggested first', async () => {
    expect(await problemLines(linked('after_work_behavior: retrun'))).toEqual([
      expect.stringMatching(/^error 7:22 .*did you mean 'return_to_user'\?/),
    ])
    expect(await problemLines(linked('after_work_behavior: eminate'))).toEqual([
      expect.stringMatching(/did you mean 'terminate'\?/),
    ])
  })

  test('TF4 an unquoted template, which YAML reads as a map, gets a hint about quotes', async () => {
    expect(
      await problemLines(linked('  - { from_agent: reviewer, to_agent: writer, condition: {{ ready }} }')),
    ).toEqual([expect.stringMatching(/quotes$/)])
  })

  test('TF4 a missing name is reported once, at its agent', async () => {
    expect(await problemLines('name: T\nagents:\n  - role: Writes\n  - name: a\n')).toEqual([
      "error 3:5 'name' is missing",
    ])
  })
})

describe('names', () => {
  test('TF5 an unknown agent is an error that lists the known ones, nearest first', async () => {
    expect(await problemLines(linked('  - { from_agent: reviwer, to_agent: publisher }', 'entry: wrter'))).toEqual([
      "error 7:19 no agent or group 'reviwer'; known: reviewer, writer, user, any_agent | did you mean 'reviewer'?",
      expect.stringMatching(/^error 7:38 no agent or group 'publisher'; known: .*reviewer/),
      "error 8:8 no agent or group 'wrter'; known: writer, reviewer | did you mean 'writer'?",
    ])
  })

  test('TF5 members, then, weights, supervisor and uses must name known agents', async () => {
    const text = linked(
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
    expect(await problemLines(linked('  - { from_agent: previous_agent, to_agent: any_agent }'))).toEqual([
      expect.stringMatching(/^error 7:19 no agent or group 'previous_agent'/),
      expect.stringMatching(/^error 7:45 no agent or group 'any_agent'/),
    ])
  })

  test('TF6 an agent cannot hand off to itself', async () => {
    const found = await problemLines(
      linked('  - { from_agent: writer, to_agent: writer, condition: "more is needed" }'),
    )
    expect(found).toEqual([
      expect.stringMatching(/^error 7:37 'writer' cannot hand off to itself \| .*others: reviewer, user$/),
    ])
  })

  test('TF6 names of agents and groups are unique and not reserved by handoffs', async () => {
    const text = team(
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
    expect((await read(formed)).team).toMatchObject({ agents: [], form: { max_agents: 5 } })
  })

  test('TF6 an agent is exactly one of: roster agent, team, human', async () => {
    const text = team().replace('- name: writer', '- { name: writer, uses: a, team: b.yaml }')
    expect(await problemLines(text)).toContainEqual(expect.stringMatching(/^error 3:36 an agent cannot have both/))
    const human = linked().replace('- name: writer', '- { name: writer, kind: human, model: fast }')
    expect(await problemLines(human)).toEqual(["warning 3:34 'model' has no effect for a human agent"])
    const parallel = linked(
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
    expect(await problemLines(linked(...twice))).toEqual(['warning 8:5 is the same as handoff 2 | remove one of them'])
  })

  test('TF7 two rules with the same condition and priority but different targets conflict', async () => {
    const rules = (...more: string[]) => team('  - name: publisher', 'handoffs:', ...more)
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
    const text = team('handoffs:', `  - from_agent: writer\n    to_agent: reviewer\n${condition}`)
    const { problems } = await read(text)
    expect(problems).toMatchObject([{ severity: 'error', field: 'handoffs[0].condition', line: line + 1, column }])
    expect(problems[0]?.message).toContain("a condition is missing after 'and'")
  })

  test('TF8 = instead of == is reported at its position', async () => {
    expect(
      await problemLines(linked('  - { from_agent: reviewer, to_agent: writer, condition: "score = 3" }')),
    ).toEqual([expect.stringMatching(/^error 7:65 .*==/)])
  })

  test('TF9 a variable has one type', async () => {
    const text = linked('context_variables: { score: high }').replace(
      '- name: writer',
      '- { name: writer, outputs: { score: number } }',
    )
    expect(await problemLines(text)).toEqual([
      "error 3:39 'score' is a number here and a string in context_variables | use the same type everywhere",
    ])
  })

  test('TF9 condition keywords and __proto__ cannot be variable names', async () => {
    expect(await problemLines(linked('context_variables: { And: 3, false: 1, __proto__: 2, android: 1 }'))).toEqual([
      "error 7:22 'And' is a keyword of conditions and cannot be a variable name | use another name",
      "error 7:30 'false' is a keyword of conditions and cannot be a variable name | use another name",
      "error 7:40 '__proto__' is not allowed as a key | use another name",
    ])
    const inside = linked().replace('- name: writer', '- { name: writer, outputs: { not: number } }')
    expect(await problemLines(inside)).toEqual([expect.stringMatching(/^error 3:32 'not' is a keyword of conditions/)])
  })

  test('TF9 variables set by the runtime cannot be set by a team', async () => {
    expect(await problemLines(linked('context_variables: { round: 3, writer_load: 1 }'))).toEqual([
      "error 7:22 'round' is a system variable | use another name",
      "error 7:32 'writer_load' is a system variable | use another name",
    ])
  })
})

describe('all problems', () => {
  test('TF10 all problems are reported at once, in file order, and a team is returned only without errors', async () => {
    const text = linked('  - { from_agent: reviewer, to_agent: nobody, condition: "and" }', 'limits: 3', 'entry: wrter')
    const { team: none, problems } = await read(text)
    expect(none).toBeUndefined()
    expect(problems.map(({ line, field }) => `${line} ${field}`)).toEqual([
      '7 handoffs[1].to_agent',
      '7 handoffs[1].condition',
      '8 limits',
      '9 entry',
    ])
    expect((await read(linked('colour: red'))).team).toBeDefined()
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
          const { team: whole, problems } = await read(text)
          expect(whole !== undefined || problems.some(({ severity }) => severity === 'error')).toBe(true)
          for (const { line, column } of problems) expect(line > 0 && column > 0).toBe(true)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('TF10 at most a hundred problems are reported', async () => {
    const text = `name: T\nagents:\n${'  - { role: x }\n'.repeat(5000)}`
    expect((await read(text)).problems).toHaveLength(100)
  })
})
