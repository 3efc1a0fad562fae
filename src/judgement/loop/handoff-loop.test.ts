import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LoopLimits, LoopVerdict, Move } from './handoff-loop.ts'
import { createLoopDetector, handoffResult } from './handoff-loop.ts'

const limits: LoopLimits = { max_rounds: 50, max_repeats_per_edge: 3, ping_pong: 4 }
const wide: LoopLimits = { max_rounds: 1000, max_repeats_per_edge: 1000, ping_pong: 4 }

/** `a>b:x` is a move from a to b with the result x; without `:x` the result is new. */
function moves(text: string): Move[] {
  return text.split(' ').map((move, index) => {
    const [edge = '', result = `new ${index}`] = move.split(':')
    const [from = '', to = ''] = edge.split('>')
    return { from, to, result: handoffResult({ text: result }) }
  })
}

/** The first loop in a list of moves. */
function checkLoop(list: readonly Move[], loopLimits: LoopLimits): LoopVerdict {
  const detector = createLoopDetector(loopLimits)
  return list.map((move) => detector.add(move)).find(({ ok }) => !ok) ?? { ok: true }
}

describe('LP1 rounds', () => {
  test('LP1 max_rounds counts turns: the move that would lead to one more is a loop', () => {
    const chain = Array.from({ length: 50 }, (_, index) => ({
      from: `a${index}`,
      to: `a${index + 1}`,
      result: handoffResult({ text: `${index}` }),
    }))
    expect(checkLoop(chain.slice(0, 49), limits)).toEqual({ ok: true })
    expect(checkLoop(chain, limits)).toMatchObject({
      ok: false,
      kind: 'max_rounds',
      message: expect.stringMatching(/50 turns.*max_rounds is 50/),
    })
    expect(checkLoop(chain.slice(0, 1), { ...limits, max_rounds: 1 })).toMatchObject({ kind: 'max_rounds' })
  })
})

describe('LP2 repeats of an edge', () => {
  test('LP2 one edge may be taken max_repeats_per_edge times, with or without progress', () => {
    const thrice = 'a>b b>c c>a a>b b>d d>a a>b'
    expect(checkLoop(moves(thrice), limits)).toEqual({ ok: true })
    const verdict = checkLoop(moves(`${thrice} b>e e>a a>b`), limits)
    expect(verdict).toMatchObject({
      ok: false,
      kind: 'edge_repeats',
      message: expect.stringContaining('a handed off to b 4 times'),
    })
    expect(verdict.ok ? [] : verdict.moves.map(({ from, to }) => from + to)).toEqual(['ab', 'ab', 'ab', 'ab'])
  })

  test('LP2 the opposite direction is a separate edge, and names are never concatenated ambiguously', () => {
    expect(checkLoop(moves('a>b b>a a>b b>a a>b b>a'), limits)).toEqual({ ok: true })
    expect(checkLoop(moves('a>bc ab>c a>bc ab>c a>bc ab>c'), limits)).toEqual({ ok: true })
  })

  test('LP2 an agent that continues by itself takes an edge to itself', () => {
    expect(checkLoop(moves('a>a a>a a>a a>a'), limits)).toMatchObject({ kind: 'edge_repeats' })
  })
})

describe('LP3 back and forth', () => {
  test('LP3 two agents that hand off back and forth without a new result are stopped after ping_pong moves', () => {
    const start = 'a>b:x b>a:y a>b:x b>a:y a>b:x'
    expect(checkLoop(moves(start), wide)).toEqual({ ok: true })
    const verdict = checkLoop(moves(`${start} b>a:y`), wide)
    expect(verdict).toMatchObject({ ok: false, kind: 'ping_pong', message: expect.stringContaining('b and a') })
    expect(verdict.ok ? 0 : verdict.moves.length).toBe(4)
  })

  test('LP3 a new result resets the count', () => {
    expect(checkLoop(moves('a>b:x b>a:y a>b:x b>a:y a>b:z b>a:y a>b:x b>a:y'), wide)).toEqual({ ok: true })
    expect(checkLoop(moves('a>b b>a a>b b>a a>b b>a a>b b>a a>b b>a a>b b>a'), wide)).toEqual({ ok: true })
  })

  test('LP3 results are compared per agent: repeating the result of another agent is new', () => {
    expect(checkLoop(moves('a>b:1 b>a:1 a>b:2 b>a:2 a>b:3 b>a:3 a>b:4 b>a:4'), wide)).toEqual({ ok: true })
  })

  test('LP3 alternating between earlier results is not progress', () => {
    const turns = 'a>b:1 b>a:k a>b:2 b>a:l a>b:1 b>a:k a>b:2 b>a:l'
    expect(checkLoop(moves(turns), wide)).toMatchObject({ ok: false, kind: 'ping_pong' })
  })
})

