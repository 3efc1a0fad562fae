import { openLedgerTroupe, runToEnd } from './ledger-fixture.ts'

/** `ledger-child.ts URL STORE` executes the run with thirty agents until it ends or is killed. */
const [url = '', store = ''] = process.argv.slice(2)
const troupe = await openLedgerTroupe(url, store)
const { status, error } = await runToEnd(troupe)
await troupe.close()
process.stdout.write(JSON.stringify({ status, error }))
