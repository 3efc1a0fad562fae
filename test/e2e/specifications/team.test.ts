import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { eventData } from '../../support/manual-doubles.ts'
import { requestsFrom } from '../../support/team-harness.ts'
import { lastMessageText } from '../../support/test-troupe.ts'
import { createCliFixture } from '../cli-fixture.ts'
import type { ScriptedReplies } from '../scripted-team.ts'
import { replyRule } from '../team-script.ts'
import { exampleFile, runExample } from './team-example.ts'

/* Conditions (3.3), context variables (4.3), quality gates (5.3) and coordination (6.2) of the specification of teams. */

const LONG = 60_000

describe('3.3 condition types', () => {
  test('TM44 3.3 simple completion', async () => {
    const run = await runExample('3.3-simple-completion', {
      researcher: [{ text: 'Sources.', holds: ['research is complete'] }],
      writer: [{ text: 'Draft.', holds: ['draft is finished'] }],
      reviewer: [{ text: 'Read.', holds: ['review is done'] }],
      publisher: ['Out.'],
    })
    expect(run.route).toEqual(['researcher', 'writer', 'reviewer', 'publisher'])
  })

  test('TM44 3.3 quality-based', async () => {
    const run = await runExample('3.3-quality-based', {
      writer: [{ text: 'Draft.', holds: ['content meets quality standards'] }],
      reviewer: [{ text: 'Read.', holds: ['all requirements are satisfied'] }],
      auditor: [{ text: 'Audited.', holds: ['no errors found'] }],
      publisher: ['Out.'],
    })
    expect(run.route).toEqual(['writer', 'reviewer', 'auditor', 'publisher'])
  })

  test('TM44 3.3 context-aware: the speaker is asked for the variables in its conditions, typed by the comparisons', async () => {
    const run = await runExample('3.3-context-aware', {
      researcher: [{ text: 'Six.', holds: ['research batch complete'], sets: { source_count: 6, min_sources: 5 } }],
      analyst: [{ text: 'Sure.', holds: ['ready for review'], sets: { confidence_score: 0.9, threshold: 0.8 } }],
      reviewer: [{ text: 'Again.', holds: ['needs revision'], sets: { max_iterations: 3 } }],
      reviser: ['Revised.'],
    })
    expect(run.route).toEqual(['researcher', 'analyst', 'reviewer', 'reviser'])
    const prompts = ['researcher', 'analyst', 'reviewer', 'reviser'].map((agent) =>
      requestsFrom(run, agent).map((request) => /^Variables: .*$/m.exec(lastMessageText(request))?.[0]),
    )
    expect(prompts).toEqual([
      ['Variables: source_count (number), min_sources (number).'],
      ['Variables: confidence_score (number), threshold (number).'],
      // `iteration_count` is a system variable.
      ['Variables: max_iterations (number).'],
      [undefined],
    ])
  })

  test('TM44 3.3 context-aware: a value from the caller is not asked for, and decides', async () => {
    const replies = (source_count: number): ScriptedReplies => ({
      researcher: [{ text: 'Some.', holds: ['research batch complete'], sets: { source_count } }],
      analyst: ['Unsure.'],
    })
    const enough = await runExample('3.3-context-aware', replies(8), { min_sources: 8 })
    expect(enough.route).toEqual(['researcher', 'analyst'])
    expect(requestsFrom(enough, 'researcher').map(lastMessageText).join()).not.toContain('min_sources (number)')
    const few = await runExample('3.3-context-aware', replies(7), { min_sources: 8 })
    expect([few.route, few.result.status]).toEqual([['researcher'], 'waiting'])
  })

  test('TM44 3.3 multi-condition: a variable that is not answered leaves the rule unknown, and that is reported', async () => {
    const all = ['draft complete', 'all sections included']
    const counted = { text: 'Draft.', holds: all, sets: { word_count: 700, min_words: 500 } }
    const run = await runExample('3.3-multi-condition', { writer: [counted], reviewer: ['Read.'] })
    expect(run.route).toEqual(['writer', 'reviewer'])
    const uncounted = { text: 'Draft.', holds: all, sets: { min_words: 500 } }
    const missing = await runExample('3.3-multi-condition', { writer: [uncounted] })
    expect([missing.route, missing.result.status]).toEqual([['writer'], 'waiting'])
    const [handoff] = eventData(missing.events, 'team:handoff')
    expect(handoff?.problems).toEqual([
      "the answer does not set 'word_count' (number): conditions with it stay unknown",
    ])
    expect(handoff?.explanation.rules[0]).toMatchObject({ holds: 'unknown' })
    const wrongType = { text: 'Draft.', holds: all, sets: { word_count: 'many', min_words: 500 } }
    const mistyped = await runExample('3.3-multi-condition', { writer: [wrongType] })
    expect(mistyped.route).toEqual(['writer'])
    expect(eventData(mistyped.events, 'team:handoff')[0]?.problems).toContainEqual(
      expect.stringContaining("'word_count' is a number, not the string many"),
    )
  })
})

test('TM44 4.3 context variables: configured values are compared with what the agent answers', async () => {
  const found = (source_count: number) => ({
    text: `${source_count}.`,
    holds: ['research complete'],
    sets: { source_count },
  })
  const run = await runExample('4.3-context-variables', { researcher: [found(4), found(5)], writer: ['Written.'] })
  expect([run.route, run.result.status]).toEqual([['researcher'], 'waiting'])
  const second = await run.answer('Find one more.')
  expect(second.route).toEqual(['researcher', 'researcher', 'writer'])
  expect(requestsFrom(second, 'researcher').map(lastMessageText).join()).not.toContain('min_sources')
})

