import { describe, expect, test } from 'vitest'
import { formatFieldPath } from '../../schema/json-value.ts'
import type { TeamInput } from './team-schema.ts'
import { teamSchema } from './team-schema.ts'
import { validateTeam } from './validate-team.ts'

type Handoff = NonNullable<TeamInput['handoffs']>[number]

const handoff = (from_agent: string, to_agent: string, condition?: string, priority?: number): Handoff => ({
  ...{ from_agent, to_agent },
  ...(condition === undefined ? undefined : { condition }),
  ...(priority === undefined ? undefined : { priority }),
})

// biome-ignore lint/suspicious/noThenProperty: the key of the specification; its value is text and never awaited
const group = (members: string[], next: string) => ({ name: 'g', kind: 'parallel' as const, members, then: next })

function findProblems(names: string, handoffs: Handoff[], options: Partial<TeamInput> = {}): string[] {
  const agents = names.split(' ').map((name) => ({ name }))
  const team = teamSchema.parse({ name: 'T', agents, handoffs, ...options })
  return validateTeam(team).problems.map(
    ({ severity, field, message, offset }) =>
      `${severity} ${formatFieldPath(field)}${offset === undefined ? '' : `@${offset}`} ${message}`,
  )
}

describe('unreachable members', () => {
  test('TF15 an agent that no handoff leads to is reported', () => {
    expect(findProblems('a b c', [handoff('a', 'b', 'done')])).toEqual([
      "warning agents[2].name no handoff leads to 'c'",
    ])
    expect(findProblems('a b c', [handoff('a', 'b', 'x y'), handoff('b', 'a', 'x z'), handoff('c', 'a', 'x')])).toEqual(
      ["warning agents[2].name no handoff leads to 'c'", "warning handoffs[2] is never tried: 'c' never has a turn"],
    )
  })

  test('TF30 rules of a sender that never has a turn are reported', () => {
    expect(findProblems('a', [handoff('any_agent', 'a', 'x y')])).toEqual([
      "warning handoffs[0] is never tried: there is no agent but 'a'",
    ])
    const inGroup = [handoff('c', 'g', 'x y'), handoff('a', 'd', 'done and well'), handoff('b', 'd', 'all is said')]
    expect(findProblems('c a b d', inGroup, { groups: [group(['a', 'b'], 'user')] })).toEqual([])
  })

  test('TF19 rules of group members and of their group are one list', () => {
    const rules = [handoff('c', 'g', 'x y'), handoff('a', 'd')]
    expect(findProblems('c a b d', rules, { groups: [group(['a', 'b'], 'user')] })).toEqual([
      "warning groups[0].then is never reached: handoff 2 to 'd' always applies and comes first",
    ])
    const other = [...rules, handoff('b', 'c', 'x z')]
    expect(findProblems('c a b d', other, { groups: [group(['a', 'b'], 'user')] })).toEqual([
      "warning handoffs[2] is never reached: handoff 2 to 'd' always applies and comes first",
      "warning groups[0].then is never reached: handoff 2 to 'd' always applies and comes first",
    ])
    const alone = [...other, handoff('c', 'b', 'x w')]
    expect(findProblems('c a b d', alone, { groups: [group(['a', 'b'], 'user')] })).toHaveLength(1)
  })

  test('TF15 entry, user, any_agent, groups, then, form and supervisor make members reachable', () => {
    expect(findProblems('a b', [handoff('b', 'a', 'x')], { entry: 'b' })).toEqual([])
    expect(findProblems('a b', [handoff('user', 'b', 'x')])).toEqual([])
    expect(findProblems('a b', [handoff('any_agent', 'b', 'x')])).toEqual([])
    expect(findProblems('a b c', [], { entry: 'g', groups: [group(['a', 'b'], 'c')] })).toEqual([])
    expect(findProblems('c a b', [handoff('c', 'g', 'x')], { groups: [group(['a', 'b'], 'user')] })).toEqual([])
    expect(findProblems('c a b', [], { groups: [group(['a', 'b'], 'user')] })).toHaveLength(4)
    const form = { roles: [{ name: 'scout', role: 'looks' }] }
    expect(findProblems('a', [], { form })).toEqual(["warning form.roles[0].name no handoff leads to 'scout'"])
    expect(findProblems('a b', [], { supervisor: 'b' })).toEqual([])
  })
})