describe('LP4 stall', () => {
  test('LP4 a longer cycle is stopped when every agent in it has repeated itself twice', () => {
    const round = 'a>b:x b>c:y c>a:z'
    expect(checkLoop(moves(`${round} ${round} a>b:x b>c:y`), wide)).toEqual({ ok: true })
    const verdict = checkLoop(moves(`${round} ${round} ${round}`), wide)
    expect(verdict).toMatchObject({ ok: false, kind: 'stall', message: expect.stringMatching(/6 moves.*a, b, c/) })
  })

  test('LP4 an agent that continues by itself with the same result stalls', () => {
    expect(checkLoop(moves('a>a:x a>a:x a>a:x a>a:x'), wide)).toEqual({ ok: true })
    expect(checkLoop(moves('a>a:x a>a:x a>a:x a>a:x a>a:x'), wide)).toMatchObject({ kind: 'stall' })
    const others = 'c>b:x b>a:x a>a:x'
    expect(checkLoop(moves(`${others} ${others} a>a:x a>a:x a>a:x`), wide)).toMatchObject({ kind: 'stall' })
  })
})

describe('LP5 people', () => {
  test('LP5 a message of a person resets every count', () => {
    const chat = Array.from({ length: 60 }, () => 'user>a:hi a>user:x').join(' ')
    expect(checkLoop(moves(chat), limits)).toEqual({ ok: true })
    expect(checkLoop(moves('a>b:x b>a:y a>b:x b>a:y a>b:x user>a:go b>a:y a>b:x'), wide)).toEqual({ ok: true })
  })

  test('LP5 reset resets every count', () => {
    const detector = createLoopDetector({ ...limits, max_rounds: 2 })
    const [first, second] = moves('a>b b>c') as [Move, Move]
    detector.add(first)
    detector.reset()
    expect(detector.add(second)).toEqual({ ok: true })
    expect(detector.add(first)).toMatchObject({ kind: 'max_rounds' })
  })
})

const fingerprintOf = (result: Parameters<typeof handoffResult>[0]) => handoffResult(result).fingerprint

/** The first loop of two agents that hand these texts back and forth. */
function exchange(texts: readonly string[], artifacts: readonly string[] = []): LoopVerdict {
  const list = texts.map((text, index): Move => {
    const [from = '', to = ''] = index % 2 === 0 ? ['a', 'b'] : ['b', 'a']
    return { from, to, result: handoffResult({ text, artifacts: { draft: artifacts[index] ?? '' } }) }
  })
  return checkLoop(list, wide)
}

describe('LP31 nearly the same results', () => {
  const reworded = [
    'The draft is ready, please review it.',
    'I have read the draft and it needs more detail.',
    'Please do review it, the draft is ready.',
    'The draft needs more detail, I have read it.',
    'The draft is ready now, please review it.',
    'I have read it and the draft needs more detail.',
    'Ready is the draft, please review it.',
    'The draft needs more detail, and I have now read it.',
  ]

  test('LP31 agents that say the same in other words are in a loop', () => {
    expect(exchange(reworded)).toMatchObject({ ok: false, kind: 'ping_pong' })
  })

  test('LP31 another file, number or changed artifact is a new result', () => {
    const chapters = reworded.map((text, index) => `${text} It is chapter ${index}.`)
    expect(exchange(chapters)).toEqual({ ok: true })
    expect(exchange(reworded, ['1', '2', '3', '4', '5', '6', '7', '8'])).toEqual({ ok: true })
    const topics = ['login', 'search', 'cart', 'billing', 'export', 'import', 'profile', 'settings']
    expect(exchange(topics.map((topic) => `The page for the ${topic} is done and tested.`))).toEqual({ ok: true })
  })
})

