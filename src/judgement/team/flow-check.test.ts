import { describe, expect, test } from 'vitest'
import { formatFieldPath } from './team-problem.ts'
import type { TeamInput } from './team-schema.ts'
import { teamSchema } from './team-schema.ts'
import { validateTeam } from './validate-team.ts'

type Handoff = NonNullable<TeamInput['handoffs']>[number]

const hand = (from_agent: string, to_agent: string, condition?: string, priority?: number): Handoff => ({
  ...{ from_agent, to_agent },
  ...(condition === undefined ? undefined : { condition }),
  ...(priority === undefined ? undefined : { priority }),
})

// biome-ignore lint/suspicious/noThenProperty: the key of the specification; its value is text and never awaited
const group = (members: string[], next: string) => ({ name: 'g', kind: 'parallel' as const, members, then: next })

function said(names: string, handoffs: Handoff[], more: Partial<TeamInput> = {}): string[] {
  const agents = names.split(' ').map((name) => ({ name }))
  const team = teamSchema.parse({ name: 'T', agents, handoffs, ...more })
  return validateTeam(team).problems.map(
    ({ severity, field, message, offset }) =>
      `${severity} ${formatFieldPath(field)}${offset === undefined ? '' : `@${offset}`} ${message}`,
  )
}

describe('who is reached', () => {
  test('TF15 an agent that no handoff leads to is reported', () => {
    expect(said('a b c', [hand('a', 'b', 'done')])).toEqual(["warning agents[2].name nobody ever hands to 'c'"])
    expect(said('a b c', [hand('a', 'b', 'x y'), hand('b', 'a', 'x z'), hand('c', 'a', 'x')])).toEqual([
      "warning agents[2].name nobody ever hands to 'c'",
    ])
  })

  test('TF15 entry, user, any_agent, groups, then, form and supervisor reach', () => {
    expect(said('a b', [hand('b', 'a', 'x')], { entry: 'b' })).toEqual([])
    expect(said('a b', [hand('user', 'b', 'x')])).toEqual([])
    expect(said('a b', [hand('any_agent', 'b', 'x')])).toEqual([])
    expect(said('a b c', [], { entry: 'g', groups: [group(['a', 'b'], 'c')] })).toEqual([])
    expect(said('c a b', [hand('c', 'g', 'x')], { groups: [group(['a', 'b'], 'user')] })).toEqual([])
    expect(said('c a b', [], { groups: [group(['a', 'b'], 'user')] })).toHaveLength(3)
    const form = { roles: [{ name: 'scout', role: 'looks' }] }
    expect(said('a', [], { form })).toEqual(["warning form.roles[0].name nobody ever hands to 'scout'"])
    expect(said('a b', [], { supervisor: 'b' })).toEqual([])
  })

  test('TF15 a handoff that can never happen reaches nobody', () => {
    expect(said('a b', [hand('a', 'b', 'done and false')])).toEqual([
      "warning handoffs[0].condition@9 can never hold: 'false' is always false",
      "warning agents[1].name nobody ever hands to 'b'",
    ])
  })
})

describe('variables', () => {
  test('TF17 a variable that nobody sets is reported where the condition names it, with the nearest known one', () => {
    const agents = [{ name: 'a', outputs: { word_count: 'number' as const } }, { name: 'b' }]
    const text = 'draft is done and word_cont >= {{ min_words }}'
    const team = teamSchema.parse({
      name: 'T',
      agents,
      handoffs: [hand('a', 'b', text)],
      context_variables: { max_words: 9 },
    })
    expect(validateTeam(team).problems).toEqual([
      {
        severity: 'warning',
        field: ['handoffs', 0, 'condition'],
        offset: text.indexOf('word_cont'),
        message: "nobody sets 'word_cont', so this stays unknown",
        hint: expect.stringMatching(/known: word_count, /),
      },
      {
        severity: 'warning',
        field: ['handoffs', 0, 'condition'],
        offset: text.indexOf('min_words'),
        message: "nobody sets 'min_words', so this stays unknown",
        hint: expect.stringMatching(/known: max_words, /),
      },
    ])
  })

  test('TF17 facts and templates in sentences count, system variables are set', () => {
    expect(said('a b', [hand('a', 'b', 'all_done and the tone is {{ tone }}')])).toEqual([
      "warning handoffs[0].condition@0 nobody sets 'all_done', so this stays unknown",
      "warning handoffs[0].condition@28 nobody sets 'tone', so this stays unknown",
    ])
    const system =
      'round > 3 and a_load < b_load and a complete and error detected and last_agent == "a" and revision_count < 2'
    expect(said('a b', [hand('a', 'b', system)])).toEqual([])
  })
})

