import { openLedgerTroupe, runToEnd } from './ledger-fixture.ts'

/** `ledger-child.ts URL STORE`: works on the run of the thirty until it ends, or until somebody kills it. */
const [url = '', store = ''] = process.argv.slice(2)
const troupe = await openLedgerTroupe(url, store)
const { status, error } = await runToEnd(troupe)
await troupe.close()
process.stdout.write(JSON.stringify({ status, error }))