describe('variables', () => {
  test('TF17 a variable similar to a known one is reported at its position, with the nearest known variables', () => {
    const agents = [{ name: 'a', outputs: { word_count: 'number' as const } }, { name: 'b' }]
    const text = 'draft is done and word_cont >= {{ min_words }}'
    const team = teamSchema.parse({
      name: 'T',
      agents,
      handoffs: [handoff('a', 'b', text)],
      context_variables: { max_words: 9 },
    })
    expect(validateTeam(team).problems).toEqual([
      {
        severity: 'warning',
        field: ['handoffs', 0, 'condition'],
        offset: text.indexOf('word_cont'),
        message: "nobody sets 'word_cont', so a is asked for it",
        hint: expect.stringMatching(/known: word_count, /),
      },
      {
        severity: 'warning',
        field: ['handoffs', 0, 'condition'],
        offset: text.indexOf('min_words'),
        message: "nobody sets 'min_words', so a is asked for it",
        hint: expect.stringMatching(/known: max_words, /),
      },
    ])
  })

  test('TF17 facts and templates in sentences are checked; system variables are always set', () => {
    const text = 'all_done and the tone is {{ tone }} and score >= {{ least }}'
    expect(findProblems('a b', [handoff('a', 'b', text)])).toEqual([
      "warning handoffs[0].condition@28 nobody sets 'tone', so a chooses its value",
      "warning handoffs[0].condition@52 nobody sets 'least', so a chooses its value",
    ])
    expect(findProblems('a b', [handoff('user', 'b', text)])).toEqual([
      "warning handoffs[0].condition@0 the variable 'all_done' is never set, so this stays unknown",
      "warning handoffs[0].condition@28 the variable 'tone' is never set, so this stays unknown",
      "warning handoffs[0].condition@40 the variable 'score' is never set, so this stays unknown",
      "warning handoffs[0].condition@52 the variable 'least' is never set, so this stays unknown",
    ])
    const system =
      'round > 3 and a_load < b_load and a complete and error detected and last_agent == "a" and revision_count < 2'
    expect(findProblems('a b', [handoff('a', 'b', system)])).toEqual([])
  })

  test('TF17 nobody can be asked after a person, a consensus group or a sub-team that does not know the variable', () => {
    const never = "warning handoffs[0].condition@0 the variable 'all_done' is never set, so this stays unknown"
    const agents = [{ name: 'a', kind: 'human' as const }, { name: 'b' }]
    expect(findProblems('', [handoff('a', 'b', 'all_done')], { agents })).toEqual([never])
    const consensus = { name: 'g', kind: 'consensus' as const, members: ['a', 'b'] }
    expect(findProblems('a b c', [handoff('g', 'c', 'all_done')], { groups: [consensus], entry: 'g' })).toEqual([never])
    const inner = (condition: string) => ({
      ...{ name: 'In', agents: [{ name: 'x' }, { name: 'y' }] },
      handoffs: [handoff('x', 'y', condition)],
    })
    const withTeam = (condition: string) => [{ name: 'a', team: inner(condition) }, { name: 'b' }]
    expect(findProblems('', [handoff('a', 'b', 'all_done')], { agents: withTeam('ready') })).toEqual([never])
    expect(findProblems('', [handoff('a', 'b', 'all_done')], { agents: withTeam('all_done') })).toEqual([])
  })
})

