import assert from 'node:assert/strict'
import type { Store } from '../store/store.ts'
import * as append from './store/append-cases.ts'
import * as gate from './store/gate-cases.ts'
import * as payload from './store/payload-cases.ts'
import * as run from './store/run-cases.ts'
import * as session from './store/session-cases.ts'
import type { StoreHarness } from './store/store-harness.ts'
import { storeSnapshot } from './store/store-snapshot.ts'
import type { TestRunner } from './test-runner.ts'

export type { StoreHarness } from './store/store-harness.ts'

/** The behaviour that every `Store` has, wherever it keeps its runs. */
export function storeContract(name: string, open: () => Promise<StoreHarness>, runner: TestRunner): void {
  const { describe, test } = runner
  /** Each scene plays in a new store. Where something outlives a store, it is whole and reads the same once more. */
  const on = (scene: (store: Store) => Promise<void>) => async () => {
    const stage = await open()
    try {
      await scene(stage.store)
      assert.deepEqual(await stage.store.checkIntegrity(), [])
      const again = await stage.reopen?.()
      if (again) assert.deepEqual(await storeSnapshot(again), await storeSnapshot(stage.store))
      await again?.close()
    } finally {
      await stage.dispose()
    }
  }

  describe(`${name} keeps the store contract: runs`, () => {
    test('ST1 a run is created with its first event', on(run.createsRuns))
    test('ST1 a second run of the same id and another first event are refused', on(run.refusesInvalidStarts))
    test('ST2 a run is named after what was asked, in one line without half characters', on(run.titlesRuns))
    test('ST2 the row of a run follows its events', on(run.projectsStatus))
    test('ST2 the spend of a run is the exact fold of its journal', on(run.projectsSpend))
    test('ST2 open gates are counted while the run lives', on(run.countsOpenGates))
    test('ST3 a lease has one owner and a new epoch each time', on(run.grantsExclusiveLeases))
    test('ST34 a busy run says in words who works on it', on(run.describesOwners))
    test('ST35 many runs change at once, each with its own outcome', on(run.updatesManyRuns))
    test('ST4 renewing names the leases that are lost, releasing a lost one changes nothing', on(run.renewsLeases))
    test('ST15 artifacts have versions, the highest is the newest', on(run.versionsArtifacts))
    test('ST16 runs are listed newest first, by project and status', on(run.listsRuns))
  })

  describe(`${name} keeps the store contract: appends`, () => {
    test('ST5 the owner appends, in order', on(append.appendsInOrder))
    test('ST5 an append of nothing checks the epoch all the same', on(append.acceptsEmptyAppend))
    test('ST5 an old epoch is refused and leaves nothing', on(append.refusesOldEpochs))
    test('ST5 a run that nobody leased, or nobody knows, takes no events', on(append.refusesWithoutLease))
    test('ST6 an append with a hole is refused and leaves nothing', on(append.refusesSequenceGaps))
    test('ST7 one refused run does not fail the others of its batch', on(append.isolatesRefusals))
    test('ST7 a run may stand in a batch more than once', on(append.acceptsRunTwiceInBatch))
    test('ST8 a run does not park past a command it has not seen', on(append.parksConditionally))
    test('ST9 events are read by range and by session', on(append.readsRanges))
    test('ST10 values of 5 KB, 100 KB and 3 MB come back the same', on(payload.keepsLargeValues))
    test('ST10 a large input comes back the same', on(payload.keepsLargeInput))
    test('ST10 lone surrogates, U+0000 and their kin come back the same', on(payload.keepsCharacters))
    test('ST10 values that look like something of the store come back the same', on(payload.keepsLookalikes))
    test('ST10 a large field named __proto__ stays a field', on(payload.keepsProtoField))
    test('ST10 awkward data of every shape comes back the same', on(payload.keepsEdgeCases))
    test('ST36 what is said again in a run comes back the same', on(payload.keepsRepeatedText))
    test('ST36 a text of a refused append counts as not said', on(payload.ignoresTextOfRefusedAppends))
  })

  describe(`${name} keeps the store contract: sessions, gates, commands`, () => {
    test('ST11 a session follows its segments through runs', on(session.tracksSegments))
    test(
      'ST11 an event about a session or gate that is not there is kept and changes no row',
      on(session.ignoresUnknownSessions),
    )
    test('ST37 a session is read segment by segment, whole or in part', on(session.readsSessions))
    test('ST37 a long session is read whole', on(session.readsLongSessions))
    test('ST11 a segment that goes on after an interruption stays one', on(session.continuesInterruptedSegment))
    test('ST12 a session has one holder, also when two claim it at once', on(session.claimsSessions))
    test(
      'ST12 a run that ends frees its sessions, one that reopens has them back unless taken',
      on(session.releasesSessions),
    )
    test('ST13 the inbox holds the open gates, oldest first', on(gate.listsOpenGates))
    test('ST13 a run that ends leaves the inbox, one that reopens comes back', on(gate.removesGatesOfEndedRuns))
    test('ST14 commands queue in order under rising ids', on(gate.queuesCommands))
    test('SE5 what people ask of a run is kept to the letter', on(gate.keepsSteerCommands))
    test('ST38 commands of all runs are read by their ids', on(gate.readsAllCommands))
    test('ST14 the first answer to a gate wins', on(gate.acceptsFirstAnswerOnly))
    test('ST14 commands to the wrong run, gate or time are refused', on(gate.refusesMisdirectedCommands))
    test('ST16 sessions are listed newest first, by project, run and cache key', on(session.listsSessions))
  })
}
