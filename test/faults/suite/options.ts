import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { TroupeOptions } from '../../../src/index.ts'
import { defineTool } from '../../../src/index.ts'

/* What every process of a trial has: three levels of agents, and an acting tool whose ledger is on disk before it returns. */

export const LEDGER = 'ledger.jsonl'

export interface LedgerEntry {
  name: string
  key: string
}

export function readLedger(folder: string): LedgerEntry[] {
  const path = join(folder, LEDGER)
  appendFileSync(path, '')
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as LedgerEntry]))
}

function write(folder: string, entry: LedgerEntry): void {
  const file = openSync(join(folder, LEDGER), 'a')
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

export function trialOptions(folder: string): TroupeOptions {
  const done = { success: true, output: 'recorded' }
  const record = defineTool({
    name: 'record',
    description: 'Records a name.',
    kind: 'act',
    category: 'action',
    input: z.object({ name: z.string() }),
    execute({ name }, { idempotency_key: key }) {
      write(folder, { name, key })
      return done
    },
    recover: (_input, { idempotency_key }) =>
      readLedger(folder).some(({ key }) => key === idempotency_key) ? done : undefined,
  })
  return {
    store: join(folder, 'store'),
    model: 'compatible/m',
    agents: [agent('lead', ['task']), agent('worker', ['task', 'record']), agent('leaf', ['record'])],
    tools: [record],
    limits: { depth: 2 },
  }
}