describe('the same for another subject', () => {
  const check = (file: string) => [`Check the header of src/${file}.ts.`, `The header of src/${file}.ts is fine.`]
  const read = (value: string) => ['What is the depth of the queue now?', `The queue has ${value} entries.`]

  test('LP26 one template for many subjects is no loop, the same subject again is', () => {
    expect(exchange(['a', 'b', 'c', 'd', 'e', 'f', 'g'].flatMap(check))).toEqual({ ok: true })
    expect(exchange(Array.from({ length: 7 }, () => check('a')).flat())).toMatchObject({ kind: 'ping_pong' })
    const customers = ['Ada', 'Ben', 'Cho', 'Dan', 'Eve', 'Fay']
    expect(exchange(customers.map((name) => `The customer ${name} has no open invoice.`))).toEqual({ ok: true })
  })

  test('LP27 readings with new numbers are progress, the same reading is not', () => {
    expect(exchange(['9', '7', '6', '4', '3', '1'].flatMap(read))).toEqual({ ok: true })
    expect(exchange(['9', '9', '9', '9', '9', '9'].flatMap(read))).toMatchObject({ kind: 'ping_pong' })
  })
})

describe('hostile results', () => {
  test.each([
    ['no results', []],
    ['one speaker', Array.from({ length: 900 }, (_, index) => `step ${index} of the only one who speaks`)],
    ['huge texts', Array.from({ length: 2 }, () => 'ab '.repeat(1_000_000))],
    ['one huge word', Array.from({ length: 2 }, () => 'a'.repeat(3_000_000))],
    ['quotes without end', ['"'.repeat(500_000), '“a'.repeat(500_000)]],
  ])('LP30 %s are read', (_, texts) => {
    expect(exchange(texts)).toEqual({ ok: true })
  })

  test('LP30 empty texts are a loop like any other known result', () => {
    expect(exchange(Array.from({ length: 1000 }, () => ''))).toMatchObject({ kind: 'ping_pong' })
  })

  test('LP30 of a text the first 100,000 characters count', () => {
    const long = 'the same five words again '.repeat(4_000)
    const results = Array.from({ length: 8 }, (_, index) => `${long} further words${index}`)
    expect(exchange(results)).toMatchObject({ kind: 'ping_pong' })
  })

  test('LP30 fifty thousand handoffs with identical results, of which the latest are kept', () => {
    const detector = createLoopDetector(wide)
    const [there, back] = moves('a>b:x b>a:y') as [Move, Move]
    const verdicts = Array.from({ length: 50_000 }, (_, index) => detector.add(index % 2 === 0 ? there : back))
    expect(verdicts.filter(({ ok }) => !ok).length).toBeGreaterThan(49_000)
    const last = verdicts.at(-1)
    expect(last?.ok === false && last.moves.length).toBe(100)
  })

  test('LP30 a result is compared with the last twenty of its agent', () => {
    const words = (seed: number) => Array.from({ length: 8 }, (_, index) => `word${seed}x${index}`).join(' ')
    const reworded = `${words(0)} as before`
    const laterVerdict = (count: number) => {
      const texts = [words(0), ...Array.from({ length: count }, (_, index) => words(index + 1))]
      const loopLimits = { ...wide, ping_pong: 1, max_rounds: Infinity, max_repeats_per_edge: Infinity }
      const detector = createLoopDetector(loopLimits)
      const add = (text: string) => detector.add({ from: 'a', to: 'a', result: handoffResult({ text }) })
      for (const text of texts) add(text)
      return [add(reworded), add(reworded)].at(-1)
    }
    expect(laterVerdict(5)).toMatchObject({ ok: false, kind: 'stall' })
    expect(laterVerdict(30)).toMatchObject({ ok: true })
  })
})

