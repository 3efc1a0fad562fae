import { openScene, workOn } from './ledger-scene.ts'

/** `ledger-child.ts URL STORE`: works on the run of the thirty until it ends, or until somebody kills it. */
const [url = '', store = ''] = process.argv.slice(2)
const troupe = await openScene(url, store)
const { status, error } = await workOn(troupe)
await troupe.close()
process.stdout.write(JSON.stringify({ status, error }))
