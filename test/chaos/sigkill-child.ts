import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite.ts'
import { openRealTroupe, realFaultHooks, runToEnd } from './real-process.ts'

/** `sigkill-child.ts FOLDER N` executes the reference run and kills itself at the N-th boundary (0: never). */
const [folder = '', boundary = '0'] = process.argv.slice(2)
const hooks = realFaultHooks(folder, (passed) => {
  if (passed === Number(boundary)) process.kill(process.pid, 'SIGKILL')
})
const troupe = await openRealTroupe(await openSqlite(join(folder, 'troupe.db')), hooks)
const result = await runToEnd(troupe)
await troupe.close()
process.stdout.write(JSON.stringify({ status: result.status, passed: hooks.passed }))
