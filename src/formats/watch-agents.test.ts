import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { WatchHandlers } from './watch-agents.ts'
import { watchAgentFolders } from './watch-agents.ts'

/** A file system in which folders come and go by hand, and a clock that runs on command. */
function stage(...folders: string[]) {
  const there = new Set(folders)
  const watches = new Map<object, { folder: string; on: WatchHandlers }>()
  let waiting: (() => void) | undefined
  let calls = 0
  const watcher = watchAgentFolders(['/p/agents', '/h/agents'], () => calls++, {
    watch(folder, _, on) {
      if (!there.has(folder)) throw new Error('ENOENT')
      const watch = { close: () => watches.delete(watch) }
      watches.set(watch, { folder, on })
      return watch
    },
    schedule(task) {
      waiting = task
      return { cancel: () => (waiting = undefined) }
    },
  })
  return {
    watcher,
    there,
    watched: () => [...watches.values()].map(({ folder }) => folder).sort(),
    fire(folder: string, kind: keyof WatchHandlers = 'change') {
      for (const each of [...watches.values()]) if (each.folder === folder) each.on[kind]()
    },
    quiet() {
      const task = waiting
      waiting = undefined
      task?.()
      return calls
    },
  }
}

describe('watching', () => {
  test('A16 many changes are told once, when it is quiet', () => {
    const { fire, quiet } = stage('/', '/p/agents', '/h/agents')
    fire('/p/agents')
    fire('/p/agents')
    fire('/h/agents')
    expect(quiet()).toBe(1)
    expect(quiet()).toBe(1)
    fire('/h/agents')
    expect(quiet()).toBe(2)
  })

  test('A16 a folder that is made later is watched; what happens beside it is not told', () => {
    const { there, watched, fire, quiet } = stage('/', '/p', '/h/agents')
    expect(watched()).toEqual(['/h/agents', '/p'])
    fire('/p')
    expect(quiet()).toBe(0)
    there.add('/p/agents')
    fire('/p')
    expect(quiet()).toBe(1)
    expect(watched()).toEqual(['/h/agents', '/p/agents'])
    there.delete('/p/agents')
    fire('/p/agents')
    expect(quiet()).toBe(2)
    expect(watched()).toEqual(['/h/agents', '/p'])
  })

  test('A16 a watch that fails is begun again, but not for ever', () => {
    const { watched, fire, quiet } = stage('/', '/p/agents', '/h/agents')
    for (let time = 0; time < 20; time++) {
      fire('/p/agents', 'error')
      quiet()
    }
    expect(quiet()).toBe(5)
    expect(watched()).toEqual(['/h/agents'])
  })

  test('A16 after closing nothing is told', () => {
    const { watcher, watched, fire, quiet } = stage('/', '/p/agents', '/h/agents')
    fire('/p/agents')
    watcher.close()
    expect(quiet()).toBe(0)
    expect(watched()).toEqual([])
  })

  test('A16 a file that is really written is told', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'troupe-watch-'))
    try {
      const agents = join(folder, '.troupe', 'agents')
      const told = Promise.withResolvers<void>()
      const watcher = watchAgentFolders([agents], told.resolve, { debounce_ms: 1 })
      await mkdir(agents, { recursive: true })
      await writeFile(join(agents, 'a.md'), 'x')
      await told.promise
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
