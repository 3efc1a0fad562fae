import { describe, expect, test } from 'vitest'
import type { VariableValue } from '../condition/condition-tree.ts'
import { parseCondition } from '../condition/parse-condition.ts'
import type { ConditionVerdict, HandoffRule, RoutingContext, RoutingResult } from './handoff-routing.ts'
import { createRuleLookup, routeHandoff } from './handoff-routing.ts'

const names = { agents: ['writer', 'reviewer', 'publisher', 'error_handler'], groups: [], variables: ['ready', 'gone'] }

/** `writer > reviewer 2: draft complete`, in file order. */
function team(...lines: string[]): HandoffRule[] {
  return lines.map((line, index) => {
    const [, from = '', to = '', priority = '1', text = ''] = /^(\S+) > (\S+)(?: (\d+))?: (.*)$/.exec(line) ?? []
    const result = parseCondition(text, names)
    if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('; '))
    return { from, to, condition: result.tree, condition_text: text, priority: Number(priority), index }
  })
}

interface Known {
  variables?: Record<string, VariableValue>
  agent?: Record<string, boolean>
  model?: Record<string, boolean>
  final?: boolean
}

function state({ variables = {}, agent = {}, model = {}, final = false }: Known = {}) {
  const verdict = (leaf: string): ConditionVerdict | undefined => {
    const [own, judged] = [agent[leaf], model[leaf]]
    if (own !== undefined) return { value: own, by: 'verdict' }
    return judged === undefined ? undefined : { value: judged, by: 'model' }
  }
  return { variables, verdict, final }
}

function decide(rules: readonly HandoffRule[], from: string, known: RoutingContext): RoutingResult {
  return routeHandoff(createRuleLookup(rules)(from), known)
}

describe('HO1 order', () => {
  const rules = team(
    'writer > reviewer: true',
    'writer > publisher 3: ready',
    'any_agent > error_handler 2: error detected',
    'writer > user 3: true',
    'reviewer > writer 9: true',
  )

  test('HO1 the highest priority that holds wins, own rules and rules for any agent alike', () => {
    const ready = state({ variables: { ready: true, error_detected: true } })
    expect(decide(rules, 'writer', ready).decision).toMatchObject({ to: 'publisher', rule: 1 })
    const [first, , error] = rules as [HandoffRule, HandoffRule, HandoffRule]
    const failing = state({ variables: { error_detected: true } })
    expect(decide([first, error], 'writer', failing).decision).toMatchObject({ to: 'error_handler', rule: 2 })
  })

  test('HO1 of equal priorities the one that stands first in the file wins, in whatever order they are given', () => {
    const ready = state({ variables: { ready: true } })
    expect(decide(rules.toReversed(), 'writer', ready).decision).toMatchObject({ to: 'publisher', rule: 1 })
    expect(decide(rules, 'writer', state()).decision).toMatchObject({ to: 'user', rule: 3 })
  })

  test('HO1 every rule that applies is reported in the order it is tried, and no other', () => {
    const order = decide(rules, 'writer', state()).rules.map(({ index }) => index)
    expect(order).toEqual([1, 3, 2, 0])
    expect(decide(rules, 'nobody', state()).rules.map(({ index }) => index)).toEqual([2])
  })
})

describe('HO2 any agent', () => {
  const rules = team('any_agent > error_handler: true', 'any_agent > previous_agent: false', 'user > writer: true')

  test('HO2 a rule for any agent does not apply to its own target', () => {
    expect(decide(rules, 'error_handler', state())).toMatchObject({ decision: null, rules: [{ to: 'previous_agent' }] })
    expect(decide(rules, 'writer', state()).decision).toMatchObject({ to: 'error_handler' })
  })

  test('HO2 a rule for any agent does not apply to the user, whose own rules do', () => {
    expect(decide(rules, 'user', state())).toMatchObject({ decision: { to: 'writer' }, rules: [{ from: 'user' }] })
  })
})

describe('HO3 unknown', () => {
  test('HO3 a rule whose value is unknown for good is skipped and reported', () => {
    const rules = team('writer > publisher 2: score > {{ least }}', 'writer > reviewer: true')
    const { decision, rules: values, open } = decide(rules, 'writer', state())
    expect(decision).toMatchObject({ to: 'reviewer', by: 'exact' })
    expect(open).toEqual([])
    expect(values[0]).toMatchObject({
      holds: 'unknown',
      parts: [{ reason: expect.stringContaining('least is not set') }],
    })
  })

  test('HO3 a sentence beside something that stays unknown is not asked for: it cannot make the rule hold', () => {
    const rules = team('writer > publisher 2: gone and the text is good', 'writer > reviewer: true')
    expect(decide(rules, 'writer', state())).toMatchObject({ decision: { to: 'reviewer' }, open: [] })
  })
})

