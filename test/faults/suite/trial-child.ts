import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyJournal } from '../../../src/audit/verify-journal.ts'
import { createTroupe } from '../../../src/index.ts'
import { trialOptions } from './options.ts'

/* `trial-child.ts FOLDER REQUEST` starts or resumes a run with the library, or writes `report.json` about all runs of the folder. */

interface ChildRequest {
  run?: { pattern: string; input: object }
  resume?: string
  limits?: Record<string, number | null>
}

const [folder = '', json = '{}'] = process.argv.slice(2)
const { run, resume, limits = {} } = JSON.parse(json) as ChildRequest
const troupe = await createTroupe(trialOptions(folder))
try {
  if (run) await (await troupe.stream(run.pattern, run.input, { limits })).result
  else if (resume) await (await troupe.resume(resume, { force: true, limits })).result
  else await report()
} catch (thrown) {
  process.stderr.write((thrown as { code?: string }).code ?? String(thrown))
  process.exitCode = 1
}
await troupe.close().catch(() => {})

async function report(): Promise<void> {
  const runs = []
  for (const row of (await troupe.runs().all()).toReversed()) {
    const { status, stop_reason, output, error } = await troupe.result(row.run_id)
    const findings = verifyJournal(await troupe.events(row.run_id).all())
    runs.push({ status, stop_reason, output, error: error?.message, usage: row.usage, findings })
  }
  writeFileSync(join(folder, 'report.json'), JSON.stringify(runs))
}
