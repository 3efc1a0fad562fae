import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { answerJson, asker, consultCall } from '../../../test/support/consult-replies.ts'
import { consultResult, createConsultTroupe } from '../../../test/support/consultation.ts'
import { parseValue } from '../../schema/schema.ts'
import { createStatements, updateStatement } from '../../store/sqlite/pattern-table-sql.ts'
import { openSqlite } from '../../store/sqlite.ts'
import type { Store } from '../../store/store.ts'
import { changesFrom } from '../../store/tables/row-changes.ts'
import type { RunWriter } from '../../testing/store/store-harness.ts'
import { createLeasedRun } from '../../testing/store/store-harness.ts'
import type { ConsultEventOf } from './events.ts'
import { consultEvents } from './events.ts'
import { consultTables } from './tables.ts'

let folder = ''
let path = ''
let store: Store
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-consult-tables-'))
  path = join(folder, 'store.db')
  store = await openSqlite(path)
  await store.keepTables([{ pattern: 'consult', projection: consultTables }])
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

/** The rows that another process reads with plain SQL. */
function sql(query: string): Record<string, unknown>[] {
  const code = `const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(process.argv[1], { readOnly: true })
    process.stdout.write(JSON.stringify(db.prepare(process.argv[2]).all()))`
  return JSON.parse(execFileSync(process.execPath, ['--no-warnings', '-e', code, path, query], { encoding: 'utf8' }))
}

type EventName = keyof typeof consultEvents
type Data<T extends EventName> = Omit<ConsultEventOf<T>['data'], 'key' | 'collaboration_id'>

/** Emits an event as the pattern does: data that does not match the schema is an error of the test. */
async function emit<T extends EventName>(writer: RunWriter, type: T, data: Data<T>, id = 'c1'): Promise<number> {
  const event = { collaboration_id: id, ...data }
  parseValue(consultEvents[type], event)
  const { at } = await writer.append(type as never, { ...event, key: `${type}-${writer.head}` } as never)
  return at
}

const request: Data<'consult:request'> = {
  request_type: 'agent_consultation',
  requesting_agent: 'frontend_developer',
  question: 'Which fields has the User model?',
  context: { current_task: 'Build the profile page' },
  urgency: 'high',
}

const routed: Data<'consult:routed'> = {
  agent: 'backend_developer',
  consultation_reason: 'model_data',
  rationale: 'owns the models',
  method: 'model',
  hint: 'none',
  session_id: 's1',
  tokens: 120,
  cost_usd: 0.002,
}

const question: Data<'consult:exchange'> = {
  exchange_number: 1,
  from_agent: 'frontend_developer',
  to_agent: 'backend_developer',
  message_type: 'question',
  message_content: { question: 'Which fields has the User model?' },
  context_provided: { tokens: 300, items: [{ source: 'file', tokens: 300 }] },
  tokens: {},
  cost_usd: null,
}

const answer: Data<'consult:exchange'> = {
  ...{ exchange_number: 1, from_agent: 'backend_developer', to_agent: 'frontend_developer' },
  message_type: 'response',
  message_content: { answer: 'id, username, email' },
  tokens: { request: 400, response: 50, delivery: 5 },
  cost_usd: 0.01,
}

const resolved: Data<'consult:resolved'> = { outcome_type: 'successful', resolution_summary: 'id, username, email' }

function collaboration(id = 'c1') {
  return sql(`SELECT * FROM agent_collaborations WHERE id = '${id}'`)[0]
}

