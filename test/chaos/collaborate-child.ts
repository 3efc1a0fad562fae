import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite.ts'
import { collaboration } from './collaborations.ts'
import { openReal, realScene, workOn } from './real-scene.ts'

/** `collaborate-child.ts FOLDER N NAME`: works on a collaboration and kills itself at the N-th boundary (0: never). */
const [folder = '', position = '0', name = ''] = process.argv.slice(2)
const scene = realScene(folder, (passed) => {
  if (passed === Number(position)) process.kill(process.pid, 'SIGKILL')
})
const other = collaboration(name)
const troupe = await openReal(await openSqlite(join(folder, 'troupe.db')), scene, other)
const result = await workOn(troupe, other.start)
await troupe.close()
process.stdout.write(JSON.stringify({ status: result.status, passed: scene.passed }))
