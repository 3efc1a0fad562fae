import type { KeyedMutex } from './keyed-mutex.ts'
import type { ReportedChanges } from './reported-changes.ts'
import type { SeenFiles } from './seen-files.ts'
import type { Workspace } from './workspace.ts'

/** Dependencies that `Read`, `Write` and `Edit` share. */
export interface FileToolDeps {
  workspace: Workspace
  seenFiles: SeenFiles
  /** Keyed by path: one change of a file at a time. */
  mutex: KeyedMutex
  reportedChanges: ReportedChanges
}