describe('ways that never end', () => {
  test('TF18 a circle without a way out is an error at its first handoff', () => {
    expect(said('a b', [hand('a', 'b'), hand('b', 'a')])).toEqual([
      'error handoffs[0] a → b → a never ends: no way leads out of it',
    ])
    expect(said('s a b c', [hand('s', 'a', 'go on'), hand('a', 'b'), hand('b', 'c'), hand('c', 'a')])).toEqual([
      'error handoffs[1] a → b → c → a never ends: no way leads out of it',
    ])
  })

  test('TF18 a handoff to the user, another agent, or a condition that can fail is a way out', () => {
    expect(said('a b', [hand('a', 'b'), hand('b', 'a', 'more')])).toEqual([])
    expect(said('a b', [hand('a', 'b'), hand('b', 'a'), hand('b', 'user', 'good', 2)])).toEqual([])
    expect(said('a b c', [hand('a', 'b'), hand('b', 'a'), hand('b', 'c', 'good', 2)])).toEqual([])
  })

  test('TF18 a person in the circle is a way out', () => {
    const agents = [{ name: 'a' }, { name: 'chief', kind: 'human' as const }]
    expect(said('', [hand('a', 'chief'), hand('chief', 'a')], { agents })).toEqual([])
  })

  test('TF18 with continue, after-work is no way out', () => {
    const on = { after_work_behavior: 'continue' as const }
    expect(said('a b', [hand('a', 'b', 'x'), hand('b', 'a', 'y')], on)).toEqual([
      'error handoffs[0] a → b → a never ends: no way leads out of it',
    ])
    expect(said('a', [], on)).toEqual([
      "error after_work_behavior 'a' never ends: after its work it is always asked to go on",
    ])
    expect(said('a', [hand('a', 'user', 'asked')], on)).toEqual([])
    expect(said('a b', [hand('a', 'b', 'x'), hand('b', 'a', 'y')], { after_work_behavior: 'terminate' })).toEqual([])
  })

  test('TF18 a way out that is never taken is none', () => {
    expect(said('a b', [hand('a', 'b', undefined, 5), hand('b', 'a'), hand('a', 'user', 'good')])).toEqual([
      "warning handoffs[2] is never reached: handoff 1 to 'b' always holds and comes first",
      'error handoffs[0] a → b → a never ends: no way leads out of it',
    ])
  })

  test('TF18 groups and previous_agent go round as well', () => {
    const groups = [group(['a', 'b'], 'c')]
    expect(said('a b c', [hand('c', 'g')], { entry: 'g', groups })).toEqual([
      expect.stringMatching(/^error handoffs\[0\] .*never ends/),
    ])
    expect(said('a h', [hand('a', 'h'), hand('h', 'previous_agent')])).toEqual([
      'error handoffs[0] a → h → a never ends: no way leads out of it',
    ])
    expect(said('a h', [hand('a', 'h'), hand('h', 'previous_agent', 'mended')])).toEqual([])
  })

  test('TF18 two circles are two errors, and who leads into one is not a third', () => {
    const ways = [
      hand('s', 'a', 'x'),
      hand('s', 'c', 'y'),
      hand('a', 'b'),
      hand('b', 'a'),
      hand('c', 'd'),
      hand('d', 'c'),
    ]
    expect(said('s a b c d', ways).map((line) => line.split(' ')[1])).toEqual(['handoffs[2]', 'handoffs[4]'])
  })

  test('TF18 a team of thousands is checked', () => {
    const names = Array.from({ length: 3000 }, (_, at) => `n${at}`)
    const ways = names.map((name, at) => hand(name, names[(at + 1) % names.length] ?? ''))
    expect(said(names.join(' '), ways)).toEqual([expect.stringMatching(/^error handoffs\[0\] n0 → n1 → .* never ends/)])
  })
})

describe('rules that never get their turn', () => {
  test('TF19 behind one that always holds no rule is reached', () => {
    expect(said('a b c', [hand('a', 'b'), hand('a', 'c', 'done')])).toEqual([
      "warning handoffs[1] is never reached: handoff 1 to 'b' always holds and comes first",
      "warning agents[2].name nobody ever hands to 'c'",
    ])
    expect(said('a b c', [hand('a', 'c', 'done'), hand('a', 'b', 'true', 3)])[0]).toBe(
      "warning handoffs[0] is never reached: handoff 2 to 'b' always holds and comes first",
    )
    expect(said('a b c', [hand('a', 'c', 'done', 2), hand('a', 'b')])).toEqual([])
  })

  test('TF19 a rule of any_agent covers all but its own target', () => {
    expect(said('a b c', [hand('any_agent', 'c', undefined, 9), hand('a', 'b', 'x'), hand('c', 'b', 'x')])).toEqual([
      "warning handoffs[1] is never reached: handoff 1 to 'c' always holds and comes first",
    ])
    expect(said('a b', [hand('any_agent', 'b', undefined, 9), hand('any_agent', 'a', 'x')])).toEqual([])
    expect(said('a b', [hand('any_agent', 'b', undefined, 9), hand('user', 'b', 'x')])).toEqual([])
  })

  test('TF19 what a group does then comes after its handoffs', () => {
    const groups = [group(['a'], 'b')]
    expect(said('a b c', [hand('g', 'c', 'split')], { entry: 'g', groups })).toEqual([])
  })
})

test('TF15 teams inside a team are looked into, and places say where', () => {
  const inner = { name: 'In', agents: [{ name: 'x' }, { name: 'y' }] }
  const team = teamSchema.parse({ name: 'T', agents: [{ name: 'a', team: inner }] })
  expect(validateTeam(team)).toMatchObject({
    runnable: true,
    problems: [{ field: ['agents', 0, 'team', 'agents', 1, 'name'] }],
  })
})
