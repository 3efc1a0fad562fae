import { existsSync, lstatSync, renameSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { TroupeError } from '../../../errors.ts'
import { recordOwnStore } from '../../../formats/store-record.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { openTroupe, storePath } from '../open-troupe.ts'
import { noteWrapped } from '../terminal.ts'

/** Counts the store of the folder as the operator's own, or puts it aside and starts a new one. */
export async function trustCommand(cli: Cli<{ new?: boolean }>): Promise<number> {
  const store = databaseFile(cli)
  if (cli.options.new) {
    const put_aside = putAside(store)
    await (await openTroupe(cli, 'new')).close()
    report(cli, { store, put_aside }, `${store} is new; the old one is ${put_aside}: read it with --store ${put_aside}`)
    return EXIT.done
  }
  recordOwnStore(store)
  const consequence = 'the runs in it, with their approvals, agents and limits, count as yours'
  report(cli, { store }, `${store} is yours now: ${consequence}. Undo it with: troupe trust store --new`)
  return EXIT.done
}

function databaseFile(cli: Cli): string {
  const place = storePath(cli)
  const file = resolve(/\.(db|sqlite3?)$/i.test(place) ? place : join(place, 'troupe.db'))
  if (place !== 'memory' && existsSync(file)) return file
  throw new TroupeError('invalid_input', `there is no store ${place === 'memory' ? 'on disk' : file}`, {
    hint: 'the first run creates one, which is yours; name another one with --store',
  })
}

/** SQLite finds the files beside a database by its name: they are renamed with it. */
const SUFFIXES = ['-wal', '-shm', '-journal', '-mark', '']

function putAside(store: string): string {
  // A repository can contain a link to another folder (symlink attack).
  if (lstatSync(dirname(store)).isSymbolicLink()) {
    throw new TroupeError('store_failed', `--new: ${dirname(store)} is a link, not a folder of its own`, {
      hint: 'remove the link, or choose another folder with --store',
    })
  }
  let aside = ''
  for (let number = 1; aside === '' || existsSync(aside); number++)
    aside = join(dirname(store), basename(store).replace(/(\.\w+)$/, `-put-aside-${number}$1`))
  for (const suffix of SUFFIXES) if (existsSync(store + suffix)) renameSync(store + suffix, aside + suffix)
  return aside
}

function report(cli: Cli, result: object, text: string): void {
  if (cli.options.json) printJson(cli, result)
  else noteWrapped(cli.terminal, text)
}
