import { isDeepStrictEqual } from 'node:util'
import type { LiveRoster } from '../../../formats/live-roster.ts'
import type { Agent } from '../../../index.ts'
import { agentSearchOptions } from '../agent-roster.ts'
import type { Cli } from '../cli.ts'
import { watchFile } from './watch-file.ts'

/** Follows the files that a conversation rests on; what changed in them is taken up when it is asked for. */
export interface SourceWatcher {
  /** Names of agents that changed since this was last asked. */
  takeChangedAgents(): string[]
  close(): void
}

export interface SourceWatchHandlers {
  /** Who is new or another than before, and who is there no more. */
  agentsChanged(changed: readonly string[], gone: readonly string[]): void
  /** A roster that cannot be read leaves the agents as they were. */
  problem(message: string): void
  teamChanged(): void
}

export async function watchSources(
  cli: Cli,
  file: string | undefined,
  on: SourceWatchHandlers,
): Promise<SourceWatcher> {
  const { openLiveRoster } = await import('../../../formats/live-roster.ts')
  let known: readonly Agent[] = []
  const changed = new Set<string>()
  const roster: LiveRoster = await openLiveRoster(agentSearchOptions(cli), {
    onReload(loaded) {
      if (loaded instanceof Error) {
        on.problem(loaded.message)
        return
      }
      const names = changedAgentNames(known, loaded.agents)
      const there = byName(loaded.agents)
      known = loaded.agents
      for (const name of names) changed.add(name)
      const isThere = (name: string) => there.has(name)
      if (names.length > 0)
        on.agentsChanged(
          names.filter(isThere),
          names.filter((name) => !isThere(name)),
        )
    },
  })
  known = roster.loaded.agents
  const team = file === undefined ? undefined : watchFile(file, on.teamChanged)
  return {
    takeChangedAgents() {
      const names = [...changed]
      changed.clear()
      return names
    },
    close() {
      roster.close()
      team?.close()
    },
  }
}

/** Who is new, gone, or another than before. */
function changedAgentNames(before: readonly Agent[], now: readonly Agent[]): string[] {
  const [old, fresh] = [byName(before), byName(now)]
  return [...new Set([...old.keys(), ...fresh.keys()])].filter(
    (name) => !isDeepStrictEqual(old.get(name), fresh.get(name)),
  )
}

function byName(agents: readonly Agent[]): Map<string, Agent> {
  return new Map(agents.map((agent) => [agent.name, agent]))
}