test('CS150 the row of a consultation follows its events from pending to resolved', async () => {
  const writer = await createLeasedRun(store, 'r1', 'shop')
  const created_at = await emit(writer, 'consult:request', request)
  const basics = { requesting_agent: 'frontend_developer', urgency: 'high', question: request.question }
  expect(collaboration()).toMatchObject({
    ...{ ...basics, project_id: 'shop', run_id: 'r1', status: 'pending', created_at },
    ...{ specialist_agent: null, consultation_reason: null, completed_at: null, escalated: 0, escalation_reason: null },
  })
  expect(JSON.parse(String(collaboration()?.request))).toMatchObject({ ...request, collaboration_id: 'c1' })
  await emit(writer, 'consult:routed', routed)
  expect(collaboration()).toMatchObject({
    ...{ status: 'routed', specialist_agent: 'backend_developer', consultation_reason: 'model_data', session_id: 's1' },
  })
  await emit(writer, 'consult:exchange', question)
  expect(collaboration()?.status).toBe('in_progress')
  await emit(writer, 'consult:exchange', answer)
  const response = { consulted_agent: 'backend_developer', response: { answer: 'id' }, suggested_next_steps: [] }
  await emit(writer, 'consult:response', { ...response, source: 'specialist' })
  expect(collaboration()?.status).toBe('responded')
  const completed_at = await emit(writer, 'consult:resolved', resolved)
  expect(collaboration()).toMatchObject({ status: 'resolved', completed_at, exchanges: 1 })
})

test('CS150 a consultation is escalated, fails or times out', async () => {
  const writer = await createLeasedRun(store, 'r1')
  for (const id of ['c1', 'c2', 'c3']) await emit(writer, 'consult:request', request, id)
  await emit(writer, 'consult:escalated', { reason: 'loop', root_cause: 'asked three times' })
  const error = { code: 'model_failed', message: 'no answer' } as Data<'consult:failed'>['error']
  const failed_at = await emit(writer, 'consult:failed', { error }, 'c2')
  await emit(writer, 'consult:timeout', { agent: 'backend_developer', deadline_ms: 5, partial: '' }, 'c3')
  expect(collaboration()).toMatchObject({
    ...{ status: 'escalated', escalated: 1, escalation_reason: 'loop: asked three times', completed_at: null },
  })
  expect(collaboration('c2')).toMatchObject({ status: 'failed', completed_at: failed_at, escalated: 0 })
  expect(collaboration('c3')?.status).toBe('timeout')
  await emit(writer, 'consult:resolved', { ...resolved, outcome_type: 'escalated' })
  expect(collaboration()).toMatchObject({ status: 'resolved', escalated: 1 })
})

test('CS151 each message is a row with its content, context, tokens and cost', async () => {
  const writer = await createLeasedRun(store, 'r1')
  await emit(writer, 'consult:request', request)
  await emit(writer, 'consult:exchange', question)
  const created_at = await emit(writer, 'consult:exchange', answer)
  await emit(writer, 'consult:exchange', {
    ...answer,
    exchange_number: 2,
    message_type: 'clarification',
    cost_usd: null,
  })
  const rows = sql('SELECT * FROM collaboration_exchanges ORDER BY created_at')
  expect(rows.map(({ message_type }) => message_type)).toEqual(['question', 'response', 'clarification'])
  expect(new Set(rows.map(({ id }) => id)).size).toBe(3)
  expect(JSON.parse(String(rows[0]?.context_provided))).toEqual(question.context_provided)
  expect(rows[1]).toMatchObject({
    ...{ collaboration_id: 'c1', exchange_number: 1, from_agent: 'backend_developer', to_agent: 'frontend_developer' },
    ...{
      message_content: '{"answer":"id, username, email"}',
      context_provided: null,
      tokens_used: 455,
      cost_usd: 0.01,
    },
    created_at,
  })
  expect(rows[2]).toMatchObject({ exchange_number: 2, cost_usd: null })
})

test('CS152 an outcome gets the rating and the lessons of the asker, also from a later run', async () => {
  const writer = await createLeasedRun(store, 'r1')
  await emit(writer, 'consult:request', request)
  const created_at = await emit(writer, 'consult:resolved', resolved)
  const later = await createLeasedRun(store, 'r2')
  const rating = { success_rating: 4, rated_by: 'frontend_developer' }
  await emit(later, 'consult:rated', { ...rating, lessons_learned: 'read models/user.py first' })
  expect(sql('SELECT * FROM collaboration_outcomes')).toMatchObject([
    {
      ...{ collaboration_id: 'c1', outcome_type: 'successful', resolution_summary: 'id, username, email', created_at },
      ...{ success_rating: 4, lessons_learned: 'read models/user.py first', run_id: 'r1' },
    },
  ])
  await emit(later, 'consult:rated', { ...rating, success_rating: 2 })
  expect(sql('SELECT success_rating FROM collaboration_outcomes')).toEqual([{ success_rating: 2 }])
})

