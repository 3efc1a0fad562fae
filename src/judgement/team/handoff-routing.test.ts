import { describe, expect, test } from 'vitest'
import type { VariableValue } from '../condition/condition-tree.ts'
import { parseCondition } from '../condition/parse-condition.ts'
import type { ConditionVerdict, HandoffRule, RoutingContext, RoutingResult } from './handoff-routing.ts'
import { createRuleLookup, handlesFailure, routeHandoff } from './handoff-routing.ts'

const names = { agents: ['writer', 'reviewer', 'publisher', 'error_handler'], groups: [], variables: ['ready', 'gone'] }

/** Parses lines such as `writer > reviewer 2: draft complete`, in file order. */
function parseRules(...lines: string[]): HandoffRule[] {
  return lines.map((line, index) => {
    const [, from = '', to = '', priority = '1', text = ''] = /^(\S+) > (\S+)(?: (\d+))?: (.*)$/.exec(line) ?? []
    const result = parseCondition(text, names)
    if (!result.ok) throw new Error(result.problems.map(({ message }) => message).join('; '))
    return { from, to, condition: result.tree, condition_text: text, priority: Number(priority), index }
  })
}

interface KnownFacts {
  variables?: Record<string, VariableValue>
  agent?: Record<string, boolean>
  model?: Record<string, boolean>
  final?: boolean
}

function toContext({ variables = {}, agent = {}, model = {}, final = false }: KnownFacts = {}) {
  const verdict = (leaf: string): ConditionVerdict | undefined => {
    const [agentVerdict, modelVerdict] = [agent[leaf], model[leaf]]
    if (agentVerdict !== undefined) return { value: agentVerdict, by: 'verdict' }
    return modelVerdict === undefined ? undefined : { value: modelVerdict, by: 'model' }
  }
  return { variables, verdict, final }
}

function decide(rules: readonly HandoffRule[], from: string, context: RoutingContext): RoutingResult {
  return routeHandoff(createRuleLookup(rules)(from), context)
}

test('HO9 the rules of members apply after the turn of their group, in one order', () => {
  const rule = (from: string, to: string, priority: number, index: number): HandoffRule => {
    const condition = { kind: 'constant', text: 'always', value: true } as const
    return { from, to, priority, index, condition, condition_text: 'always' }
  }
  const rules = [
    rule('g', 'x', 1, 0),
    rule('a', 'y', 2, 1),
    rule('b', 'g', 9, 2),
    rule('b', 'x', 1, 3),
    rule('c', 'x', 5, 4),
  ]
  const from = createRuleLookup(rules, [{ name: 'g', members: ['a', 'b'] }])
  expect(from('g').map(({ index }) => index)).toEqual([1, 0, 3])
  expect(from('b').map(({ index }) => index)).toEqual([2, 3])
})

describe('HO1 order', () => {
  const rules = parseRules(
    'writer > reviewer: true',
    'writer > publisher 3: ready',
    'any_agent > error_handler 2: error detected',
    'writer > user 3: true',
    'reviewer > writer 9: true',
  )

  test('HO1 the rule with the highest priority that holds is chosen, own rules and any_agent rules alike', () => {
    const ready = toContext({ variables: { ready: true, error_detected: true } })
    expect(decide(rules, 'writer', ready).decision).toMatchObject({ to: 'publisher', rule: 1 })
    const [first, , error] = rules as [HandoffRule, HandoffRule, HandoffRule]
    const failing = toContext({ variables: { error_detected: true } })
    expect(decide([first, error], 'writer', failing).decision).toMatchObject({ to: 'error_handler', rule: 2 })
  })

  test('HO1 of equal priorities the first rule of the file is chosen, whatever the order of the input', () => {
    const ready = toContext({ variables: { ready: true } })
    expect(decide(rules.toReversed(), 'writer', ready).decision).toMatchObject({ to: 'publisher', rule: 1 })
    expect(decide(rules, 'writer', toContext()).decision).toMatchObject({ to: 'user', rule: 3 })
  })

  test('HO1 exactly the applicable rules are reported, in order of evaluation', () => {
    const order = decide(rules, 'writer', toContext()).rules.map(({ index }) => index)
    expect(order).toEqual([1, 3, 2, 0])
    expect(decide(rules, 'nobody', toContext()).rules.map(({ index }) => index)).toEqual([2])
  })
})

