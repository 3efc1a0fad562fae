import type { KeyedMutex } from './keyed-mutex.ts'
import type { SeenFiles } from './seen-files.ts'
import type { Workspace } from './workspace.ts'

/** What the tools that read and change files share. */
export interface FileToolDeps {
  workspace: Workspace
  seenFiles: SeenFiles
  /** One change of a file at a time. */
  mutex: KeyedMutex
}