test('CS153 each loop is a row with its evidence and its resolution', async () => {
  const writer = await createLeasedRun(store, 'r1')
  await emit(writer, 'consult:request', request)
  const loop = { loop_type: 'IDENTICAL_LOOP', evidence: [{ question: 'same' }], resolution: 'continued' } as const
  const detected_at = await emit(writer, 'consult:loop', { ...loop, notes: 'asked twice' })
  await emit(writer, 'consult:loop', { ...loop, resolution: 'escalated' })
  expect(sql('SELECT * FROM collaboration_loops ORDER BY detected_at')).toMatchObject([
    {
      ...{ collaboration_id: 'c1', loop_type: 'IDENTICAL_LOOP', loop_evidence: '[{"question":"same"}]', detected_at },
      ...{ resolution: 'continued', resolution_notes: 'asked twice' },
    },
    { resolution: 'escalated', resolution_notes: null },
  ])
})

test('CS154 tokens are added up by phase, over re-routing and exchanges, with the recorded cost', async () => {
  const writer = await createLeasedRun(store, 'r1')
  await emit(writer, 'consult:request', request)
  await emit(writer, 'consult:routed', routed)
  await emit(writer, 'consult:routed', { ...routed, agent: 'security_expert', tokens: 80, cost_usd: null })
  await emit(writer, 'consult:exchange', question)
  await emit(writer, 'consult:exchange', answer)
  await emit(writer, 'consult:exchange', { ...answer, exchange_number: 2 })
  expect(collaboration()).toMatchObject({
    ...{ request_tokens: 800, routing_tokens: 200, response_tokens: 100, delivery_tokens: 10, exchanges: 2 },
    ...{ specialist_agent: 'security_expert', unpriced_tokens: 80 },
  })
  expect(Number(collaboration()?.cost_usd)).toBeCloseTo(0.022, 10)
})

test('CS155 indexes serve the queries by project, status, pair and consultation, and for what is at work', async () => {
  const plan = (query: string) => sql(`EXPLAIN QUERY PLAN ${query}`).map(({ detail }) => detail)
  const uses = (query: string, index: string) => expect(plan(query).join()).toContain(`INDEX ${index} (`)
  uses("SELECT * FROM agent_collaborations WHERE project_id = 'a'", 'idx_collaborations_project')
  uses("SELECT * FROM agent_collaborations WHERE status = 'pending'", 'idx_collaborations_status')
  uses(
    "SELECT * FROM agent_collaborations WHERE requesting_agent = 'a' AND specialist_agent = 'b'",
    'idx_collaborations_agents',
  )
  uses("SELECT * FROM collaboration_exchanges WHERE collaboration_id = 'a'", 'idx_exchanges_collaboration')
  uses("SELECT * FROM collaboration_loops WHERE collaboration_id = 'a'", 'idx_loops_collaboration')
  uses("SELECT * FROM collaboration_exchanges WHERE open IN (1) AND to_agent IN ('a')", 'idx_exchanges_open')
})

test('CS155 ST66 no event of a consultation, and no end of a run, reads all rows of the project', () => {
  const database = new DatabaseSync(':memory:')
  for (const statement of createStatements(consultTables)) database.exec(statement)
  const plan = (type: string, data: object) => {
    const event = { run_id: 'r', seq: 9, at: 1, type, data: { key: 'k', collaboration_id: 'c', ...data } }
    const result = changesFrom(consultTables, event as never, 'default')
    const updates = 'changes' in result ? result.changes.filter((change) => change.kind === 'update') : []
    return updates.map((update) => {
      const { sql: statement } = updateStatement(update, { run_id: 'r', project: 'default' } as never)
      return database.prepare(`EXPLAIN QUERY PLAN ${statement}`).all()[0]?.detail
    })
  }
  const byId = 'SEARCH changed USING INDEX sqlite_autoindex_agent_collaborations_1 (id=?)'
  const open = 'SEARCH changed USING INDEX idx_exchanges_open (open=?)'
  expect(plan('consult:timeout', {})).toEqual([byId, open])
  const active = 'SEARCH changed USING INDEX idx_collaborations_active (active_run=?)'
  expect(plan('run:end', { status: 'completed', error: null })).toEqual([active, open])
  database.close()
})

