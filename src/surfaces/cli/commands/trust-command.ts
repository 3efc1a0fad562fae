import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { TroupeError, toTroupeError } from '../../../errors.ts'
import { createRecordsFolder, recordOwnStore } from '../../../formats/store-record.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { openTroupe, storePath } from '../open-troupe.ts'
import { noteWrapped } from '../terminal.ts'

/** Counts the store of the folder as the operator's own, or puts it aside and starts a new one. */
export async function trustCommand(cli: Cli<{ new?: boolean }>): Promise<number> {
  const store = databaseFile(cli)
  record(store, createRecordsFolder)
  if (cli.options.new) {
    await requireUnused(store)
    const put_aside = putAside(store)
    await (await openTroupe(cli, 'new')).close()
    report(cli, { store, put_aside }, `${store} is new; the old one is ${put_aside}: read it with --store ${put_aside}`)
    return EXIT.done
  }
  const loss = await mergeLog(store)
  if (loss) {
    const hint = `put the log back, or go on with what is left: troupe verify --accept-loss --store ${store}; then trust it`
    throw new TroupeError(loss.code, loss.message, { hint })
  }
  record(store, recordOwnStore)
  const consequence = 'the runs in it, with their approvals, agents and limits, count as yours'
  report(cli, { store }, `${store} is yours now: ${consequence}`)
  return EXIT.done
}

function record(store: string, write: (path: string) => void): void {
  try {
    write(store)
  } catch (thrown) {
    throw new TroupeError('store_failed', `${store} cannot be recorded as yours: ${(thrown as Error).message}`, {
      hint: `name it instead: TROUPE_STORE=${store}`,
      cause: thrown,
    })
  }
}

/** Opens the store as one that the operator names, and closes it. Otherwise a log that nobody here has written would make it one from elsewhere again. */
async function mergeLog(store: string) {
  const { createTroupe } = await import('../../../index.ts')
  const troupe = await createTroupe({ config: false, store })
  const { loss } = troupe.storeStatus()
  await troupe.close()
  return loss
}

/** Throws while another process has written to the store, and uses it. A file that is no store is used by none. */
async function requireUnused(store: string): Promise<void> {
  try {
    if ((await mergeLog(store)) || !existsSync(`${store}-wal`)) return
  } catch (thrown) {
    if (['store_corrupt', 'store_newer', 'store_older'].includes(toTroupeError(thrown).code)) return
    throw thrown
  }
  throw new TroupeError('run_busy', `another process uses ${store}, which cannot be put aside`, {
    hint: 'end the processes that use it, such as runs, `troupe serve` and chats, then try again',
  })
}

function databaseFile(cli: Cli): string {
  const place = storePath(cli)
  const file = resolve(/\.(db|sqlite3?)$/i.test(place) ? place : join(place, 'troupe.db'))
  if (place !== 'memory' && existsSync(file)) return file
  throw new TroupeError('invalid_input', `there is no store ${place === 'memory' ? 'on disk' : file}`, {
    hint: 'the first run creates one, which is yours; name another one with --store',
  })
}

/** The files and the folder beside a database are found by its name: they are renamed with it. */
const BESIDE = ['-wal', '-shm', '-journal', '-mark', '-requests']

function putAside(store: string): string {
  let aside: string | undefined
  try {
    aside = reserveName(store)
    for (const suffix of BESIDE) if (existsSync(store + suffix)) renameSync(store + suffix, aside + suffix)
    // Fails if another process has put it aside.
    renameSync(store, aside)
    return aside
  } catch (thrown) {
    // Still empty: the database is renamed last.
    if (aside !== undefined) rmSync(aside, { force: true })
    throw new TroupeError('store_failed', `${store} cannot be put aside: ${(thrown as Error).message}`, {
      hint: 'try again, or choose another place with --store',
      cause: thrown,
    })
  }
}

/** Creates an empty file: two processes never choose the same name. */
function reserveName(store: string): string {
  for (let number = 1; ; number++) {
    const aside = join(dirname(store), basename(store).replace(/(\.\w+)$/, `-put-aside-${number}$1`))
    try {
      closeSync(openSync(aside, 'wx', 0o600))
      return aside
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
    }
  }
}

function report(cli: Cli, result: object, text: string): void {
  if (cli.options.json) printJson(cli, result)
  else noteWrapped(cli.terminal, text)
}
