import { verifyJournal } from '../../../src/audit/verify-journal.ts'
import { createTroupe } from '../../../src/index.ts'
import { trialOptions } from './options.ts'

/** `trial-child.ts FOLDER [LIMITS]` starts the run of the folder, or resumes it with these limits, and prints its result. */
const [folder = '', limits = '{}'] = process.argv.slice(2)
const troupe = await createTroupe(trialOptions(folder))
try {
  const [run] = await troupe.runs().all()
  const raised = JSON.parse(limits) as Record<string, number | null>
  const result = run
    ? await (await troupe.resume(run.run_id, { force: true, limits: raised })).result
    : await troupe.run('task', { agent: 'lead', instruction: 'part lead' }, { limits: raised })
  const row = await troupe.getRun(result.run_id)
  const findings = verifyJournal(await troupe.events(result.run_id).all())
  const { output, status, error } = result
  process.stdout.write(JSON.stringify({ status, output, usage: row.usage, findings, error: error?.code }))
} catch (thrown) {
  process.stdout.write(JSON.stringify({ error: (thrown as { code?: string }).code ?? String(thrown) }))
  process.exitCode = 1
}
await troupe.close().catch(() => {})
