import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Usage } from '../../src/kernel/model.ts'
import type { RunResult } from '../../src/runtime/run-handle.ts'
import type { Troupe } from '../../src/runtime/troupe.ts'
import type { Store } from '../../src/store/store.ts'
import { createTroupeWithStore, storeOf } from '../support/test-troupe.ts'
import type { RunScenario } from './chaos-run.ts'
import { processStore } from './process-store.ts'
import { referenceModel } from './reference-model.ts'
import type { ExternalSystem, FaultHooks } from './reference-run.ts'
import { agents, limits, prices, RUN_ID, referenceTools, startEvent } from './reference-run.ts'

/*
 * The reference run in a real process on a real store. The external systems are a file that every process appends to. A
 * process counts the boundaries it passes and may kill itself at one of them.
 */

export type Trace = { call: string; usage: Usage } | { act: string; key: string }

const NEVER_ABORTED: AbortSignal = new AbortController().signal

export function fileExternalSystem(folder: string): ExternalSystem {
  const path = join(folder, 'external.jsonl')
  appendFileSync(path, '')
  const write = (trace: Trace) => {
    const file = openSync(path, 'a')
    writeSync(file, `${JSON.stringify(trace)}\n`)
    fsyncSync(file)
    closeSync(file)
  }
  return {
    recordCall: (call, usage) => write({ call, usage }),
    recordAction: (act, key) => write({ act, key }),
    hasActed: (key) => readTraces(folder).some((trace) => 'key' in trace && trace.key === key),
  }
}

export function readTraces(folder: string): Trace[] {
  const lines = readFileSync(join(folder, 'external.jsonl'), 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Trace)
}

/** Hooks that call `onBoundary` with the number of boundaries passed. */
export function realFaultHooks(folder: string, onBoundary: (passed: number) => void): FaultHooks & { passed: number } {
  const hooks = {
    external: fileExternalSystem(folder),
    active_calls: new Set<string>(),
    passed: 0,
    passBoundary() {
      hooks.passed += 1
      onBoundary(hooks.passed)
      return undefined
    },
    delay: (operation: string) => (operation === 'model' ? nextTurn(undefined, { signal: NEVER_ABORTED }) : undefined),
  }
  return hooks
}

export function openRealTroupe(store: Store, hooks: FaultHooks, scenario?: RunScenario): Promise<Troupe> {
  const faults = {
    dead: false,
    passBoundary: hooks.passBoundary,
    delay: () => undefined,
    rejectAppend: () => undefined,
  }
  const writes = {
    append: store.append.bind(store),
    change: <T>(_synced: boolean, apply: (inner: Store) => Promise<T>) => apply(store),
  }
  const wrapped = processStore(faults, () => store, writes)
  const model = referenceModel(hooks, scenario?.respond)
  const options = { store: wrapped, model, tools: referenceTools(hooks), agents, limits, models: { prices } }
  return createTroupeWithStore({ ...options, ...scenario?.options })
}

/** Creates the run unless it exists, resumes it, and answers its gates. */
export async function runToEnd(troupe: Troupe, start: RunScenario['start'] = startEvent): Promise<RunResult> {
  const store = storeOf(troupe)
  if (!(await store.run(RUN_ID))) await store.createRun(start(Date.now()))
  let result = await (await troupe.resume(RUN_ID, { force: true })).result
  while (result.status === 'waiting') {
    const [gate] = result.gates
    const handle = gate ? await troupe.answer(gate.gate_id, 'yes') : await troupe.resume(RUN_ID)
    result = await handle.result
  }
  return result
}
