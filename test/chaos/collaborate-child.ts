import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite.ts'
import { collaborationScenario } from './collaborate-scenarios.ts'
import { openRealTroupe, realFaultHooks, runToEnd } from './real-process.ts'

/** `collaborate-child.ts FOLDER N NAME`: works on a collaboration and kills itself at the N-th boundary (0: never). */
const [folder = '', position = '0', name = ''] = process.argv.slice(2)
const scene = realFaultHooks(folder, (passed) => {
  if (passed === Number(position)) process.kill(process.pid, 'SIGKILL')
})
const other = collaborationScenario(name)
const troupe = await openRealTroupe(await openSqlite(join(folder, 'troupe.db')), scene, other)
const result = await runToEnd(troupe, other.start)
await troupe.close()
process.stdout.write(JSON.stringify({ status: result.status, passed: scene.passed }))