describe('LP6 fingerprints', () => {
  test('LP6 case, blanks and punctuation do not change the fingerprint', () => {
    expect(fingerprintOf({ text: '  The Draft,\nis ready! ' })).toBe(fingerprintOf({ text: 'the draft is “ready”.' }))
    expect(fingerprintOf({ text: 'draft 1' })).not.toBe(fingerprintOf({ text: 'draft 2' }))
    expect(fingerprintOf({ text: 'ﬁne Größe' })).toBe(fingerprintOf({ text: 'fine gro\u0308ße' }))
  })

  test('LP6 a changed artifact or variable changes the fingerprint, their order does not', () => {
    const one = fingerprintOf({ text: 'done', artifacts: { a: '1', b: '2' }, variables: { n: 1 } })
    expect(one).toBe(fingerprintOf({ text: 'done', artifacts: { b: '2', a: '1' }, variables: { n: 1 } }))
    expect(one).not.toBe(fingerprintOf({ text: 'done', artifacts: { a: '1', b: '3' }, variables: { n: 1 } }))
    expect(one).not.toBe(fingerprintOf({ text: 'done', artifacts: { a: '1', b: '2' }, variables: { n: 2 } }))
    expect(one).not.toBe(fingerprintOf({ text: 'done', variables: { a: '1', b: '2', n: 1 } }))
  })
})

describe('any moves', () => {
  const move = fc.record({
    from: fc.constantFrom('a', 'b', 'c'),
    to: fc.constantFrom('a', 'b', 'c', 'user'),
    result: fc.constantFrom('1', '2', '3').map((text) => handoffResult({ text })),
  })

  test('LP5 a detector after reset behaves like a new one', () => {
    const list = fc.array(move, { maxLength: 40 })
    fc.assert(
      fc.property(list, list, (before, after) => {
        const [used, fresh] = [
          createLoopDetector({ ...limits, max_rounds: 20 }),
          createLoopDetector({ ...limits, max_rounds: 20 }),
        ]
        for (const earlier of before) used.add(earlier)
        used.reset()
        expect(after.map((later) => used.add(later))).toEqual(after.map((later) => fresh.add(later)))
      }),
    )
  })

  test('LP7 moves with only new results are stopped by max_rounds and max_repeats_per_edge only', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (list) => {
        const progress = list.map((step, index) => ({ ...step, result: handoffResult({ text: `${index}` }) }))
        const verdict = checkLoop(progress, { ...limits, max_rounds: 20 })
        expect(verdict.ok || verdict.kind === 'edge_repeats' || verdict.kind === 'max_rounds').toBe(true)
      }),
    )
  })

  test('LP3 ping_pong is detected exactly where a scan of the last moves detects it', () => {
    fc.assert(
      fc.property(fc.array(move, { maxLength: 40 }), (list) => {
        const expected = list.findIndex((_, index) => endsInPingPong(list.slice(0, index + 1), wide.ping_pong))
        const verdict = checkLoop(list, wide)
        if (expected === -1) expect(verdict).not.toMatchObject({ kind: 'ping_pong' })
        else expect(checkLoop(list.slice(0, expected + 1), wide).ok).toBe(false)
      }),
      { numRuns: 500 },
    )
  })
})

function endsInPingPong(list: Move[], length: number): boolean {
  const last = list.slice(-length)
  if (last.length < length) return false
  const isRepeated = (index: number) =>
    list
      .slice(0, index)
      .some(({ from, result }) => from === list[index]?.from && result.fingerprint === list[index]?.result.fingerprint)
  const alternates = last.every(({ from, to }, index) => {
    const next = last[index + 1]
    return from !== to && (next === undefined || (next.from === to && next.to === from))
  })
  return alternates && last.every((_, index) => isRepeated(list.length - length + index))
}
