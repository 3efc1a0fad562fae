import { join } from 'node:path'
import { isEvent } from '../../src/kernel/event.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { ChaosPlan, ChaosResult, RunScenario } from './chaos-run.ts'
import { calmPlan } from './fault-sweep.ts'
import { openRealTroupe, readTraces, realFaultHooks, runToEnd } from './real-process.ts'
import { RUN_ID } from './reference-run.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import { ExternalLedger } from './simulated-process.ts'

/** Finishes the run that a killed child process left in `folder`, and collects its outcome for the oracle. */
export async function finishRun(folder: string, scenario?: RunScenario): Promise<ChaosResult> {
  const store = await openSqlite(join(folder, 'troupe.db'))
  const before = (await store.run(RUN_ID)) ? await store.events(RUN_ID) : []
  const answered = new Set(before.flatMap((event) => (isEvent(event, 'model:end') ? event.data.key : [])))
  const requests = readTraces(folder).filter((trace) => 'call' in trace)
  const hooks = realFaultHooks(folder, () => {})
  const troupe = await openRealTroupe(store, hooks, scenario)
  const result = await runToEnd(troupe, scenario?.start)
  const journal = await store.events(RUN_ID)
  const sessions = await store.sessions({ project: 'default', run_id: RUN_ID })
  const { findings } = await troupe.verify()
  if (findings.length > 0) throw new Error(`verify: ${JSON.stringify(findings)}`)
  await troupe.close()
  const ledger = readLedger(folder, (key, index) => index >= requests.length && answered.has(key))
  const inFlight = requests.filter(({ call }) => !answered.has(call)).length
  const plan: ChaosPlan = { ...calmPlan(scenario), faults: [{ kind: 'kill', boundary: 0 }] }
  return { plan, result, journal, sessions, ledger, inFlight, processes: [], errors: [], unsynced: [] }
}

function readLedger(folder: string, isRepeated: (key: string, index: number) => boolean): ExternalLedger {
  const ledger = new ExternalLedger(new SimulatedDisk())
  for (const trace of readTraces(folder)) {
    if ('act' in trace) {
      ledger.recordAction(trace.act, trace.key)
      continue
    }
    const { call: key, usage } = trace
    ledger.calls.push({ key, usage, repeated: isRepeated(key, ledger.calls.length) })
  }
  return ledger
}
