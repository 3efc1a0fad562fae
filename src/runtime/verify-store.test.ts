import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runCommand } from '../../test/support/command-run.ts'
import { agent, functionModel } from '../../test/support/test-troupe.ts'
import type { Troupe } from '../index.ts'
import { createTroupe, defineTool } from '../index.ts'
import type { VerifyFinding } from './verify-store.ts'

const LONG = 'a long text that is stored as a blob '.repeat(40)
let folder = ''
let sound = ''
/** A run that was interrupted after an action, and waits for a person. */
let waiting = ''
let acts = 0
let copies = 0

const ship = defineTool({
  name: 'Ship',
  description: 'Ships something.',
  input: z.object({ what: z.string() }),
  kind: 'act',
  category: 'action',
  execute: () => {
    acts += 1
    return { success: true, output: LONG }
  },
})

function open(store: string): Promise<Troupe> {
  const model = functionModel(({ messages }) => {
    const turn = messages.filter(({ role }) => role === 'assistant').length
    if (turn === 0) return { calls: [{ name: 'Ship', input: { what: 'parcel' } }] }
    if (turn === 1 && JSON.stringify(messages).includes('ask me'))
      return { calls: [{ name: 'ask_user', input: { question: 'Which one?' } }] }
    return { text: `done: ${LONG}` }
  })
  const agents = [agent('worker', { tools: ['Ship', 'ask_user'] })]
  return createTroupe({ store, model, agents, tools: [ship], permissions: { allow: ['Ship'] } })
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-verify-'))
  sound = join(folder, 'sound.db')
  const troupe = await open(sound)
  await troupe.run('task', { agent: 'worker', instruction: 'Ship the parcel.' }, { tags: ['post'] })
  waiting = (await troupe.run('task', { agent: 'worker', instruction: 'Ship it, then ask me.' })).run_id
  await troupe.close()
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A copy of the sound store after these statements. */
function damagedStore(sql: string): string {
  copies += 1
  const path = join(folder, `damaged-${copies}.db`)
  copyFileSync(sound, path)
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
  return path
}

async function findings(path: string, run_id?: string): Promise<VerifyFinding[]> {
  const troupe = await open(path)
  const report = await troupe.verify(run_id)
  await troupe.close()
  return report.findings
}

/** The check of the store by `troupe doctor`. */
async function doctorCheck(path: string): Promise<unknown> {
  const { code, out } = await runCommand(['doctor', '--store', path, '--json'])
  const { checks } = JSON.parse(out.join('\n')) as { checks: { name: string; status: string }[] }
  const store = checks.find(({ name }) => name === 'store')
  expect(code).toBe(store?.status === 'ok' ? 0 : 1)
  return store
}

const OF_WAITING = `run = (SELECT id FROM runs WHERE status = 'waiting')`

describe('verify', () => {
  test('Q10 a sound store has no findings, as a whole and run by run', async () => {
    const troupe = await open(sound)
    const fork = await troupe.fork(waiting, 5)
    await fork.result
    const { items: runs } = await troupe.runs()
    const report = await troupe.verify()
    expect(await doctorCheck(sound)).toMatchObject({ status: 'ok', message: expect.stringContaining('3 runs') })
    expect(report).toMatchObject({ location: sound, runs: 3, findings: [] })
    expect(report.events).toBe(runs.reduce((sum, { head }) => sum + head, 0))
    for (const { run_id, head } of runs)
      expect(await troupe.verify(run_id)).toMatchObject({ runs: 1, events: head, findings: [] })
    await expect(troupe.verify('r_unknown')).rejects.toMatchObject({ code: 'unknown_run' })
    await troupe.deleteRuns([fork.run_id])
    await troupe.close()
  })

  test.each([
    ['a missing event', `DELETE FROM events WHERE seq = 4 AND ${OF_WAITING}`, 'sequence', /event 4 is missing/],
    [
      'a missing end',
      `DELETE FROM events WHERE seq > 8 AND ${OF_WAITING}`,
      'sequence',
      /its last events, 9 to \d+, are missing/,
    ],
    [
      'a changed payload',
      `UPDATE events SET data = replace(data, 'parcel', 'pirate') WHERE type = 'tool:pre' AND ${OF_WAITING}`,
      'chain',
      /\(tool:pre\).* was changed/,
    ],
    [
      'a changed time',
      `UPDATE events SET at = at - 1 WHERE seq = 3 AND ${OF_WAITING}`,
      'chain',
      /event 3 .* was changed/,
    ],
    [
      'a changed type',
      `UPDATE events SET type = 'custom:x' WHERE seq = 3 AND ${OF_WAITING}`,
      'chain',
      /event 3 .* was changed/,
    ],
    [
      'an event of another session',
      `UPDATE events SET session = (SELECT min(id) FROM sessions) WHERE type = 'tool:pre' AND ${OF_WAITING}`,
      'chain',
      /was changed/,
    ],
    [
      'two events that changed places',
      `UPDATE events SET seq = -seq WHERE seq IN (5, 6) AND ${OF_WAITING}; UPDATE events SET seq = 11 + seq WHERE seq < 0`,
      'chain',
      /event 5 .* was changed/,
    ],
    [
      'an added event',
      `INSERT INTO events (run, seq, at, type, data) SELECT run, seq + 1, at, 'custom:x', '{}' FROM events WHERE ${OF_WAITING} ORDER BY seq DESC LIMIT 1; UPDATE runs SET head = head + 1 WHERE status = 'waiting'`,
      'chain',
      /has no hash/,
    ],
    [
      'data that is not JSON',
      `UPDATE events SET data = '{"x' WHERE seq = 4 AND ${OF_WAITING}`,
      'data',
      /event 4: the data is not JSON/,
    ],
    ['a missing value', `DELETE FROM blobs WHERE content LIKE '"a long%'`, 'blob', /event \d+: .* is missing/],
    [
      'a changed value',
      `UPDATE blobs SET content = '"x"' WHERE content LIKE '"a long%'`,
      'blob',
      /event \d+: .* has changed content/,
    ],
    [
      'a foreign value',
      `INSERT INTO blobs VALUES ('default', 'abcdefghijklmnopqrstuvwx', '"planted"')`,
      'blob',
      /is not from Troupe/,
    ],
    [
      'a changed status',
      `UPDATE runs SET status = 'completed' WHERE status = 'waiting'`,
      'row',
      /`status` is "completed", its journal gives "waiting"/,
    ],
    ['changed accounts', `UPDATE runs SET usage = '{}' WHERE status = 'waiting'`, 'row', /`usage` is/],
    ['a missing question', `DELETE FROM gates`, 'row', /`open_gates` is 0, its journal gives 1/],
    [
      'a missing session',
      `UPDATE sessions SET opened_event = NULL, run = NULL WHERE ${OF_WAITING}`,
      'row',
      /session \S+ is missing/,
    ],
    ['a session with another end', `UPDATE sessions SET to_seq = 3 WHERE to_seq IS NOT NULL`, 'row', /`segments` is/],
    [
      'rows of a run that is gone',
      `DELETE FROM runs WHERE status = 'completed'`,
      'row',
      /rows of runs that do not exist/,
    ],
    ['missing words', `UPDATE run_words SET words = replace(words, ' post', '')`, 'words', /1 are missing/],
    [
      'foreign words',
      `INSERT INTO run_words SELECT id, head + 1, ' planted' FROM runs WHERE status = 'waiting'`,
      'words',
      /1 are not in its journal/,
    ],
    [
      'a command that is not JSON',
      `INSERT INTO commands (run, at, body) SELECT id, 1, '{' FROM runs WHERE status = 'waiting'`,
      'data',
      /command 1: the data is not JSON/,
    ],
    [
      'an answer to a question of nobody',
      `INSERT INTO commands (run, at, gate_id, body) SELECT id, 1, 'g_1', '{"kind":"answer","gate_id":"g_1","answer":1,"by":"x"}' FROM runs WHERE status = 'waiting'`,
      'command',
      /which the run did not ask/,
    ],
  ])('Q10 L91 %s is found by verify, with the place and a hint, and by doctor', async (_damage, sql, rule, message) => {
    const path = damagedStore(sql)
    const found = await findings(path)
    expect(found).toContainEqual(expect.objectContaining({ rule, message: expect.stringMatching(message) }))
    for (const { hint } of found) expect(hint).not.toBe('')
    expect(await doctorCheck(path)).toMatchObject({ status: 'error', message: expect.stringMatching(message) })
  })

  test('Q10 one run is checked alone', async () => {
    const path = damagedStore(`UPDATE events SET at = at - 1 WHERE seq = 3 AND NOT ${OF_WAITING}`)
    expect(await findings(path, waiting)).toEqual([])
    expect(await findings(path)).toMatchObject([{ rule: 'chain', seq: 3 }])
  })

  test('Q10 L91 an incomplete fork is found by verify and doctor', async () => {
    const troupe = await open(sound)
    const fork = await troupe.fork(waiting, 5)
    await fork.result
    await troupe.close()
    const path = damagedStore(`UPDATE runs SET head = 2 WHERE run_id = '${fork.run_id}';
      DELETE FROM events WHERE seq > 2 AND run = (SELECT id FROM runs WHERE run_id = '${fork.run_id}')`)
    const expected = { rule: 'fork', run_id: fork.run_id, message: expect.stringMatching(/2 of the \d+ events/) }
    expect(await findings(path, fork.run_id)).toContainEqual(expect.objectContaining(expected))
    expect(await doctorCheck(path)).toMatchObject({
      status: 'error',
      message: expect.stringMatching(/2 of the \d+ events/),
    })
  })
})

describe('damaged journals', () => {
  test.each([
    [
      'was changed',
      `UPDATE events SET data = replace(data, 'parcel', 'pirate') WHERE type = 'tool:pre'`,
      /event \d+ \(tool:pre\).* was changed/,
    ],
    ['lost a value', `DELETE FROM blobs WHERE content LIKE '"a long%'`, /a value of event \d+ is missing/],
    ['has a changed value', `UPDATE blobs SET content = '"x"' WHERE content LIKE '"a long%'`, /has changed content/],
    ['lost its end', `DELETE FROM events WHERE type = 'run:park'`, /event \d+ of \d+ is missing/],
  ])('E24 a run whose journal %s is neither resumed nor forked', async (_damage, sql, problem) => {
    const path = damagedStore(sql)
    const before = acts
    const troupe = await open(path)
    const [gate] = await troupe.gates().all()
    const refused = { code: 'store_corrupt', message: expect.stringMatching(problem) }
    const resumed = await troupe.answer(gate?.gate_id ?? '', 'this one')
    await expect(resumed.result).rejects.toMatchObject(refused)
    await expect(troupe.fork(waiting, 5)).rejects.toMatchObject(refused)
    expect(await troupe.getRun(waiting)).toMatchObject({ status: 'waiting' })
    expect(acts).toBe(before)
    await troupe.close()
  })
})
