import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { WatchHandlers } from './watch-agents.ts'
import { watchAgentFolders } from './watch-agents.ts'

/** Watches two folders in a simulated file system, with a debounce timer that the test fires. */
function watchSimulated(...folders: string[]) {
  const existing = new Set(folders)
  const watchers = new Map<object, { folder: string; handlers: WatchHandlers }>()
  let pending: (() => void) | undefined
  let calls = 0
  const watcher = watchAgentFolders(['/p/agents', '/h/agents'], () => calls++, {
    watch(folder, _, handlers) {
      if (!existing.has(folder)) throw new Error('ENOENT')
      const created = { close: () => watchers.delete(created) }
      watchers.set(created, { folder, handlers })
      return created
    },
    schedule(task) {
      pending = task
      return { cancel: () => (pending = undefined) }
    },
  })
  return {
    watcher,
    existing,
    watchedFolders: () => [...watchers.values()].map(({ folder }) => folder).sort(),
    emit(folder: string, kind: keyof WatchHandlers = 'change') {
      for (const each of [...watchers.values()]) if (each.folder === folder) each.handlers[kind]()
    },
    /** Fires the debounce timer; returns how often `onChange` was called. */
    fireTimer() {
      const task = pending
      pending = undefined
      task?.()
      return calls
    },
  }
}

describe('watching agent folders', () => {
  test('A16 several changes are debounced into one callback', () => {
    const { emit, fireTimer } = watchSimulated('/', '/p/agents', '/h/agents')
    emit('/p/agents')
    emit('/p/agents')
    emit('/h/agents')
    expect(fireTimer()).toBe(1)
    expect(fireTimer()).toBe(1)
    emit('/h/agents')
    expect(fireTimer()).toBe(2)
  })

  test('A16 a folder created later is watched, and changes to its siblings are ignored', () => {
    const { existing, watchedFolders, emit, fireTimer } = watchSimulated('/', '/p', '/h/agents')
    expect(watchedFolders()).toEqual(['/h/agents', '/p'])
    emit('/p')
    expect(fireTimer()).toBe(0)
    existing.add('/p/agents')
    emit('/p')
    expect(fireTimer()).toBe(1)
    expect(watchedFolders()).toEqual(['/h/agents', '/p/agents'])
    existing.delete('/p/agents')
    emit('/p/agents')
    expect(fireTimer()).toBe(2)
    expect(watchedFolders()).toEqual(['/h/agents', '/p'])
  })

  test('A16 a failed watcher is restarted a limited number of times', () => {
    const { watchedFolders, emit, fireTimer } = watchSimulated('/', '/p/agents', '/h/agents')
    for (let time = 0; time < 20; time++) {
      emit('/p/agents', 'error')
      fireTimer()
    }
    expect(fireTimer()).toBe(5)
    expect(watchedFolders()).toEqual(['/h/agents'])
  })

  test('A16 after close there are no callbacks', () => {
    const { watcher, watchedFolders, emit, fireTimer } = watchSimulated('/', '/p/agents', '/h/agents')
    emit('/p/agents')
    watcher.close()
    expect(fireTimer()).toBe(0)
    expect(watchedFolders()).toEqual([])
  })

  test('A16 a file written to disk triggers a callback', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-watch-'))
    try {
      const agents = join(folder, '.troupe', 'agents')
      const changed = Promise.withResolvers<void>()
      const watcher = watchAgentFolders([agents], changed.resolve, { debounce_ms: 1 })
      await mkdir(agents, { recursive: true })
      await writeFile(join(agents, 'a.md'), 'x')
      await changed.promise
      watcher.close()
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('A16 watching does not keep a process alive', async () => {
    const module = new URL('./watch-agents.ts', import.meta.url).href
    const script = `const { watchAgentFolders } = await import(${JSON.stringify(module)}); watchAgentFolders(['.'], () => {}); console.log('on')`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      timeout: 20_000,
    })
    expect(stdout).toBe('on\n')
  })
})
