import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { verifyJournal } from '../../src/audit/verify-journal.ts'
import type { RunResult, Troupe } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { missingAnswer } from '../../src/performers/model/missing-answer.ts'
import { wordEmbedder } from '../../src/testing/word-embedder.ts'
import type { CollaborateRunOutput } from '../support/collaboration.ts'
import { contributionJson } from '../support/collaboration.ts'
import { runToEnd } from '../support/test-troupe.ts'
import { createCliFixture } from './cli-fixture.ts'
import { loadModelAt, PROTOCOLS } from './provider-harness.ts'
import type { WrongAnswer } from './wrong-answers.ts'
import { startWrongServer, WRONG_ANSWERS } from './wrong-answers.ts'

interface Case {
  pattern: string
  input: object
  /** The most model requests it may cost, whatever the answers. */
  maxCalls: number
  /** Without it all answers are wrong, else those to requests whose output begins with `field`. */
  right?: { field: string | undefined; answers: readonly string[] }
}

const contribution = (recommendation: string) => contributionJson(recommendation, 0.8, { concerns: [], questions: [] })
const CONTRIBUTIONS = ['cache the reads in memory', 'memory cache the reads', 'store the reads'].map(contribution)
const member = (name: string) => ({ name, role: `${name} of the desk`, instructions: `You are the ${name}.` })

function collaboration(maxCalls: number, more: object, right?: Case['right']): Case {
  const agents = ['a', 'b', 'c'].map((name) => ({ name }))
  const input = { task: 'Should we add a cache?', agents, ...more }
  return { pattern: 'collaborate', input, maxCalls, ...(right ? { right } : undefined) }
}

function team(maxCalls: number, more: object, right?: Case['right']): Case {
  const agents = [member('writer'), member('reviewer'), member('editor')]
  const definition = { name: 'Desk', agents, after_work_behavior: 'terminate', ...more }
  const input = { message: 'Write a line.', team: definition }
  return { pattern: 'team', input, maxCalls, ...(right ? { right } : undefined) }
}

const handoff = (condition?: string) => ({
  handoffs: [{ from_agent: 'writer', to_agent: 'reviewer', ...(condition === undefined ? undefined : { condition }) }],
})
const vote = { synthesis: 'vote' }
const greeting = { type: 'object', properties: { greeting: { type: 'string' } }, required: ['greeting'] }

/** Each agent is asked at most twice. */
const CASES: Readonly<Record<string, Case>> = {
  task: { pattern: 'task', input: { agent: 'architect', instruction: 'Say hello.' }, maxCalls: 2 },
  'task with output': {
    pattern: 'task',
    input: { agent: 'architect', instruction: 'Say hello.', output: greeting },
    maxCalls: 2,
  },
  coordinator: collaboration(8, {}),
  merge: collaboration(6, { synthesis: 'merge' }),
  vote: collaboration(6, vote),
  'vote by category': collaboration(6, { ...vote, categories: ['yes', 'no'] }),
  'unanimous vote': collaboration(6, { ...vote, vote: { strategy: 'unanimous' } }),
  best_of: collaboration(8, { synthesis: 'best_of' }),
  auto: collaboration(8, { synthesis: 'auto' }),
  sequential: collaboration(8, { mode: 'sequential' }),
  hierarchical: collaboration(4, { mode: 'hierarchical' }),
  mediation: collaboration(12, { ...vote, on_conflict: 'mediate' }),
  'wrong coordinator': collaboration(5, {}, { field: undefined, answers: CONTRIBUTIONS }),
  'wrong evaluator': collaboration(5, { synthesis: 'best_of' }, { field: 'scores', answers: CONTRIBUTIONS }),
  'wrong judge': collaboration(5, vote, { field: 'pairs', answers: CONTRIBUTIONS }),
  team: team(4, handoff()),
  'team with a condition': team(6, handoff('the draft is complete')),
  'team with a variable': team(2, handoff('score >= 8')),
  'wrong router': team(4, handoff('the draft is complete'), { field: 'verdicts', answers: ['A fine draft.'] }),
  'consensus group': team(8, {
    groups: [{ name: 'panel', kind: 'consensus', members: ['reviewer', 'editor'] }],
    handoffs: [{ from_agent: 'writer', to_agent: 'panel' }],
  }),
}

