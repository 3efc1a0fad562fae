import assert from 'node:assert/strict'
import type { Store } from '../store/store.ts'
import * as append from './store/append-scenes.ts'
import * as gate from './store/gate-scenes.ts'
import * as payload from './store/payload-scenes.ts'
import * as run from './store/run-scenes.ts'
import * as session from './store/session-scenes.ts'
import { snapshot } from './store/snapshot.ts'
import type { StoreStage } from './store/stage.ts'
import type { TestRunner } from './test-runner.ts'

export type { StoreStage } from './store/stage.ts'

/** The behaviour that every `Store` has, wherever it keeps its runs. */
export function storeContract(name: string, open: () => Promise<StoreStage>, runner: TestRunner): void {
  const { describe, test } = runner
  /** Each scene plays in a new store. Where something outlives a store, it is whole and reads the same once more. */
  const on = (scene: (store: Store) => Promise<void>) => async () => {
    const stage = await open()
    try {
      await scene(stage.store)
      assert.deepEqual(await stage.store.check(), [])
      const again = await stage.reopen?.()
      if (again) assert.deepEqual(await snapshot(again), await snapshot(stage.store))
      await again?.close()
    } finally {
      await stage.dispose()
    }
  }

  describe(`${name} keeps the store contract: runs`, () => {
    test('ST1 a run is created with its first event', on(run.createsRuns))
    test('ST1 a second run of the same id and another first event are refused', on(run.refusesBadStarts))
    test('ST2 a run is named after what was asked, in one line without half characters', on(run.namesRuns))
    test('ST2 the row of a run follows its events', on(run.foldsStatus))
    test('ST2 the spend of a run is the exact fold of its journal', on(run.foldsSpend))
    test('ST2 open gates are counted while the run lives', on(run.countsGates))
    test('ST3 a lease has one owner and a new epoch each time', on(run.leases))
    test('ST34 a busy run says in words who works on it', on(run.namesOwners))
    test('ST35 many runs change at once, each with its own outcome', on(run.changesManyRuns))
    test('ST4 renewing names the leases that are lost, releasing a lost one changes nothing', on(run.renewsLeases))
    test('ST15 artifacts have versions, the highest is the newest', on(run.keepsArtifacts))
    test('ST16 runs are listed newest first, by project and status', on(run.listsRuns))
  })

  describe(`${name} keeps the store contract: appends`, () => {
    test('ST5 the owner appends, in order', on(append.appends))
    test('ST5 an append of nothing checks the epoch all the same', on(append.appendsNothing))
    test('ST5 an old epoch is refused and leaves nothing', on(append.refusesOldEpochs))
    test('ST5 a run that nobody leased, or nobody knows, takes no events', on(append.refusesUnleased))
    test('ST6 an append with a hole is refused and leaves nothing', on(append.refusesHoles))
    test('ST7 one refused run does not fail the others of its batch', on(append.isolatesRefusals))
    test('ST7 a run may stand in a batch more than once', on(append.takesOneRunTwice))
    test('ST8 a run does not park past a command it has not seen', on(append.parks))
    test('ST9 events are read by range and by session', on(append.readsRanges))
    test('ST10 values of 5 KB, 100 KB and 3 MB come back the same', on(payload.keepsLarge))
    test('ST10 a large input comes back the same', on(payload.keepsLargeInput))
    test('ST10 lone surrogates, U+0000 and their kin come back the same', on(payload.keepsCharacters))
    test('ST10 values that look like something of the store come back the same', on(payload.keepsLookalikes))
    test('ST10 a large field named __proto__ stays a field', on(payload.keepsProto))
    test('ST10 awkward data of every shape comes back the same', on(payload.keepsAwkward))
    test('ST36 what is said again in a run comes back the same', on(payload.keepsRepeats))
    test('ST36 a text of a refused append counts as not said', on(payload.keepsRepeatsOfRefused))
  })

  describe(`${name} keeps the store contract: sessions, gates, commands`, () => {
    test('ST11 a session follows its segments through runs', on(session.followsSegments))
    test(
      'ST11 an event about a session or gate that is not there is kept and changes no row',
      on(session.ignoresStrays),
    )
    test('ST37 a session is read segment by segment, whole or in part', on(session.readsSessions))
    test('ST37 a long session is read whole', on(session.readsLongSessions))
    test('ST11 a segment that goes on after an interruption stays one', on(session.continuesSegments))
    test('ST12 a session has one holder, also when two claim it at once', on(session.claimsSessions))
    test(
      'ST12 a run that ends frees its sessions, one that reopens has them back unless taken',
      on(session.freesSessions),
    )
    test('ST13 the inbox holds the open gates, oldest first', on(gate.fillsInbox))
    test('ST13 a run that ends leaves the inbox, one that reopens comes back', on(gate.emptiesInbox))
    test('ST14 commands queue in order under rising ids', on(gate.queuesCommands))
    test('SE5 what people ask of a run is kept to the letter', on(gate.keepsSteering))
    test('ST38 commands of all runs are read by their ids', on(gate.readsAllCommands))
    test('ST14 the first answer to a gate wins', on(gate.firstAnswerWins))
    test('ST14 commands to the wrong run, gate or time are refused', on(gate.refusesCommands))
    test('ST16 sessions are listed newest first, by project, run and cache key', on(session.listsSessions))
  })
}
