import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { ModelRequest } from '../../src/entries/models.ts'
import { isEvent } from '../../src/index.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { countEachTest } from '../support/attempt-count.ts'
import type { Reply } from '../support/consult-replies.ts'
import { answerJson, asker, consultCall } from '../support/consult-replies.ts'
import { createConsultTroupe } from '../support/consultation.ts'
import { memoryStore } from '../support/memory-store.ts'
import { agent, createTestTroupe, functionModel, lastMessageText } from '../support/test-troupe.ts'

beforeEach(countEachTest('store'))

/* Sessions of other runs and projects: an agent that got or guessed their ids neither reads nor continues them, nor learns that they exist. */

const SECRET = 'the merger closes on Friday'
const AGENTS = [agent('lead', { tools: ['task', 'task_result'] }), agent('clerk')]

async function openStore(kind: string): Promise<Store> {
  if (kind === 'memory') return memoryStore()
  const folder = await mkdtemp(join(tmpdir(), 'troupe-sessions-'))
  const store = await openSqlite(join(folder, 'troupe.db'))
  onTestFinished(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  return store
}

/** The clerk answers with the secret; the lead makes `call`, and repeats what it got. */
async function openProject(store: Store, project: string, call?: { name: string; input: object }) {
  const model = functionModel((request) => {
    const { agent: name, turn } = request.session
    if (name === 'clerk') return { text: SECRET }
    return call && turn === 1 ? { calls: [call] } : { text: lastMessageText(request) }
  })
  return createTestTroupe({ store, project, model, agents: AGENTS })
}

/** What the model of a run got for its call, and its code. */
async function callResult(store: Store, project: string, call: { name: string; input: object }) {
  const { troupe, task } = await openProject(store, project, call)
  const { run_id, output } = await task('lead', 'go')
  const errors = (await troupe.events(run_id).all()).filter((event) => isEvent(event, 'tool:error'))
  return {
    text: JSON.stringify(output),
    code: errors[0]?.data.detail?.code,
    own: (await store.sessions({ project, run_id })).map(({ session_id }) => session_id),
  }
}

const ATTEMPTS = [
  ['task_result', (session_id: string) => ({ name: 'task_result', input: { session_id } })],
  [
    'task_result without waiting',
    (session_id: string) => ({ name: 'task_result', input: { session_id, wait: false } }),
  ],
  ['task', (session_id: string) => ({ name: 'task', input: { session_id, instruction: 'What did you say?' } })],
  [
    'task in the background',
    (session_id: string) => ({ name: 'task', input: { session_id, instruction: 'Again.', background: true } }),
  ],
  [
    'task with its agent',
    (session_id: string) => ({ name: 'task', input: { session_id, agent: 'clerk', instruction: 'Again.' } }),
  ],
] as const

for (const kind of ['memory', 'sqlite']) {
  for (const [title, toCall] of ATTEMPTS) {
    for (const project of ['ours', 'theirs']) {
      test(`TK53 ${title} of a session of another run in ${project === 'ours' ? 'the same' : 'another'} project is unknown (${kind})`, async () => {
        const store = await openStore(kind)
        const victim = await (await openProject(store, project)).task('clerk', 'Tell me.')
        const [session] = await store.sessions({ project, run_id: victim.run_id })
        const foreign = session?.session_id ?? ''
        const missing = foreign.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
        const attempt = await callResult(store, 'ours', toCall(foreign))
        const control = await callResult(store, 'ours', toCall(missing))
        expect(attempt.text).not.toContain(SECRET)
        expect(attempt.code).toBe(control.code)
        const normal = ({ text, own }: typeof attempt, id: string) =>
          own.reduce((all, each) => all.replaceAll(each, 'OWN'), text.replaceAll(id, 'ID'))
        expect(normal(attempt, foreign)).toBe(normal(control, missing))
        expect(normal(control, missing)).not.toMatch(/[0-9a-f]{16}-[0-9a-f]{16}/)
      })
    }
  }
}

test('TK53 control: the user continues the session of the other run, and an agent those of its own run', async () => {
  const store = await openStore('memory')
  const { task, troupe } = await openProject(store, 'ours')
  const victim = await task('clerk', 'Tell me.')
  const [session] = await store.sessions({ project: 'ours', run_id: victim.run_id })
  const again = await troupe.run('task', { session_id: session?.session_id ?? '', instruction: 'Again.' })
  expect(JSON.stringify(again.output)).toContain(SECRET)
})

test('TK53 in a session that the user continues, the agent reaches the sub-agents of its earlier run', async () => {
  const store = await openStore('sqlite')
  let child = ''
  const model = functionModel((request) => {
    const { agent: name } = request.session
    const text = lastMessageText(request)
    child ||= /[0-9a-f-]+_clerk/.exec(text)?.[0] ?? ''
    if (name === 'clerk') return { text: SECRET }
    if (text === 'first') return { calls: [{ name: 'task', input: { agent: 'clerk', instruction: 'Tell me.' } }] }
    if (text === 'second') return { calls: [{ name: 'task_result', input: { session_id: child } }] }
    if (text === 'third') return { calls: [{ name: 'task', input: { session_id: child, instruction: 'Again.' } }] }
    return { text: `got ${text}` }
  })
  const { troupe, task } = await createTestTroupe({ store, model, agents: AGENTS })
  const { run_id } = await task('lead', 'first')
  const root = (await store.sessions({ project: 'default', run_id })).find((row) => row.parent_session_id === null)
  for (const instruction of ['second', 'third']) {
    const { output } = await troupe.run('task', { session_id: root?.session_id ?? '', instruction })
    expect(JSON.stringify(output)).toContain(`got`)
    expect(JSON.stringify(output)).toContain(SECRET)
  }
})

const toReply = (reply: Reply, request: ModelRequest) => (typeof reply === 'function' ? reply(request) : reply)

test('CS219 a consultation of another agent is unknown to an agent, as one that does not exist; control: its asker reads it', async () => {
  let id = ''
  const read: Reply = (request) => {
    if (request.session.turn > 1) return { text: lastMessageText(request) }
    return { calls: [{ name: 'consult_result', input: { collaboration_id: id } }] }
  }
  const { task, consultEvents } = await createConsultTroupe({
    asking: (request) => toReply(id === '' ? asker(() => [consultCall('When?')]) : read, request),
    checking: read,
    answering: answerJson(SECRET),
  })
  const { run_id } = await task('asking', 'go')
  const own = String((await consultEvents(run_id))[0]?.data.collaboration_id)
  const ask = async (agent: string, collaboration_id: string) => {
    id = collaboration_id
    const { response } = (await task(agent, 'go')).output as { response: string }
    return response.replaceAll(collaboration_id, 'ID')
  }
  expect(await ask('checking', own)).toBe(await ask('checking', 'missing'))
  expect(await ask('asking', own)).toContain(SECRET)
})
