import assert from 'node:assert/strict'
import type { Event } from '../kernel/event.ts'
import { verifyJournal } from '../kernel/verify.ts'
import type { Store } from '../store/store.ts'
import * as ending from './engine/ending.ts'
import * as sharing from './engine/sharing.ts'
import type { EngineStage } from './engine/stage.ts'
import * as waiting from './engine/waiting.ts'
import type { TestRunner } from './test-runner.ts'

export type { EngineParts, EngineProcess, EngineStage } from './engine/stage.ts'

/** The behaviour that every `Engine` has. */
export function engineContract(
  name: string,
  make: () => Promise<EngineStage> | EngineStage,
  { describe, test }: TestRunner,
): void {
  const on = (scene: (stage: EngineStage) => Promise<void>) => async () => {
    const stage = await make()
    try {
      await scene(stage)
      for (const row of await stage.store.runs({ project: 'default' })) await keepsRules(stage.store, row.run_id)
    } finally {
      await stage.dispose()
    }
  }
  describe(`${name} keeps the engine contract`, () => {
    test('E1 a run is executed to its end, and its result is there when execute returns', on(ending.completes))
    test('E2 a run that is under way is joined, not started again', on(sharing.joins))
    test('E3 an unknown run is refused', on(ending.unknown))
    test('E4 a run parks at a gate, holds no lease meanwhile, and goes on after the answer', on(waiting.parks))
    test('E4 an answer given at another engine makes it go on there', on(waiting.answeredElsewhere))
    test('E4 an answer given while the run is parking is not lost', on(waiting.answeredWhileParking))
    test('E5 cancelling reaches every descendant and keeps what they had', on(waiting.cancels))
    test('E5 a run that waits for a person is cancelled too', on(waiting.cancelsWaiting))
    test('E6 draining lets what is in flight finish, starts nothing, and leaves runs resumable', on(ending.drains))
    test('E7 no more runs than allowed are at work at once, and all get their turn', on(sharing.limits))
    test('E8 a run that keeps crashing is put aside, and taken up again by force only', on(ending.quarantines))
    test('E9 a second engine is refused while the first one lives, and takes over when it is gone', on(sharing.refuses))
    test('E10 listeners hear committed events in order, and one that throws harms nothing', on(sharing.tells))
    test('E11 a failed run taken up again repeats the failing step alone', on(ending.reopens))
    test('E13 a session resumed right after its end finds all of its past', on(waiting.resumesAtOnce))
    test('E12 what a run leaves behind when it ends is stopped, and writes nothing any more', on(ending.stopsRest))
  })
}

async function keepsRules(store: Store, run_id: string): Promise<void> {
  const events: Event[] = await store.events(run_id)
  assert.deepEqual(verifyJournal(events), [])
}
