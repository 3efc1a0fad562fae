import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findAgents } from './find-agents.ts'
import { openLiveRoster } from './live-roster.ts'
import type { WatchHandlers } from './watch-agents.ts'

test('A16 a roster follows its files; what cannot be read takes nobody away', async () => {
  const project = await mkdtemp(join(tmpdir(), 'troupe-live-'))
  const folder = join(project, '.troupe', 'agents')
  await mkdir(folder, { recursive: true })
  const put = (name: string) => writeFile(join(folder, `${name}.md`), `---\nname: ${name}\ndescription: d\n---\nGo.`)
  const events: WatchHandlers[] = []
  let told = Promise.withResolvers<unknown>()
  const changed = async () => {
    told = Promise.withResolvers()
    for (const on of [...events]) on.change()
    return told.promise
  }
  try {
    await put('first')
    const live = await openLiveRoster(
      { project, builtIn: false },
      {
        watch(watched, _, on) {
          if (watched === folder) events.push(on)
          return { close: () => events.splice(events.indexOf(on), 1) }
        },
        schedule(task) {
          task()
          return { cancel() {} }
        },
        onReload: (loaded) => told.resolve(loaded),
      },
    )
    expect(live.roster.names).toEqual(['first'])
    await put('second')
    await changed()
    expect(live.roster.names).toEqual(['first', 'second'])
    expect(live.roster.get('second').instructions).toBe('Go.')
    expect(live.loaded.problems).toEqual([])
    await writeFile(join(folder, 'first.md'), '---\nname: first\ndescr')
    await changed()
    expect(live.roster.names).toEqual(['second', 'first'])
    expect(live.loaded.problems).toMatchObject([{ level: 'error', path: join(folder, 'first.md') }])
    await rm(join(folder, 'first.md'))
    await changed()
    expect(live.roster.names).toEqual(['second'])
    await rm(folder, { recursive: true })
    await changed()
    expect(live.roster.has('second')).toBe(false)
    live.close()
    expect(events).toEqual([])
  } finally {
    await rm(project, { recursive: true })
  }
})

test('A16 a load that was under way when the roster was closed is told to nobody', async () => {
  const project = await mkdtemp(join(tmpdir(), 'troupe-live-'))
  const folder = join(project, '.troupe', 'agents')
  await mkdir(folder, { recursive: true })
  const events: WatchHandlers[] = []
  const told: unknown[] = []
  const open = () =>
    openLiveRoster(
      { project, builtIn: false },
      {
        watch(_folder, _how, on) {
          events.push(on)
          return { close() {} }
        },
        schedule(task) {
          task()
          return { cancel() {} }
        },
        onReload: (loaded) => told.push(loaded),
      },
    )
  const settled = async () => {
    for (let count = 0; count < 5; count++) await findAgents({ project, builtIn: false })
  }
  try {
    const live = await open()
    events[0]?.change()
    await settled()
    expect(told).toHaveLength(1)
    events[0]?.change()
    live.close()
    await settled()
    expect(told).toHaveLength(1)
  } finally {
    await rm(project, { recursive: true })
  }
})
