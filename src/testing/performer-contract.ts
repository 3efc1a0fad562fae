import * as endings from './performer/ending-cases.ts'
import type { PerformerHarness } from './performer/performer-harness.ts'
import * as permissions from './performer/permission-cases.ts'
import * as records from './performer/record-cases.ts'
import type { TestRunner } from './test-runner.ts'

export type { PerformerHarness } from './performer/performer-harness.ts'

/** Contract tests for a `Performer`. */
export function performerContract(
  name: string,
  create: () => Promise<PerformerHarness> | PerformerHarness,
  { describe, test }: TestRunner,
): void {
  const withHarness = (testCase: (harness: PerformerHarness) => Promise<void>) => async () => {
    const harness = await create()
    try {
      await testCase(harness)
    } finally {
      await harness.dispose()
    }
  }
  describe(`${name} satisfies the performer contract`, () => {
    test('PF1 texts, tool calls and plans are in the journal, in order', withHarness(records.recordsUpdates))
    test('PF2 reported usage counts in the run, its session and its cost', withHarness(records.countsUsage))
    test('PF3 a limit that reported usage reaches ends the turn', withHarness(records.stopsAtLimit))
    test('PF4 permission rules decide without asking', withHarness(permissions.appliesRules))
    test('PF4 a person is asked, and the run keeps its worker', withHarness(permissions.asksPerson))
    test('PF5 a parkable performer is left while a person is asked', withHarness(permissions.parksRun))
    test('PF6 an error, or an end without a result, fails the session', withHarness(endings.failsSession))
    test('PF7 a stalled performer is stopped at the deadline of its agent', withHarness(endings.stopsAtDeadline))
    test('PF7 a cancelled run stops its performer and keeps the text', withHarness(endings.stopsOnCancel))
    test('PF8 an interrupted turn continues in its own session', withHarness(endings.resumesTurn))
    test('PF9 an interrupted turn without a session is not repeated', withHarness(endings.reportsUnknownOutcome))
    test('PF10 a later instruction continues the session of the performer', withHarness(endings.continuesSession))
  })
}
