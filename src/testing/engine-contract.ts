import assert from 'node:assert/strict'
import { verifyJournal } from '../audit/verify-journal.ts'
import type { Event } from '../kernel/event.ts'
import type { Store } from '../store/store.ts'
import * as sharing from './engine/concurrency-cases.ts'
import type { EngineHarness } from './engine/engine-harness.ts'
import * as ending from './engine/lifecycle-cases.ts'
import * as waiting from './engine/waiting-cases.ts'
import type { TestRunner } from './test-runner.ts'

export type { EngineHarness, EngineHarnessOptions, EngineProcess } from './engine/engine-harness.ts'

/** The behaviour that every `Engine` has. */
export function engineContract(
  name: string,
  make: () => Promise<EngineHarness> | EngineHarness,
  { describe, test }: TestRunner,
): void {
  const on = (scene: (stage: EngineHarness) => Promise<void>) => async () => {
    const stage = await make()
    try {
      await scene(stage)
      for (const row of await stage.store.runs({ project: 'default' }))
        await expectValidJournal(stage.store, row.run_id)
    } finally {
      await stage.dispose()
    }
  }
  describe(`${name} keeps the engine contract`, () => {
    test('E1 a run is executed to its end, and its result is there when execute returns', on(ending.completesRun))
    test('E2 a run that is under way is joined, not started again', on(sharing.joinsActiveRun))
    test('E3 an unknown run is refused', on(ending.rejectsUnknownRun))
    test('E4 a run parks at a gate, holds no lease meanwhile, and goes on after the answer', on(waiting.parksAtGate))
    test('E4 an answer given at another engine makes it go on there', on(waiting.resumesInOtherEngine))
    test('E4 an answer given while the run is parking is not lost', on(waiting.keepsAnswerWhileParking))
    test('E5 cancelling reaches every descendant and keeps what they had', on(waiting.cancelsDescendants))
    test('E5 a run that waits for a person is cancelled too', on(waiting.cancelsWaitingRun))
    test(
      'E6 draining lets what is in flight finish, starts nothing, and leaves runs resumable',
      on(ending.drainsInFlightRuns),
    )
    test('E7 no more runs than allowed are at work at once, and all get their turn', on(sharing.limitsConcurrency))
    test(
      'E8 a run that keeps crashing is put aside, and taken up again by force only',
      on(ending.quarantinesCrashingRun),
    )
    test(
      'E9 a second engine is refused while the first one lives, and takes over when it is gone',
      on(sharing.rejectsSecondEngine),
    )
    test(
      'E10 listeners hear committed events in order, and one that throws harms nothing',
      on(sharing.notifiesListeners),
    )
    test('E11 a failed run taken up again repeats the failing step alone', on(ending.retriesFailedStep))
    test('E13 a session resumed right after its end finds all of its past', on(waiting.resumesEndedSession))
    test(
      'E12 what a run leaves behind when it ends is stopped, and writes nothing any more',
      on(ending.stopsLeftoverWork),
    )
  })
}

async function expectValidJournal(store: Store, run_id: string): Promise<void> {
  const events: Event[] = await store.events(run_id)
  assert.deepEqual(verifyJournal(events), [])
}
