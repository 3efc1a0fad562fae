import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { RunResult } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { answerJson } from '../support/consult-replies.ts'
import { consultAgents } from '../support/consultation.ts'
import { functionModel, lastMessageText } from '../support/test-troupe.ts'

/* Consultations in real processes on one SQLite file, read with plain SQL. */

const CHILD = fileURLToPath(new URL('./consult-child.ts', import.meta.url))

function createStorePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-consult-processes ü-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return join(folder, 'store.db')
}

interface ConsultProcess {
  child: ChildProcess
  lines: string[]
  /** Resolves with the exit code. */
  ended: Promise<number | null>
  untilLine(line: string): Promise<void>
}

function startProcess(...args: string[]): ConsultProcess {
  const child = spawn(process.execPath, [CHILD, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  const output = createInterface(child.stdout)
  output.on('line', (line) => lines.push(line))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const untilLine = async (line: string) => {
    while (!lines.includes(line)) await Promise.race([once(output, 'line'), ended.then(() => Promise.reject(lines))])
  }
  return { child, lines, ended, untilLine }
}

function sql(path: string, query: string): Record<string, unknown>[] {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return database.prepare(query).all()
  } finally {
    database.close()
  }
}

test('CS62 two processes consult at once on one store: all are answered once, the most urgent first', async () => {
  const store = createStorePath()
  const processes = ['left', 'right'].map((name) => startProcess(store, 'queue', name, '8'))
  expect(await Promise.all(processes.map(({ ended }) => ended))).toEqual([0, 0])
  const order = ['critical', 'high', 'normal', 'low']
  for (const { lines } of processes) {
    const requests = lines.map((line) => JSON.parse(line) as { agent: string; urgency: string })
    const asked = requests.flatMap(({ agent, urgency }) => (agent === 'answering' ? urgency : []))
    // The first one took its place before the others waited.
    expect(asked).toEqual([asked[0], ...order.filter((urgency) => urgency !== asked[0])])
    expect(requests.filter(({ agent }) => agent === 'orchestrator')).toHaveLength(4)
    expect(requests.filter(({ agent }) => agent === 'asking')).toHaveLength(2)
  }
  const rows = sql(
    store,
    `SELECT question, status, specialist_agent, exchanges, request_tokens, response_tokens, routing_tokens,
       (SELECT count(*) FROM collaboration_exchanges WHERE collaboration_id = c.id) AS messages,
       (SELECT count(*) FROM collaboration_outcomes WHERE collaboration_id = c.id) AS outcomes
     FROM agent_collaborations AS c ORDER BY question`,
  )
  expect(rows).toHaveLength(8)
  expect(new Set(rows.map(({ question }) => question)).size).toBe(8)
  for (const { question: _, ...row } of rows)
    expect(row).toEqual({
      ...{ status: 'resolved', specialist_agent: 'answering', exchanges: 1, messages: 2, outcomes: 1 },
      ...{ request_tokens: 10, response_tokens: 5, routing_tokens: 15 },
    })
})

const ROWS = `SELECT c.status, c.completed_at IS NOT NULL AS completed, c.exchanges, o.resolution_summary
  FROM agent_collaborations AS c LEFT JOIN collaboration_outcomes AS o ON o.collaboration_id = c.id`

/** Kills a process while its specialist works, and continues its run here after the deadline. */
async function continueAfterKill(mode: 'run' | 'background', { deadline, late }: { deadline: number; late: boolean }) {
  const store = createStorePath()
  const { child, ended, untilLine } = startProcess(store, mode, String(deadline))
  await untilLine('hangs')
  child.kill('SIGKILL')
  await ended
  const [asked] = sql(store, 'SELECT run_id, status, asked_at FROM agent_collaborations')
  expect(asked?.status).toBe('in_progress')
  while (late && Date.now() <= Number(asked?.asked_at) + deadline)
    await new Promise((resolve) => setTimeout(resolve, 50))
  const model = functionModel((request) =>
    request.session.agent === 'asking' ? { text: lastMessageText(request) } : answerJson('It has an id and a name.'),
  )
  const consult = { deadlines: { critical: deadline } }
  const troupe = await createTroupe({ store, model, agents: consultAgents, embedder: false, config: false, consult })
  onTestFinished(() => troupe.close())
  // As `troupe resume` and as `troupe work` and `serve` do it.
  const handle = mode === 'run' ? await troupe.resume(String(asked?.run_id)) : await troupe.claim()
  const result = (await handle?.result) as RunResult
  const verified = await troupe.replay(String(asked?.run_id))
  await troupe.close()
  const agents = model.requests.map(({ session }) => session.agent)
  return { result, agents, rows: sql(store, ROWS), verified }
}

describe('a process that is killed while the specialist works', () => {
  test('CS25 a deadline that passes while no process runs: timeout with what there is, and nobody is asked', async () => {
    const { result, agents, rows, verified } = await continueAfterKill('run', { deadline: 3000, late: true })
    expect(result).toMatchObject({
      ...{ status: 'partial', stop_reason: 'partial' },
      output: { status: 'timeout', consulted_agent: 'answering', response: { answer: 'It has an id.' } },
    })
    expect(agents).toEqual([])
    expect(rows).toEqual([{ status: 'timeout', completed: 1, exchanges: 1, resolution_summary: null }])
    expect(verified).toBeDefined()
  })

  test('CS25 the same in the background: the asker gets the timeout and goes on', async () => {
    const { result, agents, rows } = await continueAfterKill('background', { deadline: 3000, late: true })
    expect(result.status).toBe('completed')
    expect(JSON.stringify(result.output)).toContain('did not answer within 3000 ms')
    expect(agents).toEqual(['asking'])
    expect(rows).toMatchObject([{ status: 'timeout', completed: 1 }])
  })

  test('CS25 before its deadline the specialist goes on, and the rows say so', async () => {
    const { result, agents, rows } = await continueAfterKill('run', { deadline: 600_000, late: false })
    expect(result.output).toMatchObject({ status: 'resolved', response: { answer: 'It has an id and a name.' } })
    expect(agents).toEqual(['answering'])
    const resolution_summary = 'It has an id and a name.'
    expect(rows).toEqual([{ status: 'resolved', completed: 1, exchanges: 1, resolution_summary }])
  })
})
