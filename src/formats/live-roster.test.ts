import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findAgents } from './find-agents.ts'
import { openLiveRoster } from './live-roster.ts'
import type { WatchHandlers } from './watch-agents.ts'

test('A16 a live roster reloads when files change, and an invalid file keeps the previous agent', async () => {
  const project = await mkdtemp(join(tmpdir(), 'troupe-live-'))
  const folder = join(project, '.troupe', 'agents')
  await mkdir(folder, { recursive: true })
  const put = (name: string) => writeFile(join(folder, `${name}.md`), `---\nname: ${name}\ndescription: d\n---\nGo.`)
  const watchers: WatchHandlers[] = []
  let reloaded = Promise.withResolvers<unknown>()
  const reload = async () => {
    reloaded = Promise.withResolvers()
    for (const handlers of [...watchers]) handlers.change()
    return reloaded.promise
  }
  try {
    await put('first')
    const live = await openLiveRoster(
      { project, builtIn: false },
      {
        watch(watched, _, handlers) {
          if (watched === folder) watchers.push(handlers)
          return { close: () => watchers.splice(watchers.indexOf(handlers), 1) }
        },
        schedule(task) {
          task()
          return { cancel() {} }
        },
        onReload: (loaded) => reloaded.resolve(loaded),
      },
    )
    expect(live.roster.names).toEqual(['first'])
    await put('second')
    await reload()
    expect(live.roster.names).toEqual(['first', 'second'])
    expect(live.roster.get('second').instructions).toBe('Go.')
    expect(live.loaded.problems).toEqual([])
    await writeFile(join(folder, 'first.md'), '---\nname: first\ndescr')
    await reload()
    expect(live.roster.names).toEqual(['second', 'first'])
    expect(live.loaded.problems).toMatchObject([{ level: 'error', path: join(folder, 'first.md') }])
    await rm(join(folder, 'first.md'))
    await reload()
    expect(live.roster.names).toEqual(['second'])
    await rm(folder, { recursive: true })
    await reload()
    expect(live.roster.has('second')).toBe(false)
    live.close()
    expect(watchers).toEqual([])
  } finally {
    await rm(project, { recursive: true })
  }
})

test('A16 a reload in progress when the roster is closed does not call onReload', async () => {
  const project = await mkdtemp(join(tmpdir(), 'troupe-live-'))
  const folder = join(project, '.troupe', 'agents')
  await mkdir(folder, { recursive: true })
  const watchers: WatchHandlers[] = []
  const reloads: unknown[] = []
  const open = () =>
    openLiveRoster(
      { project, builtIn: false },
      {
        watch(_folder, _options, handlers) {
          watchers.push(handlers)
          return { close() {} }
        },
        schedule(task) {
          task()
          return { cancel() {} }
        },
        onReload: (loaded) => reloads.push(loaded),
      },
    )
  const waitForReloads = async () => {
    for (let count = 0; count < 5; count++) await findAgents({ project, builtIn: false })
  }
  try {
    const live = await open()
    watchers[0]?.change()
    await waitForReloads()
    expect(reloads).toHaveLength(1)
    watchers[0]?.change()
    live.close()
    await waitForReloads()
    expect(reloads).toHaveLength(1)
  } finally {
    await rm(project, { recursive: true })
  }
})
