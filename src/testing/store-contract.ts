import assert from 'node:assert/strict'
import { openMemory } from '../store/sqlite.ts'
import type { Store } from '../store/store.ts'
import { verifyRows } from '../store/verify-rows.ts'
import * as append from './store/append-cases.ts'
import * as change from './store/change-cases.ts'
import * as deletion from './store/deletion-cases.ts'
import * as gate from './store/gate-cases.ts'
import * as payload from './store/payload-cases.ts'
import * as rate from './store/rate-cases.ts'
import * as run from './store/run-cases.ts'
import * as search from './store/search-cases.ts'
import * as session from './store/session-cases.ts'
import type { StoreHarness } from './store/store-harness.ts'
import * as table from './store/table-cases.ts'
import type { TestRunner } from './test-runner.ts'

export type { StoreHarness } from './store/store-harness.ts'

/** Contract tests for a `Store`. */
export function storeContract(name: string, open: () => Promise<StoreHarness>, runner: TestRunner): void {
  const { describe, test } = runner
  /** Runs a case in a new store, checks its integrity and, if it is persistent, that it reads the same when reopened. */
  const withStore = (testCase: (store: Store, harness: StoreHarness) => Promise<void>) => async () => {
    const harness = await open()
    try {
      await testCase(harness.store, harness)
      assert.deepEqual(await harness.store.checkIntegrity(), [])
      await assertRowsFollowJournals(harness.store)
      const reopened = await harness.reopen?.()
      if (reopened) assert.deepEqual(await storeSnapshot(reopened), await storeSnapshot(harness.store))
      await reopened?.close()
    } finally {
      await harness.dispose()
    }
  }
  /** Runs a case with a second store on the same data; with the same store if it is not persistent. */
  const withSecondStore = (testCase: (store: Store, other: Store) => Promise<void>) => async () => {
    const harness = await open()
    const other = await harness.reopen?.()
    try {
      await testCase(harness.store, other ?? harness.store)
    } finally {
      await other?.close()
      await harness.dispose()
    }
  }

  describe(`${name} satisfies the store contract: runs`, () => {
    test('ST1 a run is created with its first event', withStore(run.createsRuns))
    test(
      'ST1 a duplicate run id and a first event other than run:start are rejected',
      withStore(run.rejectsInvalidStarts),
    )
    test('ST2 the title of a run is one line of its input, without lone surrogates', withStore(run.titlesRuns))
    test('ST2 the row of a run follows its events', withStore(run.projectsStatus))
    test('ST2 the usage of a run is the exact fold of its journal', withStore(run.projectsSpend))
    test('ST2 open gates are counted until the run ends', withStore(run.countsOpenGates))
    test('ST3 a lease has one owner and a new epoch each time', withStore(run.grantsExclusiveLeases))
    test('ST3 a lease is taken over only from an owner that is named as dead', withStore(run.takesOverFromDeadOwners))
    test('ST41 leases expire by the clock of the store', withStore(run.expiresLeases))
    test('ST52 a run is created under a lease', withStore(run.createsLeasedRuns))
    test('ST53 the lease is given back with the last events', withStore(run.releasesWithAppend))
    test('ST3 run_busy names the owner of the lease', withStore(run.describesOwners))
    test('ST35 concurrent changes to many runs succeed or fail independently', withStore(run.updatesManyRuns))
    test('ST4 renew returns the lost leases; releasing a lost lease changes nothing', withStore(run.renewsLeases))
    test('ST15 artifacts have versions; the highest is the newest', withStore(run.versionsArtifacts))
    test('ST16 runs are listed newest first, by project, status and tags', withStore(run.listsRuns))
    test('ST76 runs are found by words', withStore(search.findsRunsByWords))
    test('ST77 runs are counted by status', withStore(search.countsRuns))
    test('ST65 runs that may need a process are listed oldest first', withStore(run.listsClaimableRuns))
  })

  describe(`${name} satisfies the store contract: deletion`, () => {
    test(
      'ST60 a deleted run is gone with its sessions, gates and commands, and no other run changes',
      withStore(deletion.deletesRuns),
    )
    test('ST61 a run that is leased is not deleted', withStore(deletion.keepsBusyRuns))
    test('ST62 runs that share a session or read one are deleted only together', withStore(deletion.keepsLinkedRuns))
    test('ST63 values that other runs use stay, also for stores that are open', withStore(deletion.keepsSharedValues))
  })

  describe(`${name} satisfies the store contract: appends`, () => {
    test('ST5 the owner appends events in order', withStore(append.appendsInOrder))
    test('ST5 an empty append still checks the epoch', withStore(append.acceptsEmptyAppend))
    test('ST5 an append with an old epoch is rejected and stores nothing', withStore(append.rejectsOldEpochs))
    test('ST5 an append to an unleased or unknown run is rejected', withStore(append.rejectsWithoutLease))
    test('ST6 an append with a sequence gap is rejected and stores nothing', withStore(append.rejectsSequenceGaps))
    test('ST7 a rejected append does not fail the others of its batch', withStore(append.isolatesRejections))
    test('ST7 a batch may contain a run more than once', withStore(append.acceptsRunTwiceInBatch))
    test('ST35 appends of different runs may be in flight together', withStore(append.acceptsConcurrentAppends))
    test('ST8 a run cannot park while an unseen command waits', withStore(append.parksConditionally))
    test('ST9 events are read by range and by session', withStore(append.readsRanges))
    test('ST82 whole journals are read verified', withStore(append.verifiesWholeJournals))
    test('ST44 events of several runs are read by type', withStore(append.readsEventsOfRuns))
    test('ST10 values of 5 KB, 100 KB and 3 MB round-trip', withStore(payload.keepsLargeValues))
    test('ST10 a large input round-trips', withStore(payload.keepsLargeInput))
    test('ST10 lone surrogates, U+0000 and other unusual characters round-trip', withStore(payload.keepsCharacters))
    test("ST10 values that look like the store's own markers round-trip", withStore(payload.keepsLookalikes))
    test('ST10 a large field named __proto__ stays a field', withStore(payload.keepsProtoField))
    test('ST10 random edge-case data round-trips', withStore(payload.keepsEdgeCases))
    test('ST30 repeated text in a run round-trips', withStore(payload.keepsRepeatedText))
    test(
      'ST30 text of a rejected append is written again with the next event',
      withStore(payload.ignoresTextOfRejectedAppends),
    )
  })

  describe(`${name} satisfies the store contract: sessions, gates, commands`, () => {
    test('ST11 a session row tracks its segments across runs', withStore(session.tracksSegments))
    test(
      'ST11 an event of an unknown session or gate is stored and changes no row',
      withStore(session.ignoresUnknownSessions),
    )
    test('ST37 a session is read across its segments, completely or by range', withStore(session.readsSessions))
    test('ST37 a long session is read completely', withStore(session.readsLongSessions))
    test(
      'ST11 a segment resumed after an interruption stays one segment',
      withStore(session.continuesInterruptedSegment),
    )
    test('ST12 a session has one holder, even when two runs claim it at once', withStore(session.claimsSessions))
    test('ST12 a session is claimed only in its project and for its agent', withStore(session.checksSessionClaims))
    test(
      'ST12 an ended run releases its sessions; a reopened run holds them again unless claimed',
      withStore(session.releasesSessions),
    )
    test('ST13 openGates lists the open gates, oldest first', withStore(gate.listsOpenGates))
    test(
      'ST13 gates of an ended run are not open; reopening the run restores them',
      withStore(gate.removesGatesOfEndedRuns),
    )
    test('ST14 commands queue in order with increasing ids', withStore(gate.queuesCommands))
    test('SE5 steer commands are stored unchanged', withStore(gate.keepsSteerCommands))
    test('ST38 commands of all runs are read by id', withStore(gate.readsAllCommands))
    test('ST14 the first answer to a gate wins', withStore(gate.acceptsFirstAnswerOnly))
    test('ST14 commands to the wrong run, gate or time are rejected', withStore(gate.rejectsMisdirectedCommands))
    test('ST16 sessions are listed newest first, by project, run and cache key', withStore(session.listsSessions))
  })

  describe(`${name} satisfies the store contract: token buckets and vectors`, () => {
    test('ST46 a token bucket is shared by all stores on the same data', withSecondStore(rate.sharesBuckets))
    test('ST46 a token bucket refills by the clock of the store', withStore(rate.refillsBuckets))
    test('ST46 a token bucket refills after the clock was set back', withStore(rate.refillsAfterClockJump))
    test('ST47 vectors are kept by project and collection', withSecondStore(rate.keepsVectors))
  })

  describe(`${name} satisfies the store contract: tables of patterns`, () => {
    test('ST66 rows follow the events of the declared types, also earlier ones', withStore(table.keepsRows))
    test(
      'ST66 an event changes the row that another run of the project inserted',
      withStore(table.changesRowsOfOtherRuns),
    )
    test('ST66 a rejected append changes no row', withStore(table.changesNothingWhenRejected))
    test('ST67 rows are queried by project, conditions, order and limit', withStore(table.queriesRows))
    test('ST67 rows are read page by page while others are added', withStore(table.pagesRows))
    test('ST67 a query with unknown names or unsuitable values is rejected', withStore(table.rejectsInvalidQueries))
    test(
      'ST68 invalid and taken names of tables, columns and indexes are rejected',
      withStore(table.rejectsInvalidTables),
    )
    test(
      'ST69 tables with a changed declaration are computed again, unless it is older',
      withSecondStore(table.rebuildsChangedTables),
    )
    test(
      'ST70 rows that a process without the projection missed are computed later',
      withSecondStore(table.computesMissedRows),
    )
    test('ST60 deleting a run deletes its rows', withSecondStore(table.deletesRowsOfRuns))
    test('ST72 rows that a fork inherited are told apart', withStore(table.tellsInheritedRowsApart))
    test('ST72 what a fork inherits changes no row of another run again', withStore(table.inheritsNoChangeOfOtherRuns))
    test('ST86 a change with conditions updates rows of its run only', withStore(table.updatesRowsOfRun))
    test(
      'ST66 ST86 the end of a run is projected that began before the tables',
      withStore(table.projectsEndsOfEarlierRuns),
    )
    test(
      'ST86 with the scope `project` it updates rows of other runs, but no copies of forks',
      withStore(table.updatesRowsOfProject),
    )
    test(
      'ST73 a projection that fails does not fail the append and is reported',
      withSecondStore(table.survivesFailingProjections),
    )
  })

  describe(`${name} satisfies the store contract: change notifications`, () => {
    test('ST54 commits and commands notify subscribers, in order and once', withStore(change.notifiesOfCommits))
    test(
      'ST55 commits and commands of another process notify subscribers',
      withSecondStore(change.notifiesOfOtherStores),
    )
  })
}

