import { writeFile } from 'node:fs/promises'
import { TroupeError } from '../../../errors.ts'
import type { AgentSession, MultiAgentSession } from '../../../index.ts'
import { isMultiAgentSession } from '../../../index.ts'
import { pluralize } from '../../../views/format-amount.ts'
import type { Cli } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { withTroupe } from '../open-troupe.ts'

/** Writes a run as a session file. */
export function exportCommand(cli: Cli<{ output?: string }>, run: string | undefined): Promise<number> {
  return withTroupe(cli, 'existing', async (troupe) => {
    const { run_id } = await findRun(cli, troupe, run)
    const session = await troupe.exportSession(run_id)
    const text = JSON.stringify(session, null, 2)
    const { output } = cli.options
    if (output === undefined) cli.terminal.print(text)
    else {
      await writeSession(output, `${text}\n`)
      cli.terminal.note(`${run_id}: ${describe(session)} written to ${output}`)
    }
    return EXIT.done
  })
}

function describe(session: AgentSession | MultiAgentSession): string {
  const calls = pluralize(session.summary.tool_calls_count, 'tool call')
  if (!isMultiAgentSession(session)) return calls
  const { sub_sessions, messages } = session
  return `${pluralize(sub_sessions.length, 'sub-session')}, ${calls} and ${pluralize(messages.length, 'message')}`
}

async function writeSession(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text)
  } catch (thrown) {
    throw new TroupeError('invalid_input', `--output ${path} cannot be written: ${(thrown as Error).message}`, {
      hint: 'give the path of a file in an existing folder',
      cause: thrown,
    })
  }
}
