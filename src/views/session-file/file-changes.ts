import type { Event } from '../../kernel/event.ts'
import type { SessionFileChanges } from './pattern-session-file.ts'

type Change = 'created' | 'modified' | 'deleted'

/** What became of each file in the end: a file that was created and deleted again has not changed. */
export class FileChangeLog {
  private readonly changes = new Map<string, Change>()

  /** Adds the changes that an event reports. */
  add(event: Event): void {
    if (event.type === 'tool:post' || event.type === 'tool:error') {
      const { files = [], created = [], deleted = [] } = event.data
      for (const path of files) this.addChange(path, created.includes(path) ? 'created' : 'modified')
      for (const path of deleted) this.addChange(path, 'deleted')
    }
    if (event.type === 'session:end') {
      for (const { path, change, from } of event.data.worktree?.files ?? []) {
        // Compared with the commit that the work began at, so git knows better than the calls.
        if (change === 'renamed' && from !== undefined) this.changes.set(from, 'deleted')
        this.changes.set(path, change === 'renamed' ? 'created' : change)
      }
    }
  }

  private addChange(path: string, change: Change): void {
    const before = this.changes.get(path)
    if (before === 'created' && change === 'deleted') this.changes.delete(path)
    else if (before === 'created') return
    else if (before !== undefined && change !== 'deleted') this.changes.set(path, 'modified')
    else this.changes.set(path, change)
  }

  get files(): SessionFileChanges {
    const paths = (wanted: Change) => [...this.changes].filter(([, change]) => change === wanted).map(([path]) => path)
    return { files_created: paths('created'), files_modified: paths('modified'), files_deleted: paths('deleted') }
  }
}