/** The rows of every run are those that its journal gives in an empty store. Runs that share a session change each other's rows. */
async function assertRowsFollowJournals(store: Store): Promise<void> {
  for (const project of ['default', 'other']) {
    const runs = await Promise.all(
      (await store.runs({ project })).map(async (row) => ({ row, events: await store.events(row.run_id) })),
    )
    const sessions = runs.flatMap(({ events }) => [...new Set(events.map(({ session_id }) => session_id))])
    const shared = new Set(sessions.filter((id, index) => id !== undefined && sessions.indexOf(id) !== index))
    const empty = openMemory()
    for (const run of runs)
      if (!run.events.some(({ session_id }) => shared.has(session_id)))
        assert.deepEqual(await verifyRows(store, empty, run), [])
  }
}

/** Reads everything that a store holds about the projects of the test cases. */
async function storeSnapshot(store: Store): Promise<unknown> {
  const projects = ['default', 'other']
  const runs = (await Promise.all(projects.map((project) => store.runs({ project })))).flat()
  return {
    runs,
    sessions: await Promise.all(projects.map((project) => store.sessions({ project }))),
    inbox: await store.openGates({}),
    journals: await Promise.all(
      runs.map(async ({ run_id }) => ({
        events: await store.events(run_id),
        commands: await store.commands(run_id, 0),
        artifacts: await store.artifacts(run_id),
      })),
    ),
  }
}
