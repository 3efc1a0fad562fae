import type { Roster } from '../kernel/roster.ts'
import { createRoster } from '../kernel/roster.ts'
import type { LoadedAgents } from './agent-folder.ts'
import type { FindAgentsOptions } from './find-agents.ts'
import { agentSources, findAgents } from './find-agents.ts'
import type { WatchAgentsOptions } from './watch-agents.ts'
import { watchAgentFolders } from './watch-agents.ts'

/*
 * 1. An agent whose file cannot be read stays as it was: a file that is half saved takes nobody away.
 * 2. Loads do not overtake each other; a change during one is followed by another.
 * 3. After it is closed nobody is told anything, not even of a load that was under way.
 */

/** Agents that follow their files. */
export interface LiveRoster {
  /** Looks agents up as they are now. */
  readonly roster: Roster
  readonly loaded: LoadedAgents
  close(): void
}

export interface LiveRosterOptions extends WatchAgentsOptions {
  /** Called after each new load, and with what prevented one. */
  onReload?(loaded: LoadedAgents | Error): void
}

/** For commands that run for long: loads the agents, and again when their files change. */
export async function openLiveRoster(find: FindAgentsOptions, options: LiveRosterOptions = {}): Promise<LiveRoster> {
  let loaded = await findAgents(find)
  let roster = createRoster(loaded.agents)
  let loading = false
  let again = false
  let closed = false

  async function reload(): Promise<void> {
    loading = true
    do {
      again = false
      try {
        const next = keepUnreadableAgents(await findAgents(find), loaded)
        if (closed) return
        roster = createRoster(next.agents)
        loaded = next
        options.onReload?.(next)
      } catch (error) {
        if (!closed) options.onReload?.(error as Error)
      }
    } while (again)
    loading = false
  }

  const folders = (await agentSources(find)).map(({ folder }) => folder)
  const watch = watchAgentFolders(
    folders,
    () => {
      again = true
      if (!loading) void reload()
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
      closed = true
      watch.close()
    },
  }
}

function keepUnreadableAgents(next: LoadedAgents, before: LoadedAgents): LoadedAgents {
  const broken = new Set(next.problems.flatMap(({ level, path }) => (level === 'error' ? [path] : [])))
  const names = new Set(next.agents.map(({ name }) => name))
  const kept = before.agents.filter(
    ({ name, origin }) => !names.has(name) && origin?.by === 'user' && broken.has(origin.path ?? ''),
  )
  return { agents: [...next.agents, ...kept], problems: next.problems }
}
