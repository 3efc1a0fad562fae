import type { SeenFiles } from './seen.ts'
import type { TurnsByName } from './turns-by-name.ts'
import type { Workspace } from './workspace.ts'

/** What the tools that read and change files share. */
export interface FileTools {
  workspace: Workspace
  seen: SeenFiles
  /** One change of a file at a time. */
  turns: TurnsByName
}
