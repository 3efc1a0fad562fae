import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Event } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { modelFromScript } from '../support/build-sample.ts'
import type { KillPoint } from './build-scenario.ts'
import { BUILD_SETTINGS, buildScript, isAt, REQUEST } from './build-scenario.ts'

/*
 * `build-child.ts FOLDER [POINT]` starts the build in FOLDER/project, or resumes the one that is there, and kills itself at the point: before or
 * after the journal has an event, or while a command is running.
 */

const [folder = '', point = 'null'] = process.argv.slice(2)
const kill = JSON.parse(point) as KillPoint | null
process.env.XDG_STATE_HOME = join(folder, 'state')

function die(): void {
  process.kill(process.pid, 'SIGKILL')
}

/** Whether a command with this text is running, started by this process. */
function isRunning(text: string): boolean {
  return readdirSync('/proc').some((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false
    return readProcess(pid, 'cmdline').includes(text) && isDescendant(pid)
  })
}

function isDescendant(pid: string): boolean {
  const parent = /^PPid:\s+(\d+)/m.exec(readProcess(pid, 'status'))?.[1] ?? '0'
  return Number(parent) === process.pid || (Number(parent) > 1 && isDescendant(parent))
}

function readProcess(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function killingStore(store: Store): Store {
  const reached = (events: readonly Event[]) => kill !== null && events.some((event) => isAt(event, kill))
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (name !== 'append') return typeof value === 'function' ? value.bind(target) : value
      return async (...args: Parameters<Store['append']>) => {
        recordAppend(args[0].flatMap(({ events }) => [...events]))
        const hit = reached(args[0].flatMap(({ events }) => [...events]))
        if (hit && kill?.when === 'before') die()
        const outcomes = await target.append(...args)
        if (hit && kill?.when === 'after') die()
        if (hit && kill?.running !== undefined) {
          const { running } = kill
          setInterval(() => isRunning(running) && die(), 5)
        }
        return outcomes
      }
    },
  })
}

/** Notes the first event of each append of a build that is not killed: whatever is appended together is lost or kept together. */
function recordAppend([first]: readonly Event[]): void {
  if (kill !== null || first === undefined) return
  const { key } = first.data as { key?: string }
  if (key !== undefined) appendFileSync(join(folder, 'appends'), `${JSON.stringify({ at: key, type: first.type })}\n`)
}

const model = modelFromScript(buildScript((call) => appendFileSync(join(folder, 'requests'), `${call}\n`)))
const troupe = await createTroupe({
  store: killingStore(await openSqlite(join(folder, 'troupe.db'))),
  model,
  workspace: { workspace: join(folder, 'project') },
  config: false,
  engine: {},
  build: BUILD_SETTINGS,
})
const { items } = await troupe.runs()
const earlier = items[0]?.run_id
const result =
  earlier === undefined
    ? await (await troupe.stream('build' as string, { request: REQUEST })).result
    : await (await troupe.resume(earlier, { force: true })).result
await troupe.close()
process.stdout.write(JSON.stringify(result))
process.exit(0)
