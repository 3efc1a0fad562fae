import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Usage } from '../../src/kernel/model.ts'
import type { Store } from '../../src/store/store.ts'
import type { RunResult } from '../../src/troupe/run.ts'
import type { Troupe } from '../../src/troupe.ts'
import { createTroupe } from '../../src/troupe.ts'
import type { OtherRun } from './play.ts'
import { processStore } from './process-store.ts'
import type { Outside, Scene } from './reference.ts'
import { agents, limits, prices, RUN_ID, startEvent, tools } from './reference.ts'
import { referenceModel } from './reference-model.ts'

/*
 * The reference run in a real process, on a real store. What happens outside is a file that every process appends to;
 * what passes a boundary is counted, and at one of them the process kills itself.
 */

export type Trace = { call: string; usage: Usage } | { act: string; key: string }

const NOBODY: AbortSignal = new AbortController().signal

export function outsideIn(folder: string): Outside {
  const path = join(folder, 'outside.jsonl')
  appendFileSync(path, '')
  const write = (trace: Trace) => {
    const file = openSync(path, 'a')
    writeSync(file, `${JSON.stringify(trace)}\n`)
    fsyncSync(file)
    closeSync(file)
  }
  return {
    called: (call, usage) => write({ call, usage }),
    act: (act, key) => write({ act, key }),
    acted: (key) => tracesIn(folder).some((trace) => 'key' in trace && trace.key === key),
  }
}

export function tracesIn(folder: string): Trace[] {
  const lines = readFileSync(join(folder, 'outside.jsonl'), 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Trace)
}

/** A scene that calls `strike` at each boundary, with how many it has passed. */
export function realScene(folder: string, strike: (passed: number) => void): Scene & { passed: number } {
  const scene = {
    outside: outsideIn(folder),
    inside: new Set<string>(),
    passed: 0,
    at() {
      scene.passed += 1
      strike(scene.passed)
      return undefined
    },
    delay: (what: string) => (what === 'model' ? nextTurn(undefined, { signal: NOBODY }) : undefined),
  }
  return scene
}

export function openReal(store: Store, scene: Scene, other?: OtherRun): Promise<Troupe> {
  const between = { dead: false, at: scene.at, delay: () => undefined, refuse: () => undefined }
  const writes = {
    append: store.append.bind(store),
    change: <T>(_synced: boolean, redo: (inner: Store) => Promise<T>) => redo(store),
  }
  const wrapped = processStore(between, () => store, writes)
  const model = referenceModel(scene, other?.answers)
  const usual = { store: wrapped, model, tools: tools(scene), agents, limits, models: { prices } }
  return createTroupe({ ...usual, ...other?.options })
}

/** Starts the run unless it is there, goes on with it, and answers its question. */
export async function workOn(troupe: Troupe, start: OtherRun['start'] = startEvent): Promise<RunResult> {
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
