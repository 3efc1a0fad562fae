import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { TroupeError } from '../errors.ts'
import { parseJson } from '../schema/json-value.ts'

/*
 * Reads the files of one session of a coding agent. Conversations of sub-agents are in the main file (up to 1.0), in files `agent-*.jsonl` beside it
 * (2.0), or in `<session>/subagents/` (2.1). A line that is not JSON, such as the last one of a session at work, is skipped.
 */

/** Limits memory use. */
const MAX_BYTES = 256 * 1024 * 1024

/** The records of the main file, then those of its sub-agents. */
export async function readTranscriptFile(path: string): Promise<unknown[]> {
  const records = await readRecords(path)
  const session = sessionOf(records)
  const beside = await agentFiles(dirname(path))
  const below = await agentFiles(join(dirname(path), basename(path, '.jsonl'), 'subagents'))
  for (const file of [...below, ...beside].filter((one) => one !== path)) {
    const found = await readRecords(file)
    // Files beside it may belong to other sessions.
    if (below.includes(file) || (session !== undefined && sessionOf(found) === session)) records.push(...found)
  }
  return records
}

async function readRecords(path: string): Promise<unknown[]> {
  const information = await stat(path).catch(() => undefined)
  if (!information?.isFile() || information.size > MAX_BYTES) {
    const problem = information?.isFile() ? `is larger than ${MAX_BYTES >> 20} MB` : 'is no file'
    throw new TroupeError('invalid_input', `the transcript '${path}' ${problem}`, {
      hint: 'give the .jsonl file of one session of a coding agent',
    })
  }
  const lines = (await readFile(path, 'utf8')).replace(/^\uFEFF/, '').split('\n')
  return lines.map(parseJson).filter((record) => record !== undefined)
}

function sessionOf(records: readonly unknown[]): string | undefined {
  const ids = records.map((record) => (record as { sessionId?: unknown } | null)?.sessionId)
  return ids.find((id) => typeof id === 'string')
}

async function agentFiles(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names
    .filter((name) => /^agent-.+\.jsonl$/.test(name))
    .map((name) => join(folder, name))
    .sort()
}
