import { readFile } from 'node:fs/promises'
import type { AgentSession, SessionProblem } from '../../../entries/inspect.ts'
import { isMultiAgentSession, validateSession } from '../../../entries/inspect.ts'
import { TroupeError } from '../../../errors.ts'
import { pluralize } from '../../../views/format-amount.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'

const MAX_SHOWN = 20

/** Checks a session file; every problem has the path to it. */
export async function validateCommand(cli: Cli, file: string): Promise<number> {
  const { terminal, options } = cli
  const value = parseJson(file, await readText(file))
  const problems = await validateSession(value)
  const kind = kindOf(value)
  if (options.json) printJson(cli, { ok: problems.length === 0, file, kind, problems })
  else if (problems.length === 0) terminal.print(`${file} is a valid ${kind}`)
  else printProblems(cli, file, problems)
  return problems.length === 0 ? EXIT.done : EXIT.failed
}

function kindOf(value: unknown): 'AgentSession' | 'MultiAgentSession' {
  const isObject = typeof value === 'object' && value !== null
  return isObject && isMultiAgentSession(value as AgentSession) ? 'MultiAgentSession' : 'AgentSession'
}

function printProblems({ terminal }: Cli, file: string, problems: readonly SessionProblem[]): void {
  for (const { path, message } of problems.slice(0, MAX_SHOWN)) {
    terminal.print(
      `${terminal.out.paint('red', path === '' ? file : toTerminalLine(path))}: ${toTerminalLine(message)}`,
    )
  }
  const more = problems.length > MAX_SHOWN ? ` (the first ${MAX_SHOWN} are shown; all: --json)` : ''
  terminal.print(`${pluralize(problems.length, 'problem')} in ${file}${more}`)
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (thrown) {
    throw new TroupeError('invalid_input', `the session file '${file}' cannot be read: ${(thrown as Error).message}`, {
      hint: 'write one with: troupe export RUN --output FILE',
      cause: thrown,
    })
  }
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw new TroupeError('invalid_input', `the session file '${file}' is not JSON: ${(thrown as Error).message}`, {
      hint: 'a session file is one JSON object; write one with: troupe export RUN --output FILE',
      cause: thrown,
    })
  }
}
