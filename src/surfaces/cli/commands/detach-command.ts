import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, lstatSync, mkdirSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { TroupeError } from '../../../errors.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { chosenStore, requireOwnStore, storePath, withTroupe } from '../open-troupe.ts'
import { withProgramName } from '../render/styled-line.ts'

/*
 * `run --detach`: the same command in a process of its own session, which neither Ctrl-C nor the end of the terminal reaches.
 * 1. This process ends when the run exists, or with the error and the exit code of the other one.
 * 2. Output and errors of the other process go to a log file beside the store.
 */

/** Tells the process that it was detached, and that its parent waits for the run id. */
const WAITING_PARENT = 'TROUPE_DETACHED'

export async function detachCommand(cli: Cli<{ input?: string }>): Promise<number> {
  const [folder, store] = [logFolder(cli), chosenStore(cli)]
  // Creates the store as every other run does, and rejects options that no run can have.
  await withTroupe(cli, 'new', async (troupe) => requireOwnStore(troupe))
  mkdirSync(folder, { mode: 0o700, recursive: true })
  rejectLink(folder)
  const log = join(folder, `starting-${process.pid}.log`)
  const output = openSync(log, 'wx', 0o600)
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...childArguments()], {
    detached: true,
    windowsHide: true,
    // By name: it is ours, and where the record could not be written, the other process would take it for one from elsewhere.
    env: { ...process.env, ...(typeof store === 'string' && { TROUPE_STORE: resolve(store) }), [WAITING_PARENT]: '1' },
    stdio: [cli.options.input === '-' ? 'inherit' : 'ignore', output, output, 'ipc'],
  })
  closeSync(output)
  const stop = () => child.kill('SIGTERM')
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const run_id = await Promise.race([
    once(child, 'message').then(([message]) => String(message)),
    once(child, 'exit').then(() => undefined),
  ])
  process.off('SIGINT', stop).off('SIGTERM', stop)
  if (run_id === undefined) return reportFailedStart(cli, log, child.exitCode)
  child.disconnect()
  child.unref()
  printDetached(cli, run_id, renameLog(log, join(folder, `${run_id}.log`)))
  return EXIT.done
}

/** In the detached process: tells the waiting parent the run id. */
export function notifyParent(run_id: string): void {
  if (process.env[WAITING_PARENT] === undefined || !process.send) return
  // Commands of agents must not take the variable for theirs.
  delete process.env[WAITING_PARENT]
  process.send(run_id, () => process.disconnect())
}

/** A repository can contain a store folder whose `logs` is a link: the log would be written to a folder that somebody else chose (symlink attack). */
function rejectLink(folder: string): void {
  if (!lstatSync(folder).isSymbolicLink()) return
  throw new TroupeError('store_failed', `--detach: ${folder} is a link, not a folder of its own`, {
    hint: 'remove the link, or choose another folder with --store or TROUPE_STORE',
    responsible: 'operator',
  })
}

function logFolder(cli: Cli): string {
  const store = storePath(cli)
  if (store === 'memory')
    throw new TroupeError('invalid_input', '--detach needs a store on disk: one in memory ends with its process', {
      hint: 'choose a folder with --store or TROUPE_STORE',
    })
  return join(/\.(db|sqlite3?)$/i.test(store) ? dirname(store) : store, 'logs')
}

function childArguments(): string[] {
  const argv = process.argv.slice(2)
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  return argv.filter((word, index) => word !== '--detach' || index > end)
}

/** Prints what the process wrote before it ended; the log is of no further use. */
function reportFailedStart({ terminal, options }: Cli, log: string, code: number | null): number {
  const text = readFileSync(log, 'utf8').trimEnd()
  rmSync(log)
  for (const line of text.split('\n')) {
    // With --json, only the result goes to stdout.
    if (options.json && line.startsWith('{')) terminal.print(line)
    else terminal.note(line)
  }
  return code ?? EXIT.failed
}

/** Windows does not rename a file that is open. */
function renameLog(from: string, to: string): string {
  try {
    renameSync(from, to)
    return to
  } catch {
    return from
  }
}

function printDetached(cli: Cli, run_id: string, log: string): void {
  const { terminal, options } = cli
  if (options.json) {
    printJson(cli, { run_id, status: 'running', log })
    return
  }
  terminal.print(run_id)
  if (options.quiet) return
  const lines = [`follow it with: troupe watch ${run_id}`, `cancel it with: troupe cancel ${run_id}`]
  for (const text of [...lines.map((line) => withProgramName(terminal.err, line)), `its output goes to ${log}`])
    for (const line of wrapText(text, terminal.err.width, 2)) terminal.note(line)
}