describe('HO2 any_agent', () => {
  const rules = parseRules(
    'any_agent > error_handler: true',
    'any_agent > previous_agent: false',
    'user > writer: true',
  )

  test('HO2 an any_agent rule does not apply to its own target', () => {
    expect(decide(rules, 'error_handler', toContext())).toMatchObject({
      decision: null,
      rules: [{ to: 'previous_agent' }],
    })
    expect(decide(rules, 'writer', toContext()).decision).toMatchObject({ to: 'error_handler' })
  })

  test('HO2 an any_agent rule does not apply to the user', () => {
    expect(decide(rules, 'user', toContext())).toMatchObject({ decision: { to: 'writer' }, rules: [{ from: 'user' }] })
  })
})

describe('HO3 unknown rules', () => {
  test('HO3 a rule that stays unknown is skipped and reported', () => {
    const rules = parseRules('writer > publisher 2: score > {{ least }}', 'writer > reviewer: true')
    const { decision, rules: values, open } = decide(rules, 'writer', toContext())
    expect(decision).toMatchObject({ to: 'reviewer', by: 'exact' })
    expect(open).toEqual([])
    expect(values[0]).toMatchObject({
      holds: 'unknown',
      parts: [{ reason: expect.stringContaining('least is not set') }],
    })
  })

  test('HO3 a sentence that cannot make its rule hold is not open', () => {
    const rules = parseRules('writer > publisher 2: gone and the text is good', 'writer > reviewer: true')
    expect(decide(rules, 'writer', toContext())).toMatchObject({ decision: { to: 'reviewer' }, open: [] })
  })
})

describe('HO4 undecided semantic conditions', () => {
  const rules = parseRules(
    'writer > publisher 5: content approved and ready',
    'writer > reviewer 4: draft complete',
    'writer > error_handler 3: ready',
    'writer > user 2: draft complete or help is needed',
  )

  test('HO4 there is no decision while a sentence of a rule above is open, and all such sentences are listed', () => {
    const routing = decide(rules, 'writer', toContext({ variables: { ready: true } }))
    expect(routing).toMatchObject({ decision: null, open: ['content approved', 'draft complete'] })
  })

  test('HO4 sentences of rules below a rule that holds are not open', () => {
    const routing = decide(
      rules,
      'writer',
      toContext({ variables: { ready: true }, agent: { 'content approved': true } }),
    )
    expect(routing).toMatchObject({ decision: { to: 'publisher', by: 'verdict' }, open: [] })
  })

  test('HO4 a sentence is not open when an exact part makes its rule false', () => {
    const routing = decide(rules, 'writer', toContext({ variables: { ready: false } }))
    expect(routing).toMatchObject({ decision: null, open: ['draft complete', 'help is needed'] })
  })

  test('HO4 with verdicts there is a decision', () => {
    const answers = { 'content approved': false, 'draft complete': false, 'help is needed': true }
    const routing = decide(rules, 'writer', toContext({ variables: { ready: false }, model: answers }))
    expect(routing).toMatchObject({ decision: { to: 'user', by: 'model', rule: 3 }, open: [] })
  })

  test('HO4 with final, undecided semantic conditions count as unknown', () => {
    const routing = decide(rules, 'writer', toContext({ variables: { ready: true }, final: true }))
    expect(routing).toMatchObject({ decision: { to: 'error_handler', by: 'exact' }, open: [] })
    expect(decide(rules, 'writer', toContext({ final: true }))).toMatchObject({ decision: null, open: [] })
  })
})

