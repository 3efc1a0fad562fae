import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TerminalStyle } from '../../../surfaces/cli/render/styled-line.ts'
import { plainStyle, renderPatternLine } from '../../../surfaces/cli/render/styled-line.ts'
import type { TextStyle } from '../../../views/pattern-view.ts'
import { outputText } from '../../../views/pattern-views.ts'
import { displayWidth, stripControlCharacters } from '../../../views/text-width.ts'
import { agreementLines as layOutAgreement } from './agreement-lines.ts'
import type { AgreementView, ContributionView } from './agreement-view.ts'
import { outcomeView } from './outcome-view.ts'
import { collaborateView } from './view.ts'

function contribution(agent: string, more: Partial<ContributionView> = {}): ContributionView {
  const defaults = { recommendation: 'approve', confidence: 0.8, status: 'completed' }
  return { agent, role: `${agent} role`, response: 'text', ...defaults, ...more }
}

type Consensus = NonNullable<AgreementView['consensus']>

function consensus(more: Partial<Consensus> = {}): Consensus {
  return {
    agreement_score: 2 / 3,
    consensus_score: 0.75,
    has_consensus: true,
    clusters: [
      { recommendation: 'Merge it after the tokens expire', agents: ['sec', 'test'], score: 1.8, share: 0.75 },
      { recommendation: 'approve', agents: ['quality'], score: 0.6, share: 0.25 },
    ],
    tie: false,
    supporting: ['sec role', 'test role'],
    minority_report: [{ agents: ['quality'], concerns: ['It is late', 'No tests yet', 'A third one'] }],
    method: 'embeddings',
    ...more,
  }
}

const review: AgreementView = {
  result: 'Merge it later.',
  contributions: [
    contribution('sec', { confidence: 0.95 }),
    contribution('quality', { confidence: 0.6 }),
    contribution('test', { confidence: 0.85 }),
    contribution('ops', {
      recommendation: null,
      response: '',
      status: 'timeout',
      error: { code: 'timeout', message: 'took too long' },
    }),
  ],
  consensus: consensus(),
  metadata: {},
}

const failed = { code: 'model_failed', message: 'no luck' } as const

/** The lines as a terminal of this style shows them. */
function agreementLines(output: unknown, style: TerminalStyle): string[] {
  const layout = { width: style.width, ascii: style.ascii === true }
  return layOutAgreement(output, layout).map((line) => renderPatternLine(style, line))
}

const views = [
  { name: 'collaborate', view: collaborateView },
  { name: 'outcome', view: outcomeView },
]

