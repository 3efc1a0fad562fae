import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { TroupeOptions } from '../../../src/index.ts'

/*
 * What every process of a trial has, started by the library or by the command line: agents, and an acting tool whose ledger is on disk before it
 * returns. It imports no source, so that a configuration file that imports it stays small.
 */

export interface LedgerEntry {
  name: string
  key: string
}

export function readLedger(folder: string): LedgerEntry[] {
  const path = join(folder, 'ledger.jsonl')
  appendFileSync(path, '')
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as LedgerEntry]))
}

function write(folder: string, entry: LedgerEntry): void {
  const file = openSync(join(folder, 'ledger.jsonl'), 'a')
  writeSync(file, `${JSON.stringify(entry)}\n`)
  fsyncSync(file)
  closeSync(file)
}

const agent = (name: string, tools: string[]) => ({
  name,
  description: `the ${name}`,
  instructions: `You are the ${name}.`,
  tools,
})

/** Specialists of collaborations and members of teams; each records once. */
export const SPECIALISTS = ['ann', 'bob', 'cas', 'dan', 'eve'] as const

export function trialOptions(folder: string): TroupeOptions {
  const done = { success: true, output: 'recorded' }
  const record = {
    name: 'record',
    description: 'Records a name.',
    kind: 'act' as const,
    category: 'action' as const,
    input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    execute(input: unknown, { idempotency_key: key }: { idempotency_key: string }) {
      write(folder, { name: (input as { name: string }).name, key })
      return done
    },
    recover: (_input: unknown, { idempotency_key }: { idempotency_key: string }) =>
      readLedger(folder).some(({ key }) => key === idempotency_key) ? done : undefined,
  }
  return {
    store: join(folder, 'store'),
    model: 'compatible/m',
    agents: [
      agent('lead', ['task']),
      agent('worker', ['task', 'record']),
      agent('leaf', ['record']),
      agent('scribe', ['record']),
      agent('asker', ['task', 'task_result', 'consult', 'consult_result']),
      ...SPECIALISTS.map((name) => agent(name, ['record'])),
    ],
    tools: [record] as never,
    permissions: { allow: ['record'] },
    limits: { depth: 2 },
    embedder: false,
  }
}
