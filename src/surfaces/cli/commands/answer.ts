import { TroupeError } from '../../../errors.ts'
import type { GateRow } from '../../../index.ts'
import { attend, resultRecord } from '../attend.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit.ts'
import { findGate } from '../find.ts'
import { withTroupe } from '../open.ts'
import { typable } from '../render/line.ts'
import { gateLines } from '../render/result.ts'
import { sameModel } from '../same-model.ts'

type AnswerOptions = { jsonValue?: string; wait?: boolean }

/** Answers a question; the run goes on here, unless another process works on it. */
export function answer(cli: Cli<AnswerOptions>, wanted: string, words: readonly string[]): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { terminal, options } = cli
    const gate = await findGate(troupe, wanted)
    await sameModel(cli, troupe, gate.run_id)
    const value = await valueFrom(cli, gate, words)
    const before = await troupe.store.run(gate.run_id)
    const go_on = options.wait !== false
    const handle = await troupe.answer(gate.gate_id, value, { go_on })
    const elsewhere = before !== undefined && troupe.isUnderWay(before)
    if (go_on && !elsewhere) return attend(cli, troupe, handle, { after: before?.head ?? 0 })
    if (options.json) printJson(cli, resultRecord(await handle.result))
    else
      terminal.print(
        elsewhere
          ? `answered; ${gate.run_id} goes on where it is worked on`
          : typable(terminal.out, later(gate.run_id)),
      )
    return EXIT.done
  })
}

function later(run_id: string): string {
  return `answered; go on with: troupe resume ${run_id}`
}

async function valueFrom(cli: Cli<AnswerOptions>, gate: GateRow, words: readonly string[]): Promise<unknown> {
  const { jsonValue } = cli.options
  if (jsonValue !== undefined && words.length > 0) throw unclear('an answer and --json-value are both given')
  if (jsonValue !== undefined) {
    try {
      return JSON.parse(jsonValue) as unknown
    } catch (thrown) {
      throw unclear(`--json-value is not JSON: ${(thrown as Error).message}`)
    }
  }
  if (words.length > 0) return words.join(' ')
  if (!cli.terminal.interactive) throw unclear('no answer is given')
  for (const line of gateLines(gate, cli.terminal.err).slice(0, -1)) cli.terminal.note(line)
  return asked()
}

async function asked(): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await reader.question('> ')).trim()
  } finally {
    reader.close()
  }
}

function unclear(message: string): TroupeError {
  return new TroupeError('invalid_input', message, {
    hint: 'troupe answer GATE WORDS, or --json-value for other values',
  })
}