/** A request quotes at most three contributions and its own answer: ten megabytes are never sent back. */
const MAX_REQUEST_CHARS = 4_000_000

const table: Record<string, Record<string, string>> = {}
afterAll(() => console.table(table))

function note(row: string, column: string, { calls }: { calls: number }, outcome: string): void {
  table[row] = { ...table[row], [column]: `${calls} ${outcome}` }
}

async function runWrong(troupe: Troupe, { pattern, input }: Case): Promise<RunResult> {
  const result = await runToEnd(troupe, pattern, input)
  expect(verifyJournal(await troupe.events(result.run_id).all())).toEqual([])
  return result
}

describe.each(Object.entries(CASES))('%s', (name, scenario) => {
  test.each(Object.keys(WRONG_ANSWERS) as WrongAnswer[])('U34 %s', async (kind) => {
    const server = await startWrongServer(WRONG_ANSWERS[kind], scenario.right)
    onTestFinished(server.close)
    const protocol = PROTOCOLS['OpenAI-compatible'] as NonNullable<(typeof PROTOCOLS)[string]>
    const model = await loadModelAt(protocol, server.url)
    const troupe = await createTroupe({ store: 'memory', model, embedder: wordEmbedder() })
    onTestFinished(() => troupe.close())
    const result = await runWrong(troupe, scenario)
    note(name, kind, server, `${result.status}/${result.stop_reason}`)
    expect(server.calls).toBeLessThanOrEqual(scenario.maxCalls)
    expect(server.largest).toBeLessThan(MAX_REQUEST_CHARS)
    if (result.status === 'completed' || result.status === 'partial')
      expectHonest(result, kind, scenario.right === undefined)
    else expect([result.status, result.error?.hint]).toEqual(['failed', expect.stringMatching(/\w/)])
  })
})

/** A completed run has an answer, and no winner, score or agreement that nobody gave. */
function expectHonest({ output }: RunResult, kind: WrongAnswer, allWrong: boolean): void {
  const {
    result,
    response,
    contributions,
    vote: outcome,
    best_of,
    consensus,
  } = output as CollaborateRunOutput & { response?: string }
  expect(missingAnswer(result ?? response ?? '')).toBeUndefined()
  expect(best_of).toBeUndefined()
  for (const { error, response: text } of contributions ?? []) if (!error) expect(missingAnswer(text)).toBeUndefined()
  if (!allWrong || !consensus) return
  const isReadable = kind === 'JSON in JSON'
  expect(consensus.agreement_score).toBe(isReadable ? 1 : null)
  if (outcome) expect(outcome.winner).toBe(isReadable ? 'yes' : null)
}

describe('chat', () => {
  test.each(Object.keys(WRONG_ANSWERS) as WrongAnswer[])('U34 %s', async (kind) => {
    const server = await startWrongServer(WRONG_ANSWERS[kind])
    onTestFinished(server.close)
    const cli = await createCliFixture()
    const env = { TROUPE_COMPATIBLE_BASE_URL: server.url, TROUPE_COMPATIBLE_API_KEY: 'k' }
    const options = ['--agent', 'architect', '--model', 'compatible/some-model', '--no-tools']
    const { code, out, err } = await cli.troupeWith({ env, stdin: 'Hello.\n' }, 'chat', ...options)
    note('chat', kind, server, `exit ${code}`)
    expect(server.calls).toBeLessThanOrEqual(2)
    if (code === 0) expect(missingAnswer(out.replace(/^architect: /, ''))).toBeUndefined()
    else expect([code, err]).toEqual([1, expect.stringMatching(/architect (gave|wrote)/)])
  })
})
