import assert from 'node:assert/strict'
import { verifyJournal } from '../../src/audit/verify-journal.ts'
import type { Event } from '../../src/kernel/event.ts'
import type { Store } from '../../src/store/store.ts'
import type { TestRunner } from '../../src/testing/test-runner.ts'
import * as claims from './claim-cases.ts'
import * as concurrency from './concurrency-cases.ts'
import type { EngineHarness } from './engine-harness.ts'
import * as lifecycle from './lifecycle-cases.ts'
import * as waiting from './waiting-cases.ts'

/** Contract tests for an `Engine`. */
export function engineContract(
  name: string,
  create: () => Promise<EngineHarness> | EngineHarness,
  { describe, test }: TestRunner,
): void {
  const withHarness = (testCase: (harness: EngineHarness) => Promise<void>) => async () => {
    const harness = await create()
    try {
      await testCase(harness)
      for (const row of await harness.store.runs({ project: 'default' }))
        await expectValidJournal(harness.store, row.run_id)
    } finally {
      await harness.dispose()
    }
  }
  describe(`${name} satisfies the engine contract`, () => {
    test('E1 execute runs to the end, and the result is committed when it returns', withHarness(lifecycle.completesRun))
    test('E19 start creates a run and executes it', withHarness(lifecycle.startsRun))
    test('E19 a run that cannot be stored leaves nothing behind', withHarness(lifecycle.rejectsDuplicateRun))
    test('E19 a command sent right after start is applied', withHarness(waiting.cancelsStartedRun))
    test('P6 executing a running run joins it instead of starting it again', withHarness(concurrency.joinsActiveRun))
    test('P1 executing an unknown run is rejected', withHarness(lifecycle.rejectsUnknownRun))
    test('E4 a run parks at a gate without a lease and resumes after the answer', withHarness(waiting.parksAtGate))
    test('E4 an answer given to another engine resumes the run there', withHarness(waiting.resumesInOtherEngine))
    test('E4 an answer that arrives while the run parks is not lost', withHarness(waiting.keepsAnswerWhileParking))
    test(
      'E5 cancel reaches every descendant session and keeps its partial text',
      withHarness(waiting.cancelsDescendants),
    )
    test('E5 a run that waits at a gate can be cancelled', withHarness(waiting.cancelsWaitingRun))
    test(
      'P7 drain finishes steps in flight, starts nothing new and leaves runs resumable',
      withHarness(lifecycle.drainsInFlightRuns),
    )
    test(
      'E7 at most `concurrency` runs execute at once, and every queued run gets its turn',
      withHarness(concurrency.limitsConcurrency),
    )
    test(
      'E8 a run that keeps crashing is quarantined and resumes only with force',
      withHarness(lifecycle.quarantinesCrashingRun),
    )
    test(
      'E9 a second engine gets run_busy while the owner lives and takes over after it dies',
      withHarness(concurrency.rejectsSecondEngine),
    )
    test(
      'J6 H1 listeners get committed events in order, and a throwing listener affects no run',
      withHarness(concurrency.notifiesListeners),
    )
    test('E11 resuming a failed run repeats only the failing step', withHarness(lifecycle.retriesFailedStep))
    test('E16 a submitted run is executed once, however often it is submitted', withHarness(claims.submitsRun))
    test('E17 claim takes the runs of a project, oldest first', withHarness(claims.claimsOldestRun))
    test('E17 claim takes runs of dead owners and answered runs', withHarness(claims.claimsAbandonedRuns))
    test('E17 claim takes nothing while all slots are taken or the engine drains', withHarness(claims.limitsClaims))
    test('E20 claim passes over runs that this process cannot execute', withHarness(claims.skipsUnusableRuns))
    test('E16 a queued run that another process claims resolves when it ends', withHarness(claims.resolvesClaimedStart))
    test('E18 engines that claim at the same time never get the same run', withHarness(claims.claimsEachRunOnce))
    test('S9 a session resumed right after its end has its whole history', withHarness(waiting.resumesEndedSession))
    test(
      'E12 work left over when a run ends is stopped and appends nothing after run:end',
      withHarness(lifecycle.stopsLeftoverWork),
    )
  })
}

async function expectValidJournal(store: Store, run_id: string): Promise<void> {
  const events: Event[] = await store.events(run_id)
  assert.deepEqual(verifyJournal(events), [])
}