describe('HO4 open sentences', () => {
  const rules = team(
    'writer > publisher 5: content approved and ready',
    'writer > reviewer 4: draft complete',
    'writer > error_handler 3: ready',
    'writer > user 2: draft complete or help is needed',
  )

  test('HO4 nothing is decided while a sentence above can still change it, and all of those are named at once', () => {
    const routing = decide(rules, 'writer', state({ variables: { ready: true } }))
    expect(routing).toMatchObject({ decision: null, open: ['content approved', 'draft complete'] })
  })

  test('HO4 what stands below a rule that holds is not asked for', () => {
    const routing = decide(rules, 'writer', state({ variables: { ready: true }, agent: { 'content approved': true } }))
    expect(routing).toMatchObject({ decision: { to: 'publisher', by: 'verdict' }, open: [] })
  })

  test('HO4 where an exact part fails the sentence beside it is not asked for', () => {
    const routing = decide(rules, 'writer', state({ variables: { ready: false } }))
    expect(routing).toMatchObject({ decision: null, open: ['draft complete', 'help is needed'] })
  })

  test('HO4 with the answers the decision is made', () => {
    const answers = { 'content approved': false, 'draft complete': false, 'help is needed': true }
    const routing = decide(rules, 'writer', state({ variables: { ready: false }, model: answers }))
    expect(routing).toMatchObject({ decision: { to: 'user', by: 'model', rule: 3 }, open: [] })
  })

  test('HO4 when nobody is left to be asked, what is open counts as unknown', () => {
    const routing = decide(rules, 'writer', state({ variables: { ready: true }, final: true }))
    expect(routing).toMatchObject({ decision: { to: 'error_handler', by: 'exact' }, open: [] })
    expect(decide(rules, 'writer', state({ final: true }))).toMatchObject({ decision: null, open: [] })
  })
})

describe('HO5 by whom', () => {
  test.each([
    ['code alone', 'ready', {}, 'exact'],
    [
      'code, although a sentence holds as well',
      'ready or draft complete',
      { agent: { 'draft complete': true } },
      'exact',
    ],
    [
      'code, although a model spoke too',
      'not gone_far or a',
      { variables: { gone_far: false }, model: { a: true } },
      'exact',
    ],
    ['the agent', 'ready and draft complete', { agent: { 'draft complete': true } }, 'verdict'],
    ['the agent, saying no', 'not draft complete', { agent: { 'draft complete': false } }, 'verdict'],
    ['the agent, although a model agrees', 'a or b', { agent: { a: true }, model: { b: true } }, 'verdict'],
    ['a model', 'draft complete', { model: { 'draft complete': true } }, 'model'],
    ['a model with the agent', 'a and b', { agent: { a: true }, model: { b: true } }, 'model'],
  ] as const)('HO5 decided by %s: %j', (_, condition, known: Known, by) => {
    const variables = { ready: true, ...known.variables }
    const { decision } = decide(team(`writer > reviewer: ${condition}`), 'writer', state({ ...known, variables }))
    expect(decision).toMatchObject({ to: 'reviewer', by })
  })

  test('HO5 the reason holds the condition and why each known part has its value', () => {
    const rules = team('writer > reviewer: draft complete and words >= 5 and (tests pass or gone)')
    const known = { variables: { words: 7 }, agent: { 'draft complete': true }, model: { 'tests pass': true } }
    expect(decide(rules, 'writer', state(known)).decision?.reason).toBe(
      '"draft complete and words >= 5 and (tests pass or gone)" holds ' +
        '(draft complete: the agent said so; words >= 5: words is 7; tests pass: a model judged it so)',
    )
  })
})

describe('HO6 none', () => {
  test('HO6 where no rule holds there is no decision: what follows is after-work', () => {
    const rules = team('writer > reviewer: draft complete', 'writer > publisher: ready')
    const routing = decide(rules, 'writer', state({ variables: { ready: false }, agent: { 'draft complete': false } }))
    expect(routing).toMatchObject({ decision: null, open: [], rules: [{ holds: false }, { holds: false }] })
    expect(routing.rules[0]?.parts[0]?.reason).toBe('the agent said it is not so')
    expect(decide([], 'writer', state())).toEqual({ decision: null, rules: [], open: [] })
  })
})

describe('HO7 many rules', () => {
  test('HO7 rules indexed once decide as rules given each time, and only those that apply are looked at', () => {
    const chain = Array.from({ length: 200 }, (_, index) => `agent${index} > agent${index + 1}: step is done`)
    const rules = team(...chain, 'any_agent > error_handler 10: error detected')
    const from = createRuleLookup(rules)
    for (const agent of ['agent0', 'agent77', 'agent199', 'error_handler', 'nobody', 'user', 'any_agent']) {
      const known = state({ variables: { error_detected: false }, agent: { 'step is done': true } })
      expect(routeHandoff(from(agent), known)).toEqual(decide(rules, agent, known))
    }
    expect(from('agent77').map(({ index }) => index)).toEqual([200, 77])
    expect(from('agent77')).toBe(from('agent77'))
    expect(from('any_agent')).toEqual([])
  })
})

describe('HO8 after an error', () => {
  test('HO8 after a turn that failed only rules that speak of errors apply, whoever asks', () => {
    const rules = team(
      'writer > publisher 9: true',
      'writer > reviewer: error_detected == true and round < 3',
      'any_agent > error_handler 2: error detected or it looks bad',
      'reviewer > writer: it looks bad',
    )
    const from = createRuleLookup(rules)
    expect(from('writer', true).map(({ index }) => index)).toEqual([2, 1])
    expect(from('writer', false)).toBe(from('writer'))
    expect(from('error_handler', true)).toEqual([])
  })
})
