import { TroupeError } from '../../../errors.ts'
import type { GateRow, Troupe } from '../../../index.ts'
import { missingPartsText } from '../../../views/needs-text.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findGate } from '../find-run.ts'
import { followRun, resultRecord } from '../follow-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { gateLines } from '../render/result-lines.ts'
import { withProgramName } from '../render/styled-line.ts'
import { requireSameModel } from '../require-same-model.ts'

type AnswerOptions = { jsonValue?: string; wait?: boolean }

/** Answers a gate and resumes the run, unless another process is running it. */
export function answerCommand(cli: Cli<AnswerOptions>, gateId: string, ...values: string[]): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { terminal, options } = cli
    const gate = await findGate(troupe, gateId)
    await requireSameModel(cli, troupe, gate.run_id)
    const value = await readAnswer(cli, gate, values)
    const before = await troupe.getRun(gate.run_id)
    const resume = options.wait !== false
    const handle = await troupe.answer(gate.gate_id, value, { resume })
    const inOtherProcess = troupe.isRunning(before)
    if (resume && !inOtherProcess) return followRun(cli, troupe, { handle, after: before.head })
    if (options.json) printJson(cli, resultRecord(await handle.result))
    else
      terminal.print(
        inOtherProcess
          ? `answered; ${gate.run_id} continues in its process`
          : await leftRunLine(cli, troupe, gate.run_id),
      )
    return EXIT.done
  })
}

/** Says how a run continues that this command only answered. */
async function leftRunLine({ terminal }: Cli, troupe: Troupe, run_id: string): Promise<string> {
  const reason = missingPartsText(await troupe.checkNeeds(run_id))
  if (reason !== '') return wrapText(`answered; ${run_id} ${reason}`, terminal.out.width, 2).join('\n')
  return withProgramName(terminal.out, `answered; resume with: troupe resume ${run_id}`)
}

async function readAnswer(cli: Cli<AnswerOptions>, gate: GateRow, values: readonly string[]): Promise<unknown> {
  const { jsonValue } = cli.options
  if (jsonValue !== undefined && values.length > 0) throw invalidAnswer('an answer and --json-value cannot be combined')
  if (jsonValue !== undefined) {
    try {
      return JSON.parse(jsonValue) as unknown
    } catch (thrown) {
      throw invalidAnswer(`--json-value is not valid JSON: ${(thrown as Error).message}`)
    }
  }
  if (values.length > 0) return values.join(' ')
  if (!cli.terminal.interactive) throw invalidAnswer('the answer is missing')
  for (const line of gateLines(gate, cli.terminal.err).slice(0, -1)) cli.terminal.note(line)
  return promptForAnswer()
}

async function promptForAnswer(): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await reader.question('> ')).trim()
  } finally {
    reader.close()
  }
}

function invalidAnswer(message: string): TroupeError {
  return new TroupeError('invalid_input', message, {
    hint: 'run: troupe answer GATE TEXT, or: troupe answer GATE --json-value JSON',
  })
}