test('TM44 5.3 quality gates: revisions until the score is reached, or until the limit', async () => {
  const draft = { text: 'Draft.', holds: ['draft complete'], sets: { word_count: 900, min_words: 500 } }
  const score = (quality_score: number) => ({
    text: `${quality_score}.`,
    sets: { quality_score, min_quality: 0.8, max_revisions: 2 },
  })
  const good = await runExample('5.3-quality-gates', {
    writer: [draft, { ...draft, text: 'Draft 2.' }],
    reviewer: [score(0.5), score(0.9)],
    publisher: ['Out.'],
  })
  expect(good.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'publisher'])
  const drafts = [1, 2, 3].map((number) => ({ ...draft, text: `Draft ${number}.` }))
  const bad = await runExample('5.3-quality-gates', { writer: drafts, reviewer: [score(0.5), score(0.6), score(0.7)] })
  expect(bad.route).toEqual(['writer', 'reviewer', 'writer', 'reviewer', 'writer', 'reviewer'])
  expect(bad.result.status).toBe('waiting')
})

describe('6.2 collaboration coordination', () => {
  test('TM45 6.2 synchronization points: both researchers work before the synthesizer', async () => {
    const run = await runExample('6.2-synchronization-points', {
      researcher_a: [{ text: 'A.', holds: ['research_a complete'] }],
      researcher_b: [{ text: 'B.', holds: ['research_a complete', 'research_b complete'] }],
      synthesizer: ['Both.'],
    })
    expect(run.route).toEqual(['researcher_a', 'researcher_b', 'synthesizer'])
    expect(eventData(run.events, 'team:handoff')[0]?.handoff_reason).toBe(
      'no rule holds yet; researcher_b waits for the same as researcher_a and has not worked',
    )
    const open = await runExample('6.2-synchronization-points', {
      researcher_a: [{ text: 'A.', holds: ['research_a complete'] }],
      researcher_b: [{ text: 'Not done.', holds: ['research_a complete'] }],
    })
    expect([open.route, open.result.status]).toEqual([['researcher_a', 'researcher_b'], 'waiting'])
  })

  test('TM44 6.2 dependency management: a fact that nobody sets is asked of the speaker as a boolean', async () => {
    const replies = (requirements_complete: boolean): ScriptedReplies => ({
      requirements_analyst: [{ text: 'Wanted.', holds: ['requirements complete'] }],
      architect: [{ text: 'Designed.', holds: ['architecture approved'], sets: { requirements_complete } }],
      developer: ['Built.'],
    })
    const complete = await runExample('6.2-dependency-management', replies(true))
    expect(complete.route).toEqual(['requirements_analyst', 'architect', 'developer'])
    const incomplete = await runExample('6.2-dependency-management', replies(false))
    expect(incomplete.route).toEqual(['requirements_analyst', 'architect'])
  })
})

describe('on the command line', () => {
  test('TM44 5.3 quality gates', { timeout: LONG }, async () => {
    const cli = await createCliFixture()
    await cli.write('gates.yaml', await readFile(exampleFile('5.3-quality-gates'), 'utf8'))
    const model = await cli.script('s.json', [
      replyRule('writer', 'Draft.', { holds: [true], sets: { word_count: 900 } }),
      replyRule('reviewer', 'Good.', { sets: { quality_score: 0.9, max_revisions: 2 } }),
      replyRule('publisher', 'It is out.'),
    ])
    const run = ['run', 'team', 'Write it.', '--team', 'gates.yaml', '--model', model, '--no-tools']
    const values = ['--set', 'min_words=500', '--set', 'min_quality=0.8']
    const out = await cli.troupe(...run, ...values)
    expect(out).toMatchObject({ code: 3, out: 'It is out.\n' })
    expect(out.err).toMatch(/route: writer → reviewer → publisher/)
    const checked = await cli.troupe('team', 'check', 'gates.yaml')
    expect(checked.code).toBe(0)
    expect(checked.out).toMatch(/gates\.yaml:10:53\s+nobody sets 'min_words', so writer chooses its value/)
    const wrong = await cli.troupe(...run, '--set', 'min_words=many')
    expect(wrong).toMatchObject({ code: 2 })
    expect(wrong.err).toMatch(/'min_words' must be a number/)
  })

  test('TM45 6.2 synchronization points', { timeout: LONG }, async () => {
    const cli = await createCliFixture()
    await cli.write('sync.yaml', await readFile(exampleFile('6.2-synchronization-points'), 'utf8'))
    const model = await cli.script('s.json', [
      replyRule('researcher_a', 'A.', { holds: [true, false] }),
      replyRule('researcher_b', 'B.', { holds: [true, true] }),
      replyRule('synthesizer', 'Both.'),
    ])
    const run = await cli.troupe('run', 'team', 'Go.', '--team', 'sync.yaml', '--model', model, '--no-tools')
    expect(run).toMatchObject({ code: 3, out: 'Both.\n' })
    expect(run.err).toMatch(/route: researcher_a → researcher_b → synthesizer/)
    const explained = await cli.troupe(
      'team',
      'explain',
      'sync.yaml',
      '--from',
      'researcher_a',
      '--deny',
      'research_b complete',
    )
    expect(explained.out).toMatch(/researcher_b waits for the same as researcher_a/)
  })
})
