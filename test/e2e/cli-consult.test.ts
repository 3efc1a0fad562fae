import { expect, test } from 'vitest'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'

/* `troupe run consult` as a newcomer uses it. */

const QUESTION = 'What does POST /users return on a conflict?'
const decision = { needed: 'the API', agents: ['backend_developer'], reason: 'api_clarification', confidence: 0.9 }
const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

async function createFixture(): Promise<CliFixture & { consult(...argv: string[]): ReturnType<CliFixture['troupe']> }> {
  const cli = await createCliFixture()
  const script = await cli.script('script.json', [
    { when: { agent: 'orchestrator' }, reply: { object: { ...decision, rationale: 'It owns the API.' } } },
    { when: { agent: 'backend_developer' }, reply: { object: { answer: '409 with the id', confidence: 0.9 } } },
  ])
  await cli.write('troupe.config.json', { embedder: false })
  const options = ['--model', script, '--trust-project']
  return { ...cli, consult: (...argv) => cli.troupe('run', 'consult', ...options, ...argv) }
}

test('CS73 a question is answered, followed up and rated on the command line, and shows in the metrics', async () => {
  const { consult, troupe } = await createFixture()
  const asked = await consult('--as', 'frontend_developer', QUESTION)
  expect(asked).toMatchObject({ code: 0, out: expect.stringContaining('409 with the id') })
  expect(oneLine(asked.err)).toMatch(
    /asked by: frontend_developer · specialist: backend_developer · reason: api clarification · status: resolved/,
  )
  const [, id = ''] = /collaboration_id:\s+([0-9a-f-]{36})/.exec(asked.err) ?? []
  const again = await consult('--collaboration-id', id, 'Also in version 2?')
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining('409 with the id') })
  const rated = await troupe('run', 'rate_consultation', '--collaboration-id', id, '--rating', '4', '--trust-project')
  expect(rated.code).toBe(0)
  const metrics = await troupe('metrics', '--json', '--trust-project')
  const figures = { consultations: 1, success_rate: 1, exchanges: 2, rating: 4 }
  expect(JSON.parse(metrics.out).reports[0].total.figures).toMatchObject(figures)
  const found = await troupe('knowledge', 'search', '--kind', 'agent_collaboration', QUESTION, '--trust-project')
  expect(oneLine(found.out)).toMatch(
    new RegExp(`${id}.*rated 4 of 5.*${QUESTION.replace('?', '\\?')} → 409 with the id`),
  )
  expect(oneLine(found.err)).toContain('compared by words, not by meaning')
})

test('CS70 wrong input on the command line says what to do', async () => {
  const { consult } = await createFixture()
  const cases: [string[], string][] = [
    [['x'.repeat(100_000)], '`question` has 100,000 characters; the maximum is 20,000'],
    [['--as', 'frontend_develper', QUESTION], "no agent 'frontend_develper'; known: frontend_developer"],
    [['--collaboration-id', 'nope', QUESTION], "`collaboration_id` is unknown: 'nope'"],
  ]
  const refusals = await Promise.all(cases.map(([argv]) => consult(...argv)))
  for (const [index, { code, err }] of refusals.entries()) {
    expect([1, 2]).toContain(code)
    expect(oneLine(err)).toContain(cases[index]?.[1])
    expect(oneLine(err)).toContain('hint: ')
  }
})
