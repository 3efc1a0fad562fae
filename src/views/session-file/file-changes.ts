import type { Event } from '../../kernel/event.ts'
import type { SessionFileChanges } from './pattern-session-file.ts'

type Change = 'created' | 'modified' | 'deleted'

/** What became of each file in the end: a file that was created and deleted again has not changed. */
export function changedFiles(events: readonly Event[]): SessionFileChanges {
  const changes = new Map<string, Change>()
  for (const event of events) {
    if (event.type === 'tool:post' || event.type === 'tool:error') {
      const { files = [], created = [], deleted = [] } = event.data
      for (const path of files) addChange(changes, path, created.includes(path) ? 'created' : 'modified')
      for (const path of deleted) addChange(changes, path, 'deleted')
    }
    if (event.type === 'session:end') {
      for (const { path, change, from } of event.data.worktree?.files ?? []) {
        // Compared with the commit that the work began at, so git knows better than the calls.
        if (change === 'renamed' && from !== undefined) changes.set(from, 'deleted')
        changes.set(path, change === 'renamed' ? 'created' : change)
      }
    }
  }
  const paths = (wanted: Change) => [...changes].filter(([, change]) => change === wanted).map(([path]) => path)
  return { files_created: paths('created'), files_modified: paths('modified'), files_deleted: paths('deleted') }
}

function addChange(changes: Map<string, Change>, path: string, change: Change): void {
  const before = changes.get(path)
  if (before === 'created' && change === 'deleted') changes.delete(path)
  else if (before === 'created') return
  else changes.set(path, before !== undefined && change !== 'deleted' ? 'modified' : change)
}
