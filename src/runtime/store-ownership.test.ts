import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { copyFile, cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createShellTool } from '../../test/support/shell-tool.ts'
import { agent, functionModel } from '../../test/support/test-troupe.ts'
import { isOwnStore, isRecordedByInode, recordOwnStore } from '../formats/store-record.ts'
import type { Troupe, TroupeOptions } from '../index.ts'
import { createTroupe } from '../index.ts'
import { hasForeignLog } from '../store/sqlite/file-checks/commit-mark.ts'
import { migrationsBetween, newestSchema } from '../store/sqlite/migrate.ts'

const { shell, commands } = createShellTool()

const options: TroupeOptions = {
  tools: [shell],
  permissions: { ask: ['Bash'] },
  agents: [agent('worker')],
  config: false,
  model: functionModel(({ session: { turn } }) =>
    turn <= 3 ? { calls: [{ name: 'Bash', input: { command: `npm test ${turn}` } }] } : { text: 'done' },
  ),
}

let root = ''
beforeEach(() => {
  commands.length = 0
  root = mkdtempSync(join(tmpdir(), 'troupe-yours-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  onTestFinished(() => void vi.unstubAllEnvs())
  useHome('home')
})

function useHome(name: string): void {
  mkdirSync(join(root, name), { recursive: true })
  vi.stubEnv('HOME', join(root, name))
}

const project = () => join(root, 'project')

async function open(place: Pick<TroupeOptions, 'store' | 'defaultStore'>): Promise<Troupe> {
  const troupe = await createTroupe({ ...options, ...place })
  onTestFinished(() => troupe.close())
  return troupe
}

/** A project with a run that waits for its first question, made by this installation. */
async function createProject(): Promise<void> {
  const troupe = await open({ defaultStore: join(project(), '.troupe') })
  const { status } = await troupe.run('task', { agent: 'worker', instruction: 'go' })
  expect(status).toBe('waiting')
  await troupe.close()
}

async function answer(troupe: Troupe, reply: string) {
  const [gate] = (await troupe.gates()).items
  return (await troupe.answer(gate?.gate_id ?? '', reply)).result
}

const REFUSED = { code: 'store_not_yours', hint: expect.stringContaining('troupe trust store') }

/** How a store becomes another file, or is met by another installation; returns the folder of the project. */
const MOVES: readonly (readonly [string, () => Promise<string>])[] = [
  [
    'a project that was moved',
    async () => {
      renameSync(project(), join(root, 'moved'))
      return join(root, 'moved')
    },
  ],
  [
    'a project that was copied',
    async () => {
      await cp(project(), join(root, 'copied'), { recursive: true })
      return join(root, 'copied')
    },
  ],
  [
    'a backup that was restored',
    async () => {
      const store = join(project(), '.troupe', 'troupe.db')
      await copyFile(store, join(root, 'backup.db'))
      rmSync(store)
      await copyFile(join(root, 'backup.db'), store)
      return project()
    },
  ],
  [
    'a container with a new home folder',
    async () => {
      useHome('new-home')
      return project()
    },
  ],
]

describe.each(MOVES)('%s', (_title, move) => {
  test('E28 E41 at the default place the store is only read, until another process trusts it', async () => {
    await createProject()
    const store = join(await move(), '.troupe')
    const troupe = await open({ defaultStore: store })
    expect((await troupe.runs()).items).toMatchObject([{ status: 'waiting' }])
    await expect(answer(troupe, 'allow')).rejects.toMatchObject(REFUSED)
    expect(commands).toEqual([])
    recordOwnStore(join(store, 'troupe.db'))
    await answer(troupe, 'allow')
    expect(commands).toEqual(['npm test 1'])
  })

  test('E29 with the store named, its runs go on as before, also in the next process', async () => {
    await createProject()
    const store = join(await move(), '.troupe')
    const troupe = await open({ store })
    expect((await answer(troupe, 'Bash(npm:*)')).status).toBe('completed')
    expect(commands).toEqual(['npm test 1', 'npm test 2', 'npm test 3'])
    expect((await troupe.run('task', { agent: 'worker', instruction: 'go' })).status).toBe('waiting')
    await troupe.close()
    const next = await open({ store })
    expect((await answer(next, 'Bash(npm:*)')).status).toBe('completed')
    await expect(answer(await open({ defaultStore: store }), 'allow')).rejects.toMatchObject(REFUSED)
  })
})

test('E30 a store that this installation created is its own in each process; the record is private to the user', async () => {
  await createProject()
  const troupe = await open({ defaultStore: join(project(), '.troupe') })
  expect(troupe.storeStatus().not_yours).toBeNull()
  expect((await answer(troupe, 'Bash(npm:*)')).status).toBe('completed')
  const records = join(root, 'home/.config/troupe/stores')
  for (const name of readdirSync(records)) chmodSync(join(records, name), 0o666)
  const other = await open({ defaultStore: join(project(), '.troupe') })
  expect(other.storeStatus().not_yours, 'others may write the record').toMatchObject(REFUSED)
})

test('E30 two processes that create a store at once both own it', async () => {
  const place = { defaultStore: join(project(), '.troupe') }
  const both = await Promise.all([open(place), open(place)])
  const runs = both.map((troupe) => troupe.run('task', { agent: 'worker', instruction: 'go' }))
  expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(['waiting', 'waiting'])
})

test('E30 when the record cannot be written, the store is only that of the process that created it', async () => {
  // Where a folder is expected.
  writeFileSync(join(root, 'home', '.config'), '')
  await createProject()
  const next = await open({ defaultStore: join(project(), '.troupe') })
  const named = `TROUPE_STORE=${join(project(), '.troupe', 'troupe.db')}`
  await expect(answer(next, 'allow')).rejects.toMatchObject({ ...REFUSED, hint: expect.stringContaining(named) })
})

test('E30 without times of creation, an own store stays own when it is written, and a log is known by its inode', async () => {
  await createProject()
  const path = join(project(), '.troupe', 'troupe.db')
  const stat = (file: string) => {
    const found = statSync(file, { bigint: true })
    return Object.assign(found, { birthtimeNs: found.ctimeNs })
  }
  recordOwnStore(path, stat)
  expect([isOwnStore(path, stat), isRecordedByInode(path)]).toEqual([true, true])
  const troupe = await open({ defaultStore: path })
  expect((await answer(troupe, 'Bash(npm:*)')).status).toBe('completed')
  expect(isOwnStore(path, stat)).toBe(true)
  const { log } = JSON.parse(readFileSync(`${path}-mark`, 'utf8').split('\n')[0] ?? '')
  writeFileSync(`${path}-mark`, `${JSON.stringify({ log: log.replace(/:.*/, ':1') })}\n`)
  expect([hasForeignLog(path), hasForeignLog(path, true)]).toEqual([true, false])
  await copyFile(path, `${path}.copy`)
  renameSync(`${path}.copy`, path)
  expect(isOwnStore(path, stat)).toBe(false)
})

test('E30 a store that an earlier version recorded as one from elsewhere is none of this installation', async () => {
  await createProject()
  const records = join(root, 'home/.config/troupe/stores')
  const record = join(records, readdirSync(records)[0] ?? '')
  const { path, file } = JSON.parse(readFileSync(record, 'utf8'))
  writeFileSync(record, JSON.stringify({ path, file, imported: { command: 0, heads: [] } }))
  const troupe = await open({ defaultStore: join(project(), '.troupe') })
  await expect(answer(troupe, 'allow')).rejects.toMatchObject(REFUSED)
})

test('E29 the store of a configuration file is not named by the operator', async () => {
  await createProject()
  useHome('other')
  const store = join(project(), '.troupe')
  const config = { path: join(root, 'troupe.config.json'), folder: root, options: { store } }
  const troupe = await open({ ...({ config } as object) })
  await expect(answer(troupe, 'allow')).rejects.toMatchObject(REFUSED)
  const named = await open({ ...({ config } as object), store })
  expect((await answer(named, 'Bash(npm:*)')).status).toBe('completed')
})

test('E32 a store from elsewhere with an older schema is not migrated', async () => {
  const older = newestSchema() - 1
  mkdirSync(join(project(), '.troupe'), { recursive: true })
  const file = join(project(), '.troupe', 'troupe.db')
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA application_id = ${0x74727065}`)
  for (const migration of migrationsBetween(0, older)) db.exec(migration)
  db.exec(`PRAGMA user_version = ${older}`)
  db.close()
  await expect(open({ defaultStore: file })).rejects.toMatchObject(REFUSED)
  const named = await open({ store: file })
  expect((await named.runs()).items).toEqual([])
})

test('E28 a program with an engine of its own reads a store from elsewhere, and executes nothing', async () => {
  await createProject()
  useHome('other')
  const troupe = await createTroupe({
    ...options,
    ...{ defaultStore: join(project(), '.troupe'), engine: { concurrency: 1 } },
  })
  onTestFinished(() => troupe.close())
  expect((await troupe.runs()).items).toMatchObject([{ status: 'waiting' }])
  await expect(troupe.run('task', { agent: 'worker', instruction: 'go' })).rejects.toMatchObject(REFUSED)
})

test('E28 P41 with `retention` it is closed without a word, and nothing is deleted', async () => {
  const place = { defaultStore: join(project(), '.troupe') }
  const author = await createTroupe({ ...options, ...place, model: functionModel(() => ({ text: 'done' })) })
  await author.run('task', { agent: 'worker', instruction: 'go' })
  await author.close()
  useHome('other')
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warn.mockRestore())
  const troupe = await createTroupe({ ...options, ...place, retention: { max_age_days: 0 } })
  await troupe.close()
  expect(warn.mock.calls).toEqual([])
  expect((await (await open(place)).runs()).items).toHaveLength(1)
})
