import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { drawnAgreement } from '../../../../test/support/collaboration.ts'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import type { TextStyle } from '../../../surfaces/cli/render/styled-line.ts'
import { outputText } from '../../../views/pattern-views.ts'
import { displayWidth, stripControlCharacters } from '../../../views/text-width.ts'
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

const views = [
  { name: 'collaborate', view: collaborateView },
  { name: 'outcome', view: outcomeView },
]

describe('agreement lines', () => {
  test('L30 at 80 columns each position has a row with bar, share, supporters and dissent; missing responses are listed', () => {
    expect(drawnAgreement(review, plainStyle(80))).toEqual([
      'most supported: Merge it after the tokens expire',
      'agreement: 67 % · votes: 3 · by confidence and weight: 75 % · consensus: yes ·',
      '  compared by: embeddings',
      'Who stands where',
      '✓ ███████████████░░░░░   75 %  Merge it after the tokens expire',
      '                               sec 95 %, test 85 %',
      '  █████░░░░░░░░░░░░░░░   25 %  approve',
      '                               quality 60 %',
      '  ░░░░░░░░░░░░░░░░░░░░    0 %  No position',
      '                               ops (no response: timeout: took too long)',
      'Minority report (quality)',
      '  approve',
      '  - It is late',
      '  - No tests yet',
      '  - A third one',
    ])
  })

  test('L30 L31 at 40 columns recommendations appear below their bars, and a name is not separated from its confidence', () => {
    expect(drawnAgreement(review, plainStyle(40)).slice(0, 15)).toEqual([
      'most supported: Merge it after the',
      '  tokens expire',
      'agreement: 67 % · votes: 3',
      'by confidence and weight: 75 %',
      'consensus: yes',
      'compared by: embeddings',
      'Who stands where',
      '✓ ████████░░   75 %',
      '  Merge it after the tokens expire',
      '  sec 95 %, test 85 %',
      '  ███░░░░░░░   25 %',
      '  approve',
      '  quality 60 %',
      '  ░░░░░░░░░░    0 %',
      '  No position',
    ])
  })

  test('L30 at 120 columns the bars grow up to a maximum', () => {
    const first = drawnAgreement(review, plainStyle(120)).find((line) => line.startsWith('✓'))
    expect(first).toBe('✓ ██████████████████░░░░░░   75 %  Merge it after the tokens expire')
  })

  test('L31 without Unicode support only ASCII is used', () => {
    const lines = drawnAgreement(review, { ...plainStyle(60), ascii: true })
    expect(lines).toContain('* ###########....   75 %  Merge it after the tokens expire')
    const clipped = drawnAgreement(review, { ...plainStyle(30), ascii: true })
    expect(clipped).toContain('  Merge it after the tokens e~')
    for (const line of [...lines, ...clipped]) expect(line).toMatch(/^[\x20-\x7e]*$/)
  })

  test('L31 colours carry no information of their own', () => {
    const styles: TextStyle[] = []
    const paint = (textStyle: TextStyle, text: string) => {
      styles.push(textStyle)
      return text
    }
    const painted = drawnAgreement(review, { width: 80, paint })
    expect(painted).toEqual(drawnAgreement(review, plainStyle(80)))
    expect(new Set(styles)).toEqual(new Set(['bold', 'green', 'dim']))
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
    const lines = drawnAgreement({ ...review, consensus: tied }, plainStyle(80))
    expect(lines[0]).toBe('no decision: tie')
    expect(lines.filter((line) => line.endsWith('50 %  wait') || line.endsWith('50 %  go'))).toHaveLength(0)
    expect(lines.join('\n')).not.toContain('✓')
    expect(lines).toEqual(expect.arrayContaining(['agreement: 50 %', 'consensus: no', 'compared by: embeddings']))
  })

  test('L30 a blocked or undecided vote has no winner; a human decision overrides the vote', () => {
    const vote = { strategy: 'veto', winner: null, tie: false, reason: 'a critical concern blocks the decision' }
    const blocked = drawnAgreement({ ...review, vote: { ...vote, blocked_by: ['sec'] } }, plainStyle(80))
    expect(blocked[0]).toBe('blocked by: sec')
    expect(blocked.join('\n')).not.toContain('✓')
    const split = { ...vote, strategy: 'unanimous', reason: 'not unanimous: 2 different recommendations' }
    expect(drawnAgreement({ ...review, vote: split }, plainStyle(80))[0]).toBe(
      'no decision: not unanimous: 2 different recommendations',
    )
    const ruled = drawnAgreement({ ...review, ruling: { decision: 'approve' } }, plainStyle(80))
    expect(ruled[0]).toMatch(/^decided by a person: approve/)
    expect(ruled.find((line) => line.startsWith('✓'))).toMatch(/25 % {2}approve$/)
    expect(ruled.join('\n')).toMatch(/^ {2}█.*75 %.*\n +sec 95 %, test 85 %$/m)
  })

  test('L30 weighted votes are noted', () => {
    const note = 'shares: include the given weights and past accuracy'
    expect(drawnAgreement(review, plainStyle(80))).not.toContain(note)
    const contributions = review.contributions.map((each, index) => ({ ...each, weight: index === 1 ? 0.4 : 1 }))
    expect(drawnAgreement({ ...review, contributions }, plainStyle(80))).toContain(note)
  })

  test('L30 changed positions and cached contributions are marked', () => {
    const contributions = [
      contribution('sec', { before: { recommendation: 'reject' } }),
      contribution('test', { before: { recommendation: 'approve' } }),
      contribution('quality', { cached: true, confidence: null }),
    ]
    const text = drawnAgreement({ ...review, contributions }, plainStyle(80)).join('\n')
    expect(text).toContain('sec 80 % (changed its position), test 80 %\n')
    expect(text).toContain('quality (cached from an earlier run)')
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
    const text = drawnAgreement(full, plainStyle(120)).join('\n')
    expect(text).toMatch(/^best answer: sec · agreement: 67 %/)
    expect(text).toContain('right before at this agreement, 12 cases: 80 %')
    expect(text).toContain('note: no embedder')
    expect(text).toMatch(/ {2}sec +9 +yes\n {2}test +6 +no\n\(?evaluator\)?: it is complete/)
    expect(text).toContain(
      'requests saved: 2 · because: the result was likely enough · probability: 97 % · not asked: d, e',
    )
    expect(text).toContain('Problem: the coordinator failed: no luck')
  })

  test('L30 divided work is listed by subtask', () => {
    const contributions = [
      contribution('lead', { role: 'coordinator', recommendation: null, confidence: null }),
      contribution('backend', { subtask: 'Design the API', recommendation: 'Six routes' }),
      contribution('frontend', { subtask: 'Plan the pages', recommendation: null, status: 'failed', error: failed }),
      contribution('infra', { subtask: 'Say where it runs', status: 'partial', confidence: null }),
    ]
    expect(drawnAgreement({ ...review, contributions }, plainStyle(60))).toEqual([
      'Parts of the work',
      '✓ backend  Design the API',
      '  80 % sure: Six routes',
      '✗ frontend  Plan the pages',
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
    const lines = drawnAgreement({ ...review, best_of }, plainStyle(80))
    expect(lines.find((line) => line.startsWith('✓'))).toMatch(/25 % {2}approve$/)
    expect(lines.join('\n')).toMatch(/Scores, tie of quality and sec\n.*\n {2}quality +9 +yes\n {2}sec +9 +no\n/)
    expect(lines.at(-1)).toMatch(/evaluator.*: clear$/)
  })

  test('CO96 subtasks that were voted on are listed together with the positions', () => {
    const contributions = [
      contribution('lead', { role: 'coordinator', recommendation: null, confidence: null }),
      ...['sec', 'quality', 'test'].map((name) => contribution(name, { subtask: `part of ${name}` })),
    ]
    const vote = { strategy: 'weighted', winner: 'Merge it after the tokens expire', tie: false, reason: 'highest' }
    const lines = drawnAgreement({ ...review, contributions, vote }, plainStyle(80))
    expect(lines).toEqual(expect.arrayContaining(['Parts of the work', 'Who stands where']))
    expect(lines.find((line) => line.startsWith('✓ █'))).toMatch(/75 %/)
    expect(lines.join('\n')).toMatch(/agreement: 67 % · votes: 3/)
    expect(lines.join('\n')).not.toContain('lead')
  })

  test('CO97 a role named coordinator is shown like any other; the agent that divided the work only if it failed', () => {
    const silent = { role: 'coordinator', recommendation: null, response: '', status: 'failed', error: failed }
    const parallel = {
      ...review,
      contributions: [contribution('sec'), contribution('boss', silent)],
      metadata: { mode: 'parallel' },
    }
    expect(drawnAgreement(parallel).join('\n')).toContain('boss (no response: model_failed: no luck)')
    const alone = drawnAgreement({ contributions: [contribution('boss', silent)] })
    expect(alone.join('\n')).toContain('boss (no response: model_failed: no luck)')
    const plan = contribution('boss', { role: 'coordinator', recommendation: null })
    const whole = { ...review, contributions: [plan], metadata: { mode: 'hierarchical' } }
    expect(drawnAgreement(whole, plainStyle(80)).join('\n')).not.toContain('boss')
  })

  test('L94 bidirectional control characters are removed', () => {
    const turned = '\u202eevorppa\u202c \u2066x\u2069'
    const clusters = [{ recommendation: turned, agents: ['sec'], score: 1, share: 1 }]
    const text = drawnAgreement({ ...review, consensus: consensus({ clusters }) }, plainStyle(80)).join('\n')
    expect(text).toContain('evorppa x')
    expect(stripControlCharacters(turned)).toBe('evorppa x')
  })

  test('L30 failures and missing recommendations are listed', () => {
    const silent = { recommendation: null, confidence: null }
    const none = drawnAgreement({
      contributions: [contribution('a', { ...silent, response: '', status: 'failed', error: failed })],
    })
    expect(none.join('\n')).toContain('a (no response: model_failed: no luck)')
    const prose = consensus({ clusters: [], agreement_score: null, consensus_score: null, minority_report: [] })
    const text = drawnAgreement({ ...review, contributions: [contribution('a', silent)], consensus: prose }).join('\n')
    expect(text).toContain('agreement: unknown: no countable recommendation')
    expect(text).toContain('a (no recommendation)')
  })

  test('CO97 with a single vote the agreement is unknown', () => {
    const clusters = [{ recommendation: 'approve', agents: ['sec'], score: 0.8, share: 1 }]
    const alone = consensus({ clusters, agreement_score: null, has_consensus: false, minority_report: [] })
    const lines = drawnAgreement({ ...review, contributions: [contribution('sec')], consensus: alone }, plainStyle(80))
    expect(lines).toContain('agreement: unknown: only one countable recommendation')
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
        for (const line of drawnAgreement(output, plainStyle(width))) {
          expect(displayWidth(line)).toBeLessThanOrEqual(width)
          // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters must not appear.
          expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
        }
      }),
    )
  })

  test('L30 other outputs render nothing', () => {
    for (const output of [null, 'text', { response: 'x' }, { contributions: 'x' }, { contributions: [{ agent: 1 }] }]) {
      expect(drawnAgreement(output, plainStyle(80))).toEqual([])
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
