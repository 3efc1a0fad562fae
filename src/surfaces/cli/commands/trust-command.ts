import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
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
  const unrecorded = [`${store} cannot be recorded as yours`, `name it instead: TROUPE_STORE=${store}`] as const
  orFail(createRecordsFolder, unrecorded)
  if (cli.options.new) {
    await requireUnused(store)
    const put_aside = orFail(() => putAside(store), [`${store} cannot be put aside`, 'try again, or use --store'])
    await (await openTroupe(cli, 'new')).close()
    report(cli, { store, put_aside }, `${store} is new; the old one is ${put_aside}: read it with --store ${put_aside}`)
    return EXIT.done
  }
  const loss = await mergeLog(store)
  if (loss) {
    const hint = `put the log back, or go on with what is left: troupe verify --accept-loss --store ${store}; then trust it`
    throw new TroupeError(loss.code, loss.message, { hint })
  }
  orFail(() => recordOwnStore(store), unrecorded)
  const consequence = 'the runs in it, with their approvals, agents and limits, count as yours'
  report(cli, { store }, `${store} is yours now: ${consequence}`)
  return EXIT.done
}

function orFail<T>(work: () => T, [problem, hint]: readonly [string, string]): T {
  try {
    return work()
  } catch (thrown) {
    throw new TroupeError('store_failed', `${problem}: ${(thrown as Error).message}`, { hint, cause: thrown })
  }
}

/**
 * Opens the store as one that the operator names, and closes it. A log that nobody here has written would make it one from elsewhere again, and
 * would be missing in a store that was put aside incompletely.
 */
async function mergeLog(store: string) {
  const { createTroupe } = await import('../../../index.ts')
  const troupe = await createTroupe({ config: false, store })
  const { loss } = troupe.storeStatus()
  await troupe.close()
  return loss
}

const NO_STORE = ['store_corrupt', 'store_newer', 'store_older']

/** Throws while another process has written to the store, and uses it. */
async function requireUnused(store: string): Promise<void> {
  const problem = await mergeLog(store).catch(toTroupeError)
  if (problem instanceof TroupeError && !NO_STORE.includes(problem.code)) throw problem
  if (problem || !existsSync(`${store}-wal`)) return
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
  const aside = reserveName(store)
  try {
    for (const suffix of BESIDE) if (existsSync(store + suffix)) renameSync(store + suffix, aside + suffix)
    // Fails if another process has put it aside.
    renameSync(store, aside)
    return aside
  } catch (thrown) {
    rmSync(aside)
    throw thrown
  }
}

/** Creates an empty file, so that two processes never choose the same name. */
function reserveName(store: string): string {
  for (let number = 1; ; number++) {
    const aside = join(dirname(store), basename(store).replace(/(\.\w+)$/, `-put-aside-${number}$1`))
    try {
      writeFileSync(aside, '', { flag: 'wx' })
      return aside
    } catch (thrown) {
      if (!existsSync(aside)) throw thrown
    }
  }
}

function report(cli: Cli, result: object, text: string): void {
  if (cli.options.json) printJson(cli, result)
  else noteWrapped(cli.terminal, text)
}
