import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { z } from 'zod'
import { definePattern } from '../../src/entries/patterns.ts'
import type { Hooks, TroupeOptions } from '../../src/index.ts'
import { createTroupe, defineTool } from '../../src/index.ts'

/*
 * A program on a store: `needs-child.ts start PATTERN INPUT`, `claim`, `resume RUN`, `answer GATE TEXT`, `fork RUN SEQ` or `replay RUN`. It
 * provides a tool that pays, a hook that protects a file, and a pattern; with `LACKS`, a list of these, it lacks some of them.
 * `KILL` names a moment at which it kills itself.
 */

const lacks = new Set((process.env.LACKS ?? '').split(','))

const PAYMENTS = 'payments.jsonl'

const pay = defineTool({
  name: 'pay',
  description: 'Pays an invoice.',
  kind: 'act',
  category: 'action',
  input: z.object({ amount: z.number() }),
  execute({ amount }, { idempotency_key }) {
    killAt('before payment')
    const file = openSync(PAYMENTS, 'a')
    writeSync(file, `${JSON.stringify({ amount, idempotency_key })}\n`)
    fsyncSync(file)
    closeSync(file)
    killAt('after payment')
    return { success: true, output: `paid ${amount}` }
  },
  recover: (_input, { idempotency_key }) =>
    existsSync(PAYMENTS) && readFileSync(PAYMENTS, 'utf8').includes(idempotency_key)
      ? { success: true, output: 'paid before' }
      : undefined,
})

function killAt(moment: string): void {
  if (process.env.KILL === moment) process.kill(process.pid, 'SIGKILL')
}

const protect: Hooks = {
  name: 'protect',
  beforeTool: ({ tool, input }) =>
    tool === 'Read' && JSON.stringify(input).includes('secret.txt') ? { deny: 'secret.txt is protected' } : undefined,
}

const approval = definePattern({
  name: 'approval',
  description: 'Has an agent work on an instruction.',
  version: 1,
  input: z.object({ instruction: z.string() }),
  output: z.unknown(),
  category: 'task_management',
  async execute(context, { instruction }) {
    const { text } = await context.perform(context.roster.get('default'), { instruction }, { key: 'work' })
    return { success: true, output: text }
  },
})

const options: TroupeOptions = {
  model: 'scripted:script.json',
  permissions: { ask: ['pay'] },
  tools: lacks.has('tool') ? [] : [pay],
  hooks: lacks.has('hook') ? [] : [protect],
  patterns: lacks.has('pattern') ? [] : [approval],
  workspace: { workspace: '.', sandbox: 'none' },
}

const [command, ...args] = process.argv.slice(2)
const troupe = await createTroupe(options)
try {
  process.stdout.write(`${JSON.stringify(await execute())}\n`)
} catch (thrown) {
  process.stdout.write(`${JSON.stringify({ error: thrown })}\n`)
} finally {
  await troupe.close()
}

async function execute(): Promise<unknown> {
  const [first = '', second = ''] = args
  if (command === 'start')
    return (await troupe.stream(first, JSON.parse(second), { model: 'scripted:script.json' })).result
  if (command === 'resume') return (await troupe.resume(first)).result
  if (command === 'answer') return (await troupe.answer(first, second)).result
  if (command === 'fork') return (await troupe.fork(first, Number(second))).result
  if (command === 'replay') return troupe.replay(first)
  const claimed = await troupe.claim()
  return claimed ? claimed.result : null
}
