import type { Roster } from '../kernel/roster.ts'
import { createRoster } from '../kernel/roster.ts'
import type { LoadedAgents } from './agent-folder.ts'
import type { FindAgentsOptions } from './find-agents.ts'
import { agentSources, findAgents } from './find-agents.ts'
import type { WatchAgentsOptions } from './watch-agents.ts'
import { watchAgentFolders } from './watch-agents.ts'

/*
 * 1. An agent whose file has an error keeps its previous definition: a half-saved file must not remove it.
 * 2. Reloads never run concurrently; a change during a reload triggers another one.
 * 3. After `close`, `onReload` is not called, not even for a reload in progress.
 */

/** A roster that reloads when agent files change. */
export interface LiveRoster {
  /** Always reads the latest agents. */
  readonly roster: Roster
  readonly loaded: LoadedAgents
  close(): void
}

export interface LiveRosterOptions extends WatchAgentsOptions {
  /** Called after each reload, with the agents or the error that prevented it. */
  onReload?(loaded: LoadedAgents | Error): unknown
}

/** Loads the agents and reloads them when their files change, for long-running commands. */
export async function openLiveRoster(search: FindAgentsOptions, options: LiveRosterOptions = {}): Promise<LiveRoster> {
  let loaded = await findAgents(search)
  let roster = createRoster(loaded.agents)
  let isReloading = false
  let isStale = false
  let isClosed = false

  async function reload(): Promise<void> {
    isReloading = true
    do {
      isStale = false
      try {
        const next = keepUnreadableAgents(await findAgents(search), loaded)
        if (isClosed) return
        roster = createRoster(next.agents)
        loaded = next
        await options.onReload?.(next)
      } catch (error) {
        if (!isClosed) await options.onReload?.(error as Error)
      }
    } while (isStale)
    isReloading = false
  }

  const folders = (await agentSources(search)).map(({ folder }) => folder)
  const watcher = watchAgentFolders(
    folders,
    () => {
      isStale = true
      if (!isReloading) void reload()
    },
    options,
  )
  return {
    roster: {
      get names() {
        return roster.names
      },
      get: (name) => roster.get(name),
      has: (name) => roster.has(name),
    },
    get loaded() {
      return loaded
    },
    close() {
      isClosed = true
      watcher.close()
    },
  }
}

function keepUnreadableAgents(next: LoadedAgents, previous: LoadedAgents): LoadedAgents {
  const brokenPaths = new Set(next.problems.flatMap(({ level, path }) => (level === 'error' ? [path] : [])))
  const names = new Set(next.agents.map(({ name }) => name))
  const kept = previous.agents.filter(
    ({ name, origin }) => !names.has(name) && origin?.by === 'user' && brokenPaths.has(origin.path ?? ''),
  )
  return { agents: [...next.agents, ...kept], problems: next.problems }
}