describe('a consultation of real agents', () => {
  test('CS151 CS152 CS154 is read with SQL from another process: context, answer, rating, tokens and cost', async () => {
    const real = join(folder, 'real.db')
    const replies = {
      asking: asker(
        () => [consultCall('Which fields has the User model?')],
        (request) => {
          const { collaboration_id } = consultResult(request)
          return [{ name: 'rate_consultation', input: { collaboration_id, rating: 5, lessons_learned: 'ask early' } }]
        },
      ),
      answering: answerJson('id, username and email'),
    }
    const { task, troupe } = await createConsultTroupe(replies, { store: real, project: 'shop' })
    const run = await task('asking', 'Build the profile page.')
    expect(run.status).toBe('completed')
    path = real
    const [row] = sql('SELECT * FROM agent_collaborations')
    expect(row).toMatchObject({
      ...{ project_id: 'shop', run_id: run.run_id, requesting_agent: 'asking', specialist_agent: 'answering' },
      ...{ status: 'resolved', escalated: 0, exchanges: 1, consultation_reason: 'data question' },
    })
    for (const phase of ['request_tokens', 'routing_tokens', 'response_tokens']) expect(row?.[phase]).toBeGreaterThan(0)
    const exchanges = sql('SELECT * FROM collaboration_exchanges ORDER BY rowid')
    expect(exchanges.map(({ from_agent, message_type }) => [from_agent, message_type])).toEqual([
      ['asking', 'question'],
      ['answering', 'response'],
    ])
    expect(JSON.parse(String(exchanges[0]?.context_provided))).toMatchObject({ tokens: expect.any(Number) })
    expect(String(exchanges[1]?.message_content)).toContain('id, username and email')
    expect(sql('SELECT * FROM collaboration_outcomes')).toMatchObject([
      { outcome_type: 'successful', success_rating: 5, lessons_learned: 'ask early', collaboration_id: row?.id },
    ])
    // The model of the test has no price.
    const phases = ['request_tokens', 'routing_tokens', 'response_tokens', 'delivery_tokens'] as const
    expect(row?.unpriced_tokens).toBe(phases.reduce((sum, phase) => sum + Number(row?.[phase]), 0))
    expect(await troupe.verify()).toMatchObject({ findings: [] })
    const [report] = await troupe.reports({ pattern: 'consult' })
    expect(report?.groups).toMatchObject([
      { group: 'asking → answering', figures: { consultations: 1, success_rate: 1, rating: 5, cost_usd: null } },
    ])
    await troupe.close()
  })

  test('CS150 a fork goes on with its own rows of a consultation that waits for a person', async () => {
    const options = { consult: { autonomy: 'low' as const } }
    const { troupe } = await createConsultTroupe({ answering: answerJson('id and email') }, options)
    const { run_id, status } = await troupe.run('consult', { question: 'Which fields has the User model?' })
    expect(status).toBe('waiting')
    const asked = (await troupe.events(run_id).all()).find(({ type }) => type === 'gate:open')
    const fork = await troupe.fork(run_id, asked?.seq ?? 0)
    const [gate] = (await fork.result).gates
    const { output } = await (await troupe.answer(gate?.gate_id ?? '', 'only the email')).result
    const rowsOf = (run: string) => troupe.query({ table: 'agent_collaborations', where: { run_id: run } }).all()
    const [original, ...others] = await rowsOf(run_id)
    const [copy] = await rowsOf(fork.run_id)
    expect(others).toEqual([])
    expect(original).toMatchObject({ status: 'escalated', completed_at: null, inherited: 0 })
    expect(copy).toMatchObject({ id: original?.id, status: 'resolved', escalated: 1, inherited: 1 })
    expect(output).toMatchObject({ collaboration_id: original?.id, status: 'resolved' })
    expect(await troupe.query({ table: 'agent_collaborations' }).all()).toHaveLength(1)
    await troupe.close()
  })
})
