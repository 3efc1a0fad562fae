import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite.ts'
import { namedScenario } from './named-scenario.ts'
import { openRealTroupe, realFaultHooks, runToEnd } from './real-process.ts'

/**
 * `sigkill-child.ts FOLDER N [NAME]` executes the scenario of that name, or the reference run, and kills itself at the N-th boundary
 * (0: never).
 */
const [folder = '', boundary = '0', name = ''] = process.argv.slice(2)
const hooks = realFaultHooks(folder, (passed) => {
  if (passed === Number(boundary)) process.kill(process.pid, 'SIGKILL')
})
const scenario = namedScenario(name)
const troupe = await openRealTroupe(await openSqlite(join(folder, 'troupe.db')), hooks, scenario)
const result = await runToEnd(troupe, scenario?.start)
await troupe.close()
process.stdout.write(JSON.stringify({ status: result.status, passed: hooks.passed }))