describe('HO5 source of the decision', () => {
  test.each([
    ['exact parts', 'ready', {}, 'exact'],
    [
      'exact parts, although a sentence is true too',
      'ready or draft complete',
      { agent: { 'draft complete': true } },
      'exact',
    ],
    [
      'exact parts, although a model judged too',
      'not gone_far or a',
      { variables: { gone_far: false }, model: { a: true } },
      'exact',
    ],
    ['the agent', 'ready and draft complete', { agent: { 'draft complete': true } }, 'verdict'],
    ['a negative verdict of the agent', 'not draft complete', { agent: { 'draft complete': false } }, 'verdict'],
    ['the agent, although a model agrees', 'a or b', { agent: { a: true }, model: { b: true } }, 'verdict'],
    ['a model', 'draft complete', { model: { 'draft complete': true } }, 'model'],
    ['a model together with the agent', 'a and b', { agent: { a: true }, model: { b: true } }, 'model'],
  ] as const)('HO5 decided by %s: %j', (_, condition, known: KnownFacts, by) => {
    const variables = { ready: true, ...known.variables }
    const { decision } = decide(
      parseRules(`writer > reviewer: ${condition}`),
      'writer',
      toContext({ ...known, variables }),
    )
    expect(decision).toMatchObject({ to: 'reviewer', by })
  })

  test('HO5 the reason contains the condition and the reason of each known part', () => {
    const rules = parseRules('writer > reviewer: draft complete and words >= 5 and (tests pass or gone)')
    const known = { variables: { words: 7 }, agent: { 'draft complete': true }, model: { 'tests pass': true } }
    expect(decide(rules, 'writer', toContext(known)).decision?.reason).toBe(
      '"draft complete and words >= 5 and (tests pass or gone)" holds ' +
        '(draft complete: the agent judged it true; words >= 5: words is 7; tests pass: a model judged it true)',
    )
  })
})

describe('HO6 no rule holds', () => {
  test('HO6 when no rule holds, there is no decision and after_work_behavior applies', () => {
    const rules = parseRules('writer > reviewer: draft complete', 'writer > publisher: ready')
    const routing = decide(
      rules,
      'writer',
      toContext({ variables: { ready: false }, agent: { 'draft complete': false } }),
    )
    expect(routing).toMatchObject({ decision: null, open: [], rules: [{ holds: false }, { holds: false }] })
    expect(routing.rules[0]?.parts[0]?.reason).toBe('the agent judged it false')
    expect(decide([], 'writer', toContext())).toEqual({ decision: null, rules: [], open: [] })
  })
})

describe('many rules', () => {
  test('a rule lookup that is built once gives the same decisions as a new one', () => {
    const chain = Array.from({ length: 200 }, (_, index) => `agent${index} > agent${index + 1}: step is done`)
    const rules = parseRules(...chain, 'any_agent > error_handler 10: error detected')
    const from = createRuleLookup(rules)
    for (const agent of ['agent0', 'agent77', 'agent199', 'error_handler', 'nobody', 'user', 'any_agent']) {
      const known = toContext({ variables: { error_detected: false }, agent: { 'step is done': true } })
      expect(routeHandoff(from(agent), known)).toEqual(decide(rules, agent, known))
    }
    expect(from('agent77').map(({ index }) => index)).toEqual([200, 77])
    expect(from('agent77')).toBe(from('agent77'))
    expect(from('any_agent')).toEqual([])
  })
})

describe('HO8 after an error', () => {
  test('HO8 after a failed turn only rules that refer to error_detected, or to the failed members of a group, apply', () => {
    const rules = parseRules(
      'writer > publisher 9: true',
      'writer > reviewer: error_detected == true and round < 3',
      'any_agent > error_handler 2: error detected or it looks bad',
      'reviewer > writer: it looks bad',
    )
    const rulesAfter = (from: string, members?: readonly string[]) =>
      createRuleLookup(rules)(from).filter((rule) => handlesFailure(rule, members))
    expect(rulesAfter('writer').map(({ index }) => index)).toEqual([2, 1])
    expect(rulesAfter('error_handler')).toEqual([])
    const [joined] = parseRules('panel > publisher: reviewer complete and not writer complete')
    expect([['writer'], ['publisher'], undefined].map((members) => joined && handlesFailure(joined, members))).toEqual([
      true,
      false,
      false,
    ])
  })
})
