import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLiveRoster } from './live-roster.ts'
import type { WatchEvents } from './watch-agents.ts'

test('A16 a roster follows its files; what cannot be read takes nobody away', async () => {
  const project = await mkdtemp(join(tmpdir(), 'troupe-live-'))
  const folder = join(project, '.troupe', 'agents')
  await mkdir(folder, { recursive: true })
  const put = (name: string) => writeFile(join(folder, `${name}.md`), `---\nname: ${name}\ndescription: d\n---\nGo.`)
  const events: WatchEvents[] = []
  let told = Promise.withResolvers<unknown>()
  const changed = async () => {
    told = Promise.withResolvers()
    for (const on of [...events]) on.change()
    return told.promise
  }
  try {
    await put('first')
    const live = await openLiveRoster(
      { project, shipped: false },
      {
        watch(watched, _, on) {
          if (watched === folder) events.push(on)
          return { close: () => events.splice(events.indexOf(on), 1) }
        },
        later(task) {
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
