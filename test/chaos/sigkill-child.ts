import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite.ts'
import { openRealTroupe, realFaultHooks, runToEnd } from './real-process.ts'

/** `sigkill-child.ts FOLDER N`: works on the reference run and kills itself at the N-th boundary (0: never). */
const [folder = '', position = '0'] = process.argv.slice(2)
const scene = realFaultHooks(folder, (passed) => {
  if (passed === Number(position)) process.kill(process.pid, 'SIGKILL')
})
const troupe = await openRealTroupe(await openSqlite(join(folder, 'troupe.db')), scene)
const result = await runToEnd(troupe)
await troupe.close()
process.stdout.write(JSON.stringify({ status: result.status, passed: scene.passed }))
