import { writeFile } from 'node:fs/promises'
import type { AgentSession, MultiAgentSession } from '../../../entries/inspect.ts'
import { isMultiAgentSession, sessionFromTranscript } from '../../../entries/inspect.ts'
import { TroupeError } from '../../../errors.ts'
import type { Troupe } from '../../../index.ts'
import { pluralize } from '../../../views/format-amount.ts'
import type { Cli } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { findRun } from '../find-run.ts'
import { withTroupe } from '../open-troupe.ts'

interface ExportOptions {
  output?: string
  format?: 'session' | 'html'
}

/** Writes a run as a session file or as a page, or the transcript of another coding agent as a session file. */
export async function exportCommand(cli: Cli<ExportOptions>, run: string | undefined): Promise<number> {
  const { format } = cli.options
  if (run?.endsWith('.jsonl')) return print(cli, run, await transcriptOf(run, format))
  return withTroupe(cli, 'existing', async (troupe) => {
    const { run_id } = await findRun(cli, troupe, run)
    return print(cli, run_id, format === 'html' ? await pageOf(troupe, run_id) : await sessionOf(troupe, run_id))
  })
}

async function print({ terminal, options }: Cli<ExportOptions>, name: string, exported: Exported): Promise<number> {
  const { text, content } = exported
  const { output } = options
  if (output === undefined) terminal.print(text)
  else {
    await writeOutput(output, `${text}\n`)
    terminal.note(`${name}: ${content} written to ${output}`)
  }
  return EXIT.done
}

async function transcriptOf(file: string, format: ExportOptions['format']): Promise<Exported> {
  if (format === 'html') {
    throw new TroupeError('invalid_input', `--format html needs a run of Troupe; '${file}' is a transcript`, {
      hint: `export it as a session file: troupe export ${file} --format session`,
    })
  }
  const { readTranscriptFile } = await import('../../../formats/transcript-file.ts')
  const session = sessionFromTranscript(await readTranscriptFile(file))
  return { text: JSON.stringify(session, null, 2), content: describe(session) }
}

interface Exported {
  text: string
  /** The content in a few words. */
  content: string
}

async function sessionOf(troupe: Troupe, run_id: string): Promise<Exported> {
  const session = await troupe.exportSession(run_id)
  return { text: JSON.stringify(session, null, 2), content: describe(session) }
}

async function pageOf(troupe: Troupe, run_id: string): Promise<Exported> {
  const { htmlExport } = await import('../../http/page/html-export.ts')
  const text = (await htmlExport(await troupe.exportPage(run_id))).trimEnd()
  return { text, content: `a page of ${formatSize(text.length)} that opens without a server` }
}

function formatSize(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

function describe(session: AgentSession | MultiAgentSession): string {
  const calls = pluralize(session.summary.tool_calls_count, 'tool call')
  if (!isMultiAgentSession(session)) return calls
  const { sub_sessions, messages } = session
  return `${pluralize(sub_sessions.length, 'sub-session')}, ${calls} and ${pluralize(messages.length, 'message')}`
}

async function writeOutput(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text)
  } catch (thrown) {
    throw new TroupeError('invalid_input', `--output ${path} cannot be written: ${(thrown as Error).message}`, {
      hint: 'give the path of a file in an existing folder',
      cause: thrown,
    })
  }
}
