import { describe, expect, test } from 'vitest'
import { eventData } from '../../support/manual-doubles.ts'
import type { ScriptedReplies } from '../scripted-team.ts'
import { runExample } from './team-example.ts'

/* Sections 5 to 7 of the specification of teams; quality gates (5.3) and coordination (6.2) are in team.test.ts. */

describe('5 advanced collaboration patterns', () => {
  test('TM1 5.1 multi-stage workflows: three phases with one revision', async () => {
    const draft = { text: 'Draft.', holds: ['draft complete'] }
    const run = await runExample('5.1-multi-stage-workflows', {
      coordinator: [{ text: 'Research first.', holds: ['research phase needed'] }],
      researcher: [{ text: 'Data.', holds: ['raw data collected', 'needs analysis'] }],
      analyst: [{ text: 'Insights.', holds: ['analysis complete', 'insights ready'] }],
      writer: [draft, { ...draft, text: 'Draft 2.' }],
      reviewer: [
        { text: 'Revise it.', holds: ['revisions needed'] },
        { text: 'Good.', holds: ['content approved'] },
      ],
      publisher: ['Out.'],
    })
    expect(run.route).toEqual([
      ...['coordinator', 'researcher', 'analyst'],
      ...['writer', 'reviewer', 'writer', 'reviewer', 'publisher'],
    ])
    expect(run.result.gates[0]?.question).toBe('Out.')
  })

  test.each([
    ['analysis shows simple topic', 'simple_writer'],
    ['analysis shows complex topic requiring expertise', 'expert_writer'],
    ['insufficient data for analysis', 'researcher'],
  ])('TM4 5.2 conditional branching: %s → %s', async (condition, target) => {
    const run = await runExample('5.2-conditional-branching', {
      analyzer: [{ text: 'Analysed.', holds: [condition] }],
      [target]: ['Done.'],
    })
    expect(run.route).toEqual(['analyzer', target])
    const [handoff] = eventData(run.events, 'team:handoff')
    expect(handoff).toMatchObject({ by: 'verdict', handoff_reason: expect.stringContaining(condition) })
  })
})

describe('6 work distribution', () => {
  test('TM8 6.1 load balancing: with equal loads the second writer works, as its rule has <=', async () => {
    const first = await runExample('6.1-load-balancing', {
      coordinator: [{ text: 'Write.', holds: ['writing needed'] }],
      writer_b: ['B.'],
    })
    expect(first.route).toEqual(['coordinator', 'writer_b'])
    const [handoff] = eventData(first.events, 'team:handoff')
    expect(handoff?.explanation.rules.map(({ to, holds }) => [to, holds])).toEqual([
      ['writer_a', false],
      ['writer_b', true],
    ])
  })

  test.each([
    ['topic requires technical expertise', 'technical_writer'],
    ['topic requires creative approach', 'creative_writer'],
  ])('TM4 6.1 expertise matching: %s → %s', async (condition, target) => {
    const run = await runExample('6.1-expertise-matching', {
      triager: [{ text: 'Sorted.', holds: [condition] }],
      [target]: ['Done.'],
    })
    expect(run.route).toEqual(['triager', target])
  })
})

describe('7 errors and quality', () => {
  test('TM15 7.1 error detection: a failed turn of any agent, or issues in its work, go to the handler', async () => {
    const failed = await runExample('7.1-error-detection', {
      writer: [{ text: '', fails: 'no network' }],
      error_handler: ['It was the network.'],
    })
    expect(failed.route).toEqual(['writer', 'error_handler'])
    expect(failed.handoffs[0]).toMatchObject({ by: 'exact' })
    const found = await runExample('7.1-error-detection', {
      writer: [{ text: 'Two gaps.', holds: ['quality issues found'] }],
      error_handler: ['Filled.'],
    })
    expect(found.route).toEqual(['writer', 'error_handler'])
    const clean = await runExample('7.1-error-detection', { writer: ['Clean.'] })
    expect(clean.route).toEqual(['writer'])
  })

  test('TM16 7.1 recovery strategies: without an earlier agent the retry is reported; a person intervenes', async () => {
    const retry = await runExample('7.1-recovery-strategies', {
      error_handler: [{ text: 'Resolved.', holds: ['error resolved', 'retry possible'] }],
    })
    expect([retry.route, retry.result.status]).toEqual([['error_handler'], 'waiting'])
    expect(JSON.stringify(eventData(retry.events, 'team:handoff'))).toContain('previous_agent')
    const escalated = await runExample('7.1-recovery-strategies', {
      error_handler: [{ text: 'Grant access.', holds: ['error requires human intervention'] }, 'Access is there.'],
    })
    expect(escalated.result.gates[0]).toMatchObject({ question: 'Grant access.', detail: { as: 'supervisor' } })
    const answered = await escalated.answer('Granted.')
    expect(answered.route).toEqual(['error_handler', 'supervisor', 'error_handler'])
  })

  describe('both blocks of 7.1 in one file', () => {
    const failing: ScriptedReplies = { writer: [{ text: '', fails: 'no network' }, 'Written.'] }

    test('TM16 7.1 recovery strategies: a resolved error goes back to the agent that failed', async () => {
      const run = await runExample('7.1-error-management', {
        ...failing,
        error_handler: [{ text: 'Resolved.', holds: ['error resolved', 'retry possible'] }],
      })
      expect(run.route).toEqual(['writer', 'error_handler', 'writer'])
      expect(run.result.gates[0]?.question).toBe('Written.')
    })

    test('TM17 7.1 recovery strategies: an error that needs a person is in the inbox', async () => {
      const run = await runExample('7.1-error-management', {
        ...failing,
        error_handler: [{ text: 'Grant access.', holds: ['error requires human intervention'] }],
      })
      expect(run.route).toEqual(['writer', 'error_handler', 'supervisor'])
      expect(run.result.gates[0]).toMatchObject({ detail: { kind: 'person', as: 'supervisor' } })
    })
  })

  test('TM1 7.2 continuous quality checks: the draft goes back until the standards are met', async () => {
    const draft = { text: 'Draft.', holds: ['draft complete'] }
    const run = await runExample('7.2-continuous-quality-checks', {
      writer: [draft, { ...draft, text: 'Revised.' }],
      quality_checker: [
        { text: 'Dead links.', holds: ['quality issues found'] },
        { text: 'Clean.', holds: ['quality standards met'] },
      ],
      reviewer: ['Readable.'],
    })
    expect(run.route).toEqual(['writer', 'quality_checker', 'writer', 'quality_checker', 'reviewer'])
  })
})
