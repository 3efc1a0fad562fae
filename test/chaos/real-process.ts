import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Usage } from '../../src/kernel/model.ts'
import type { RunResult } from '../../src/runtime/run-handle.ts'
import type { Troupe } from '../../src/runtime/troupe.ts'
import { createTroupe } from '../../src/runtime/troupe.ts'
import type { Store } from '../../src/store/store.ts'
import type { RunScenario } from './chaos-run.ts'
import { processStore } from './process-store.ts'
import { referenceModel } from './reference-model.ts'
import type { ExternalSystem, FaultHooks } from './reference-run.ts'
import { agents, limits, prices, RUN_ID, referenceTools, startEvent } from './reference-run.ts'

/*
 * The reference run in a real process, on a real store. What happens outside is a file that every process appends to;
 * what passes a boundary is counted, and at one of them the process kills itself.
 */

export type Trace = { call: string; usage: Usage } | { act: string; key: string }

const NOBODY: AbortSignal = new AbortController().signal

export function fileExternalSystem(folder: string): ExternalSystem {
  const path = join(folder, 'outside.jsonl')
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
  const lines = readFileSync(join(folder, 'outside.jsonl'), 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Trace)
}

/** A scene that calls `strike` at each boundary, with how many it has passed. */
export function realFaultHooks(folder: string, strike: (passed: number) => void): FaultHooks & { passed: number } {
  const scene = {
    external: fileExternalSystem(folder),
    active_calls: new Set<string>(),
    passed: 0,
    passBoundary() {
      scene.passed += 1
      strike(scene.passed)
      return undefined
    },
    delay: (what: string) => (what === 'model' ? nextTurn(undefined, { signal: NOBODY }) : undefined),
  }
  return scene
}

export function openRealTroupe(store: Store, scene: FaultHooks, other?: RunScenario): Promise<Troupe> {
  const between = {
    dead: false,
    passBoundary: scene.passBoundary,
    delay: () => undefined,
    refuseAppend: () => undefined,
  }
  const writes = {
    append: store.append.bind(store),
    change: <T>(_synced: boolean, redo: (inner: Store) => Promise<T>) => redo(store),
  }
  const wrapped = processStore(between, () => store, writes)
  const model = referenceModel(scene, other?.respond)
  const usual = { store: wrapped, model, tools: referenceTools(scene), agents, limits, models: { prices } }
  return createTroupe({ ...usual, ...other?.options })
}

/** Starts the run unless it is there, goes on with it, and answers its question. */
export async function runToEnd(troupe: Troupe, start: RunScenario['start'] = startEvent): Promise<RunResult> {
  const known = await troupe.store.run(RUN_ID)
  if (!known) await troupe.store.createRun(start(Date.now()))
  let result = await (await troupe.resume(RUN_ID, { force: true })).result
  while (result.status === 'waiting') {
    const [gate] = result.gates
    const handle = gate ? await troupe.answer(gate.gate_id, 'yes') : await troupe.resume(RUN_ID)
    result = await handle.result
  }
  return result
}