describe('endless cycles', () => {
  test('TF18 a cycle without an exit is an error at its first handoff', () => {
    expect(findProblems('a b', [handoff('a', 'b'), handoff('b', 'a')])).toEqual([
      'error handoffs[0] a → b → a never ends: the cycle has no exit',
    ])
    expect(
      findProblems('s a b c', [handoff('s', 'a', 'go on'), handoff('a', 'b'), handoff('b', 'c'), handoff('c', 'a')]),
    ).toEqual(['error handoffs[1] a → b → c → a never ends: the cycle has no exit'])
  })

  test('TF18 a handoff to the user, to another agent, or a condition that can be false is an exit', () => {
    expect(findProblems('a b', [handoff('a', 'b'), handoff('b', 'a', 'more')])).toEqual([])
    expect(findProblems('a b', [handoff('a', 'b'), handoff('b', 'a'), handoff('b', 'user', 'good', 2)])).toEqual([])
    expect(findProblems('a b c', [handoff('a', 'b'), handoff('b', 'a'), handoff('b', 'c', 'good', 2)])).toEqual([])
  })

  test('TF18 a person in the cycle is an exit', () => {
    const agents = [{ name: 'a' }, { name: 'chief', kind: 'human' as const }]
    expect(findProblems('', [handoff('a', 'chief'), handoff('chief', 'a')], { agents })).toEqual([])
  })

  test('TF18 after_work_behavior continue is not an exit', () => {
    const continuing = { after_work_behavior: 'continue' as const }
    expect(findProblems('a b', [handoff('a', 'b', 'x'), handoff('b', 'a', 'y')], continuing)).toEqual([
      'error handoffs[0] a → b → a never ends: the cycle has no exit',
    ])
    expect(findProblems('a', [], continuing)).toEqual([
      "error after_work_behavior 'a' never ends: after_work_behavior continue always starts it again",
    ])
    expect(findProblems('a', [handoff('a', 'user', 'asked')], continuing)).toEqual([])
    expect(
      findProblems('a b', [handoff('a', 'b', 'x'), handoff('b', 'a', 'y')], { after_work_behavior: 'terminate' }),
    ).toEqual([])
  })

  test('TF18 an exit that is never reached does not count', () => {
    expect(
      findProblems('a b', [handoff('a', 'b', undefined, 5), handoff('b', 'a'), handoff('a', 'user', 'good')]),
    ).toEqual([
      "warning handoffs[2] is never reached: handoff 1 to 'b' always applies and comes first",
      'error handoffs[0] a → b → a never ends: the cycle has no exit',
    ])
  })

  test('TF18 groups and previous_agent can form cycles', () => {
    const groups = [group(['a', 'b'], 'c')]
    expect(findProblems('a b c', [handoff('c', 'g')], { entry: 'g', groups })).toEqual([
      expect.stringMatching(/^error handoffs\[0\] .*never ends/),
    ])
    expect(findProblems('a h', [handoff('a', 'h'), handoff('h', 'previous_agent')])).toEqual([
      'error handoffs[0] a → h → a never ends: the cycle has no exit',
    ])
    expect(findProblems('a h', [handoff('a', 'h'), handoff('h', 'previous_agent', 'mended')])).toEqual([])
  })

  test('TF18 two cycles are two errors, and an agent that leads into them is not a third', () => {
    const handoffs = [
      handoff('s', 'a', 'x'),
      handoff('s', 'c', 'y'),
      handoff('a', 'b'),
      handoff('b', 'a'),
      handoff('c', 'd'),
      handoff('d', 'c'),
    ]
    const fields = findProblems('s a b c d', handoffs).map((line) => line.split(' ')[1])
    expect(fields).toEqual(['handoffs[2]', 'handoffs[4]'])
  })

  test('TF18 a team with thousands of agents is checked', () => {
    const names = Array.from({ length: 3000 }, (_, index) => `n${index}`)
    const ways = names.map((name, index) => handoff(name, names[(index + 1) % names.length] ?? ''))
    expect(findProblems(names.join(' '), ways)).toEqual([
      expect.stringMatching(/^error handoffs\[0\] n0 → n1 → .* never ends/),
    ])
  })
})

describe('shadowed rules', () => {
  test('TF19 a rule after an unconditional rule is never reached', () => {
    expect(findProblems('a b c', [handoff('a', 'b'), handoff('a', 'c', 'done')])).toEqual([
      "warning handoffs[1] is never reached: handoff 1 to 'b' always applies and comes first",
      "warning agents[2].name no handoff leads to 'c'",
    ])
    expect(findProblems('a b c', [handoff('a', 'c', 'done'), handoff('a', 'b', 'true', 3)])[0]).toBe(
      "warning handoffs[0] is never reached: handoff 2 to 'b' always applies and comes first",
    )
    expect(findProblems('a b c', [handoff('a', 'c', 'done', 2), handoff('a', 'b')])).toEqual([])
  })

  test('TF19 an any_agent rule covers every source except its own target', () => {
    expect(
      findProblems('a b c', [handoff('any_agent', 'c', undefined, 9), handoff('a', 'b', 'x'), handoff('c', 'b', 'x')]),
    ).toEqual(["warning handoffs[1] is never reached: handoff 1 to 'c' always applies and comes first"])
    expect(findProblems('a b', [handoff('any_agent', 'b', undefined, 9), handoff('any_agent', 'a', 'x')])).toEqual([])
    expect(findProblems('a b', [handoff('any_agent', 'b', undefined, 9), handoff('user', 'b', 'x')])).toEqual([])
  })

  test('TF19 the then of a group comes after its handoffs', () => {
    const groups = [group(['a'], 'b')]
    expect(findProblems('a b c', [handoff('g', 'c', 'split')], { entry: 'g', groups })).toEqual([])
  })
})

test('TF15 inline sub-teams are checked, and fields contain their path', () => {
  const inner = { name: 'In', agents: [{ name: 'x' }, { name: 'y' }] }
  const team = teamSchema.parse({ name: 'T', agents: [{ name: 'a', team: inner }] })
  expect(validateTeam(team)).toMatchObject({
    runnable: true,
    problems: [{ field: ['agents', 0, 'team', 'agents', 1, 'name'] }],
  })
})
