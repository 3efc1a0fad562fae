import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AgreementView, ContributionView } from '../../../views/agreement-view.ts'
import { agreementLines } from './agreement-lines.ts'
import { formatRunOutput, outcomeText } from './result-lines.ts'
import type { TextStyle } from './styled-line.ts'
import { plainStyle } from './styled-line.ts'
import { displayWidth, stripControlCharacters } from './text-width.ts'

function spoken(agent: string, more: Partial<ContributionView> = {}): ContributionView {
  const said = { recommendation: 'approve', confidence: 0.8, status: 'completed' }
  return { agent, role: `${agent} role`, response: 'words', ...said, ...more }
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
    minority_report: [{ agents: ['quality'], concerns: ['It is late', 'Nobody asked', 'A third one'] }],
    method: 'embeddings',
    ...more,
  }
}

const review: AgreementView = {
  result: 'Merge it later.',
  contributions: [
    spoken('sec', { confidence: 0.95 }),
    spoken('quality', { confidence: 0.6 }),
    spoken('test', { confidence: 0.85 }),
    spoken('ops', {
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

describe('who stands where', () => {
  test('L30 80 columns: a row for each position with bar, share, winner, holders, dissent, and who was not heard', () => {
    expect(agreementLines(review, plainStyle(80))).toEqual([
      'who stands where',
      '✓ ███████████████░░░░░   75 %  Merge it after the tokens expire',
      '                               sec 95 %, test 85 %',
      '  █████░░░░░░░░░░░░░░░   25 %  approve',
      '                               dissent: quality 60 %',
      '                               · It is late',
      '                               · Nobody asked',
      'not heard: ops, timeout: took too long',
      'agreement 67 % of 3 voices · consensus · by weight 75 % · compared by meaning',
    ])
  })

  test('L30 L31 40 columns: recommendations stand below their bars, and a name stays with its confidence', () => {
    expect(agreementLines(review, plainStyle(40))).toEqual([
      'who stands where',
      '✓ ████████░░   75 %',
      '  Merge it after the tokens expire',
      '  sec 95 %, test 85 %',
      '  ███░░░░░░░   25 %',
      '  approve',
      '  dissent: quality 60 %',
      '  · It is late',
      '  · Nobody asked',
      'not heard: ops, timeout: took too long',
      'agreement 67 % of 3 voices · consensus ·',
      '  by weight 75 % · compared by meaning',
    ])
  })

  test('L30 120 columns: the bars grow, up to a size that can still be compared', () => {
    const [, first = ''] = agreementLines(review, plainStyle(120))
    expect(first).toBe('✓ ██████████████████░░░░░░   75 %  Merge it after the tokens expire')
  })

  test('L31 without Unicode it is drawn in ASCII', () => {
    const lines = agreementLines(review, { ...plainStyle(60), ascii: true })
    expect(lines[1]).toBe('* ###########....   75 %  Merge it after the tokens expire')
    const clipped = agreementLines(review, { ...plainStyle(30), ascii: true })
    expect(clipped).toContain('  Merge it after the tokens e~')
    for (const line of [...lines, ...clipped]) expect(line).toMatch(/^[\x20-\x7e]*$/)
  })

  test('L31 colour only adds: what is won is green, what lost is dim, what failed is red', () => {
    const styles: TextStyle[] = []
    const paint = (textStyle: TextStyle, text: string) => {
      styles.push(textStyle)
      return text
    }
    const painted = agreementLines(review, { width: 80, paint })
    expect(painted).toEqual(agreementLines(review, plainStyle(80)))
    expect(new Set(styles)).toEqual(new Set(['bold', 'green', 'dim', 'red']))
  })

  test('L30 a tie has no winner and says TIE', () => {
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
    expect(lines[0]).toBe('who stands where  TIE')
    expect(lines.filter((line) => line.startsWith('='))).toHaveLength(2)
    expect(lines.join('\n')).not.toContain('✓')
    expect(lines).toContain('agreement 50 % of 2 voices · no consensus · compared by meaning')
  })

  test('L30 what a critical concern blocks, or nobody decided, has no winner; a person decides', () => {
    const vote = { strategy: 'veto', winner: null, tie: false, reason: 'a critical concern blocks the decision' }
    const blocked = agreementLines({ ...review, vote: { ...vote, blocked_by: ['sec'] } }, plainStyle(80))
    expect(blocked[0]).toBe('who stands where  BLOCKED by sec')
    expect(blocked[1]).toMatch(/^ {2}█/)
    const split = { ...vote, strategy: 'unanimous', reason: 'not unanimous: 2 different recommendations' }
    expect(agreementLines({ ...review, vote: split }, plainStyle(80))[0]).toBe(
      'who stands where  NO DECISION: not unanimous: 2 different recommendations',
    )
    const ruled = agreementLines({ ...review, ruling: { decision: 'approve' } }, plainStyle(80))
    expect(ruled[0]).toBe('who stands where  decided by a person: approve')
    expect(ruled.find((line) => line.startsWith('✓'))).toMatch(/25 % {2}approve$/)
    expect(ruled[2]).toMatch(/dissent: sec 95 %, test 85 %$/)
  })

  test('L30 where voices do not count by their confidence alone, that is said', () => {
    const why = 'shares follow the weights given, and how often each was right before'
    expect(agreementLines(review, plainStyle(80))).not.toContain(why)
    const contributions = review.contributions.map((each, at) => ({ ...each, weight: at === 1 ? 0.4 : 1 }))
    expect(agreementLines({ ...review, contributions }, plainStyle(80)).at(-1)).toBe(why)
  })

  test('L30 whoever changed its mind, or was not asked anew, is marked', () => {
    const contributions = [
      spoken('sec', { before: { recommendation: 'reject' } }),
      spoken('test', { before: { recommendation: 'approve' } }),
      spoken('quality', { cached: true, confidence: null }),
    ]
    const text = agreementLines({ ...review, contributions }, plainStyle(80)).join('\n')
    expect(text).toContain('sec 80 % (moved), test 80 %\n')
    expect(text).toContain('quality (known)')
  })

  test('L30 says what was saved and why, what was computed how, and what went wrong', () => {
    const full: AgreementView = {
      ...review,
      consensus: consensus({ kappa: -0.3333, note: 'no embedder', confidence: { confidence: 0.8, cases: 12 } }),
      best_of: {
        agent: 'sec',
        reason: 'it is complete',
        scores: [
          { agent: 'test', score: 6 },
          { agent: 'sec', score: 9 },
        ],
      },
      decision: { collaborated: true, reason: 'the task is long' },
      metadata: {
        saved: { agents: ['d', 'e'], calls: 2, why: 'beta', probability: 0.97 },
        problems: ['the coordinator failed: no luck'],
      },
    }
    expect(agreementLines(full, plainStyle(120)).slice(-7)).toEqual([
      'agreement 67 % of 3 voices · consensus · by weight 75 % · kappa -0.33 · compared by meaning',
      'so much agreement was right in 80 % of 12 earlier cases',
      'no embedder',
      'best: sec (of 10: sec 9, test 6): it is complete',
      'more than one was asked: the task is long',
      'saved 2 calls: the outcome was likely enough (97 %); not asked: d, e',
      'problem: the coordinator failed: no luck',
    ])
  })

  test('L30 parts of divided work are no opinions about it: they are shown as parts', () => {
    const contributions = [
      spoken('lead', { role: 'coordinator', recommendation: null, confidence: null }),
      spoken('backend', { subtask: 'Design the API', recommendation: 'Six routes' }),
      spoken('frontend', { subtask: 'Plan the pages', recommendation: null, status: 'failed', error: failed }),
      spoken('infra', { subtask: 'Say where it runs', status: 'partial', confidence: null }),
    ]
    expect(agreementLines({ ...review, contributions }, plainStyle(60))).toEqual([
      'who did what',
      '✓ backend 80 %  Design the API',
      '  Six routes',
      '✗ frontend 80 %  Plan the pages',
      '  model_failed: no luck',
      '◐ infra  Say where it runs',
      '  approve',
    ])
  })

  test('CO95 the answer that an evaluator chose is what is marked, and not what most say; equal scores are a TIE', () => {
    const scores = [
      { agent: 'quality', score: 9 },
      { agent: 'sec', score: 9 },
    ]
    const best_of = { agent: 'quality', reason: 'clear', scores, tied: ['quality', 'sec'] }
    const lines = agreementLines({ ...review, best_of }, plainStyle(80))
    expect(lines.find((line) => line.startsWith('✓'))).toMatch(/25 % {2}approve$/)
    expect(lines[2]).toMatch(/dissent: sec 95 %, test 85 %$/)
    expect(lines.at(-1)).toBe('best: quality (of 10: quality 9, sec 9, TIE of quality and sec): clear')
  })

  test('CO96 where parts were voted on, the picture has the parts and who stands where', () => {
    const contributions = [
      spoken('lead', { role: 'coordinator', recommendation: null, confidence: null }),
      ...['sec', 'quality', 'test'].map((name) => spoken(name, { subtask: `part of ${name}` })),
    ]
    const vote = { strategy: 'weighted', winner: 'Merge it after the tokens expire', tie: false, reason: 'highest' }
    const lines = agreementLines({ ...review, contributions, vote }, plainStyle(80))
    expect(lines[0]).toBe('who did what')
    expect(lines).toContain('who stands where')
    expect(lines.find((line) => line.startsWith('✓ █'))).toMatch(/75 %/)
    expect(lines.at(-1)).toMatch(/^agreement 67 % of 3 voices/)
    expect(lines.join('\n')).not.toContain('no recommendation: lead')
  })

  test('CO97 one whose role is called coordinator is shown like any other; whoever divided the work only when it failed', () => {
    const silent = { role: 'coordinator', recommendation: null, response: '', status: 'failed', error: failed }
    const parallel = {
      ...review,
      contributions: [spoken('sec'), spoken('boss', silent)],
      metadata: { mode: 'parallel' },
    }
    expect(agreementLines(parallel, plainStyle(80))).toContain('not heard: boss, model_failed: no luck')
    const alone = agreementLines({ contributions: [spoken('boss', silent)] }, plainStyle(80))
    expect(alone).toEqual(['not heard: boss, model_failed: no luck'])
    const plan = spoken('boss', { role: 'coordinator', recommendation: null })
    const whole = { ...review, contributions: [plan], metadata: { mode: 'hierarchical' } }
    expect(agreementLines(whole, plainStyle(80)).join('\n')).not.toContain('boss')
  })

  test('CO98 nothing in it turns the direction of the words', () => {
    const turned = '\u202eevorppa\u202c \u2066x\u2069'
    const clusters = [{ recommendation: turned, agents: ['sec'], score: 1, share: 1 }]
    const text = agreementLines({ ...review, consensus: consensus({ clusters }) }, plainStyle(80)).join('\n')
    expect(text).toContain('evorppa x')
    expect(stripControlCharacters(turned)).toBe('evorppa x')
  })

  test('L30 where all failed, or nobody recommended anything, that is what is said', () => {
    const silent = { recommendation: null, confidence: null }
    const none = agreementLines(
      { contributions: [spoken('a', { ...silent, response: '', status: 'failed', error: failed })] },
      plainStyle(60),
    )
    expect(none).toEqual(['not heard: a, model_failed: no luck'])
    const prose = consensus({ clusters: [], agreement_score: null, consensus_score: null, minority_report: [] })
    expect(
      agreementLines({ ...review, contributions: [spoken('a', silent)], consensus: prose }, plainStyle(80)),
    ).toEqual(['no recommendation: a', 'agreement unknown: nobody gave a recommendation that can be counted'])
  })

  test('CO97 one voice agrees with nobody, and that is said', () => {
    const clusters = [{ recommendation: 'approve', agents: ['sec'], score: 0.8, share: 1 }]
    const alone = consensus({ clusters, agreement_score: null, has_consensus: false, minority_report: [] })
    const lines = agreementLines({ ...review, contributions: [spoken('sec')], consensus: alone }, plainStyle(80))
    expect(lines.at(-1)).toBe('agreement unknown: only one gave a recommendation that can be counted')
  })

  test('L22 L31 whatever models write, no line is wider than the place or steers it', () => {
    const words = fc.string({ unit: 'grapheme', maxLength: 60 })
    const names = fc.uniqueArray(fc.oneof(words, fc.constant('設計者\u001b[2J')), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(names, words, fc.integer({ min: 24, max: 130 }), (agents, recommendation, width) => {
        const contributions = agents.map((agent) => spoken(agent, { recommendation }))
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
          // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there.
          expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
        }
      }),
    )
  })

  test('L30 other outputs have no picture', () => {
    for (const output of [null, 'text', { response: 'x' }, { contributions: 'x' }, { contributions: [{ agent: 1 }] }]) {
      expect(agreementLines(output, plainStyle(80))).toEqual([])
    }
  })
})

describe('the text of a result', () => {
  test('L32 is the answer of a collaboration, and nothing where it has none', () => {
    expect(formatRunOutput(review)).toBe('Merge it later.')
    expect(formatRunOutput({ contributions: [] })).toBe('')
  })

  test('L34 says what was noted of an earlier run', () => {
    const noted = {
      of_run: 'r_1',
      correct: false,
      agreement_score: 0.667,
      voices: [
        { agent: 'a', right: false },
        { agent: 'b', right: true },
      ],
    }
    expect(formatRunOutput(noted)).toBe('noted: r_1 was wrong at 67 % agreement\nright: b\nwrong: a')
    expect(outcomeText({ ...noted, correct: true, agreement_score: null, voices: [] })).toBe(
      'noted: r_1 was right\nnothing is known of its voices',
    )
    expect(outcomeText({ of_run: 'r_1' })).toBeUndefined()
  })
})