describe('agreement lines', () => {
  test('L30 at 80 columns each position has a row with bar, share, supporters and dissent; missing responses are listed', () => {
    expect(agreementLines(review, plainStyle(80))).toEqual([
      'positions',
      '✓ ███████████████░░░░░   75 %  Merge it after the tokens expire',
      '                               sec 95 %, test 85 %',
      '  █████░░░░░░░░░░░░░░░   25 %  approve',
      '                               dissent: quality 60 %',
      '                               · It is late',
      '                               · No tests yet',
      'no response: ops, timeout: took too long',
      'agreement 67 % of 3 votes · consensus · weighted 75 % · compared by embeddings',
    ])
  })

  test('L30 L31 at 40 columns recommendations appear below their bars, and a name is not separated from its confidence', () => {
    expect(agreementLines(review, plainStyle(40))).toEqual([
      'positions',
      '✓ ████████░░   75 %',
      '  Merge it after the tokens expire',
      '  sec 95 %, test 85 %',
      '  ███░░░░░░░   25 %',
      '  approve',
      '  dissent: quality 60 %',
      '  · It is late',
      '  · No tests yet',
      'no response: ops, timeout: took too long',
      'agreement 67 % of 3 votes · consensus ·',
      '  weighted 75 % · compared by embeddings',
    ])
  })

  test('L30 at 120 columns the bars grow up to a maximum', () => {
    const [, first = ''] = agreementLines(review, plainStyle(120))
    expect(first).toBe('✓ ██████████████████░░░░░░   75 %  Merge it after the tokens expire')
  })

  test('L31 without Unicode support only ASCII is used', () => {
    const lines = agreementLines(review, { ...plainStyle(60), ascii: true })
    expect(lines[1]).toBe('* ###########....   75 %  Merge it after the tokens expire')
    const clipped = agreementLines(review, { ...plainStyle(30), ascii: true })
    expect(clipped).toContain('  Merge it after the tokens e~')
    for (const line of [...lines, ...clipped]) expect(line).toMatch(/^[\x20-\x7e]*$/)
  })

  test('L31 colours carry no information of their own', () => {
    const styles: TextStyle[] = []
    const paint = (textStyle: TextStyle, text: string) => {
      styles.push(textStyle)
      return text
    }
    const painted = agreementLines(review, { width: 80, paint })
    expect(painted).toEqual(agreementLines(review, plainStyle(80)))
    expect(new Set(styles)).toEqual(new Set(['bold', 'green', 'dim', 'red']))
  })

  test('L30 a tie has no winner and is marked TIE', () => {
    const tied = consensus({
      clusters: [
        { recommendation: 'wait', agents: ['sec'], score: 0.7, share: 0.5 },
        { recommendation: 'go', agents: ['test'], score: 0.7, share: 0.5 },
      ],
      tie: true,
      consensus_score: null,
      has_consensus: false,
      agreement_score: 0.5,
    })
    const lines = agreementLines({ ...review, consensus: tied }, plainStyle(80))
    expect(lines[0]).toBe('positions  TIE')
    expect(lines.filter((line) => line.startsWith('='))).toHaveLength(2)
    expect(lines.join('\n')).not.toContain('✓')
    expect(lines).toContain('agreement 50 % of 2 votes · no consensus · compared by embeddings')
  })

  test('L30 a blocked or undecided vote has no winner; a human decision overrides the vote', () => {
    const vote = { strategy: 'veto', winner: null, tie: false, reason: 'a critical concern blocks the decision' }
    const blocked = agreementLines({ ...review, vote: { ...vote, blocked_by: ['sec'] } }, plainStyle(80))
    expect(blocked[0]).toBe('positions  BLOCKED by sec')
    expect(blocked[1]).toMatch(/^ {2}█/)
    const split = { ...vote, strategy: 'unanimous', reason: 'not unanimous: 2 different recommendations' }
    expect(agreementLines({ ...review, vote: split }, plainStyle(80))[0]).toBe(
      'positions  NO DECISION: not unanimous: 2 different recommendations',
    )
    const ruled = agreementLines({ ...review, ruling: { decision: 'approve' } }, plainStyle(80))
    expect(ruled[0]).toBe('positions  decided by a person: approve')
    expect(ruled.find((line) => line.startsWith('✓'))).toMatch(/25 % {2}approve$/)
    expect(ruled[2]).toMatch(/dissent: sec 95 %, test 85 %$/)
  })

  test('L30 weighted votes are noted', () => {
    const note = 'shares include the given weights and past accuracy'
    expect(agreementLines(review, plainStyle(80))).not.toContain(note)
    const contributions = review.contributions.map((each, index) => ({ ...each, weight: index === 1 ? 0.4 : 1 }))
    expect(agreementLines({ ...review, contributions }, plainStyle(80)).at(-1)).toBe(note)
  })

  test('L30 changed positions and cached contributions are marked', () => {
    const contributions = [
      contribution('sec', { before: { recommendation: 'reject' } }),
      contribution('test', { before: { recommendation: 'approve' } }),
      contribution('quality', { cached: true, confidence: null }),
    ]
    const text = agreementLines({ ...review, contributions }, plainStyle(80)).join('\n')
    expect(text).toContain('sec 80 % (changed), test 80 %\n')
    expect(text).toContain('quality (cached)')
  })

  test('L30 savings, method, scores and problems are listed', () => {
    const full: AgreementView = {
      ...review,
      consensus: consensus({ note: 'no embedder', confidence: { confidence: 0.8, cases: 12 } }),
      best_of: {
        agent: 'sec',
        reason: 'it is complete',
        scores: [
          { agent: 'test', score: 6 },
          { agent: 'sec', score: 9 },
        ],
      },
      metadata: {
        saved: { agents: ['d', 'e'], calls: 2, why: 'beta', probability: 0.97 },
        problems: ['the coordinator failed: no luck'],
      },
    }
    expect(agreementLines(full, plainStyle(120)).slice(-6)).toEqual([
      'agreement 67 % of 3 votes · consensus · weighted 75 % · compared by embeddings',
      'this level of agreement was right in 80 % of 12 earlier cases',
      'no embedder',
      'best: sec (of 10: sec 9, test 6): it is complete',
      'saved 2 calls: the outcome was likely enough (97 %); not called: d, e',
      'problem: the coordinator failed: no luck',
    ])
  })

  test('L30 divided work is listed by subtask', () => {
    const contributions = [
      contribution('lead', { role: 'coordinator', recommendation: null, confidence: null }),
      contribution('backend', { subtask: 'Design the API', recommendation: 'Six routes' }),
      contribution('frontend', { subtask: 'Plan the pages', recommendation: null, status: 'failed', error: failed }),
      contribution('infra', { subtask: 'Say where it runs', status: 'partial', confidence: null }),
    ]
    expect(agreementLines({ ...review, contributions }, plainStyle(60))).toEqual([
      'subtasks',
      '✓ backend 80 %  Design the API',
      '  Six routes',
      '✗ frontend 80 %  Plan the pages',
      '  model_failed: no luck',
      '◐ infra  Say where it runs',
      '  approve',
    ])
  })

  test('CO95 the choice of the evaluator is marked as the winner, not the majority; equal scores are a TIE', () => {
    const scores = [
      { agent: 'quality', score: 9 },
      { agent: 'sec', score: 9 },
    ]
    const best_of = { agent: 'quality', reason: 'clear', scores, tied: ['quality', 'sec'] }
    const lines = agreementLines({ ...review, best_of }, plainStyle(80))
    expect(lines.find((line) => line.startsWith('✓'))).toMatch(/25 % {2}approve$/)
    expect(lines[2]).toMatch(/dissent: sec 95 %, test 85 %$/)
    expect(lines.at(-1)).toBe('best: quality (of 10: quality 9, sec 9, TIE of quality and sec): clear')
    const unexplained = agreementLines({ ...review, best_of: { ...best_of, reason: '' } }, plainStyle(80))
    expect(unexplained.at(-1)).toMatch(/ and sec\)$/)
  })

  test('CO96 subtasks that were voted on are listed together with the positions', () => {
    const contributions = [
      contribution('lead', { role: 'coordinator', recommendation: null, confidence: null }),
      ...['sec', 'quality', 'test'].map((name) => contribution(name, { subtask: `part of ${name}` })),
    ]
    const vote = { strategy: 'weighted', winner: 'Merge it after the tokens expire', tie: false, reason: 'highest' }
    const lines = agreementLines({ ...review, contributions, vote }, plainStyle(80))
    expect(lines[0]).toBe('subtasks')
    expect(lines).toContain('positions')
    expect(lines.find((line) => line.startsWith('✓ █'))).toMatch(/75 %/)
    expect(lines.at(-1)).toMatch(/^agreement 67 % of 3 votes/)
    expect(lines.join('\n')).not.toContain('no recommendation: lead')
  })

  test('CO97 a role named coordinator is shown like any other; the agent that divided the work only if it failed', () => {
    const silent = { role: 'coordinator', recommendation: null, response: '', status: 'failed', error: failed }
    const parallel = {
      ...review,
      contributions: [contribution('sec'), contribution('boss', silent)],
      metadata: { mode: 'parallel' },
    }
    expect(agreementLines(parallel, plainStyle(80))).toContain('no response: boss, model_failed: no luck')
    const alone = agreementLines({ contributions: [contribution('boss', silent)] }, plainStyle(80))
    expect(alone).toEqual(['no response: boss, model_failed: no luck'])
    const plan = contribution('boss', { role: 'coordinator', recommendation: null })
    const whole = { ...review, contributions: [plan], metadata: { mode: 'hierarchical' } }
    expect(agreementLines(whole, plainStyle(80)).join('\n')).not.toContain('boss')
  })

  test('L94 bidirectional control characters are removed', () => {
    const turned = '\u202eevorppa\u202c \u2066x\u2069'
    const clusters = [{ recommendation: turned, agents: ['sec'], score: 1, share: 1 }]
    const text = agreementLines({ ...review, consensus: consensus({ clusters }) }, plainStyle(80)).join('\n')
    expect(text).toContain('evorppa x')
    expect(stripControlCharacters(turned)).toBe('evorppa x')
  })

  test('L30 failures and missing recommendations are listed', () => {
    const silent = { recommendation: null, confidence: null }
    const none = agreementLines(
      { contributions: [contribution('a', { ...silent, response: '', status: 'failed', error: failed })] },
      plainStyle(60),
    )
    expect(none).toEqual(['no response: a, model_failed: no luck'])
    const prose = consensus({ clusters: [], agreement_score: null, consensus_score: null, minority_report: [] })
    expect(
      agreementLines({ ...review, contributions: [contribution('a', silent)], consensus: prose }, plainStyle(80)),
    ).toEqual(['no recommendation: a', 'agreement unknown: no countable recommendation'])
  })

  test('CO97 with a single vote the agreement is unknown', () => {
    const clusters = [{ recommendation: 'approve', agents: ['sec'], score: 0.8, share: 1 }]
    const alone = consensus({ clusters, agreement_score: null, has_consensus: false, minority_report: [] })
    const lines = agreementLines({ ...review, contributions: [contribution('sec')], consensus: alone }, plainStyle(80))
    expect(lines.at(-1)).toBe('agreement unknown: only one countable recommendation')
  })

  test('L94 L31 model output cannot widen a line or control the terminal', () => {
    const words = fc.string({ unit: 'grapheme', maxLength: 60 })
    const names = fc.uniqueArray(fc.oneof(words, fc.constant('設計者\u001b[2J')), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(names, words, fc.integer({ min: 24, max: 130 }), (agents, recommendation, width) => {
        const contributions = agents.map((agent) => contribution(agent, { recommendation }))
        const clusters = agents.map((agent) => ({
          recommendation,
          agents: [agent],
          score: 1,
          share: 1 / agents.length,
        }))
        const minority_report = agents.map((agent) => ({ agents: [agent], concerns: [recommendation] }))
        const output = { ...review, contributions, consensus: consensus({ clusters, minority_report }) }
        for (const line of agreementLines(output, plainStyle(width))) {
          expect(displayWidth(line)).toBeLessThanOrEqual(width)
          // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not appear.
          expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
        }
      }),
    )
  })

  test('L30 other outputs render nothing', () => {
    for (const output of [null, 'text', { response: 'x' }, { contributions: 'x' }, { contributions: [{ agent: 1 }] }]) {
      expect(agreementLines(output, plainStyle(80))).toEqual([])
    }
  })
})

describe('output text', () => {
  test('L32 the text of a collaboration is its result, or empty', () => {
    expect(outputText(views, 'collaborate', review)).toBe('Merge it later.')
    expect(outputText(views, 'collaborate', { contributions: [] })).toBe('')
  })

  test('L34 the text of an outcome lists the recorded votes', () => {
    const outcome = {
      of_run: 'r_1',
      correct: false,
      agreement_score: 0.667,
      voices: [
        { agent: 'a', right: false },
        { agent: 'b', right: true },
      ],
    }
    expect(outputText(views, 'outcome', outcome)).toBe('recorded: r_1 was wrong at 67 % agreement\nright: b\nwrong: a')
    expect(outputText(views, 'outcome', { ...outcome, correct: true, agreement_score: null, voices: [] })).toBe(
      'recorded: r_1 was right\nthe run has no recorded votes',
    )
    expect(outcomeView.outputText?.({ of_run: 'r_1' })).toBeUndefined()
  })
})
