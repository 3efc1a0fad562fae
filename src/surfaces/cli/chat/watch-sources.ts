import { isDeepStrictEqual } from 'node:util'
import type { LiveRoster } from '../../../formats/live-roster.ts'
import type { Agent } from '../../../index.ts'
import { projectFolder, trustedSearchOptions, usesTrustedAgents } from '../agent-roster.ts'
import type { Cli } from '../cli.ts'
import { watchFile } from './watch-file.ts'

/** Watches the agent files and the team file of a conversation. */
export interface SourceWatcher {
  /** Returns and clears the names of changed agents. */
  takeChangedAgents(): string[]
  close(): void
}

export interface SourceWatchHandlers {
  /** `changed` contains new and modified agents. */
  onAgentsChange(changed: readonly string[], deleted: readonly string[]): void
  /** The roster could not be read; the previous agents stay in use. */
  onProblem(message: string): void
  onTeamChange(): void
}

export async function watchSources(
  cli: Cli,
  file: string | undefined,
  handlers: SourceWatchHandlers,
): Promise<SourceWatcher> {
  const { openLiveRoster } = await import('../../../formats/live-roster.ts')
  let currentAgents: readonly Agent[] = []
  const changed = new Set<string>()
  const roster: LiveRoster = await openLiveRoster(await trustedSearchOptions(cli), {
    async onReload(loaded) {
      if (loaded instanceof Error) {
        handlers.onProblem(loaded.message)
        return
      }
      if (await isUntrustedChange(cli)) {
        handlers.onProblem(UNTRUSTED_CHANGE)
        return
      }
      const names = changedAgentNames(currentAgents, loaded.agents)
      const byName = agentsByName(loaded.agents)
      currentAgents = loaded.agents
      for (const name of names) changed.add(name)
      const exists = (name: string) => byName.has(name)
      if (names.length > 0)
        handlers.onAgentsChange(
          names.filter(exists),
          names.filter((name) => !exists(name)),
        )
    },
  })
  currentAgents = roster.loaded.agents
  const team = file === undefined ? undefined : watchFile(file, handlers.onTeamChange)
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

const UNTRUSTED_CHANGE =
  'files of the project have changed since you trusted them, and are not used. Restart the chat: it shows the changes and asks.'

/** A change that was pulled or planted while the chat is open must not take effect unseen. */
async function isUntrustedChange(cli: Cli): Promise<boolean> {
  if (!usesTrustedAgents(cli)) return false
  const { isProjectTrusted } = await import('../../../formats/project-trust.ts')
  return !(await isProjectTrusted(projectFolder(cli)))
}

/** Names of added, deleted and modified agents. */
function changedAgentNames(previous: readonly Agent[], current: readonly Agent[]): string[] {
  const [before, after] = [agentsByName(previous), agentsByName(current)]
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => !isDeepStrictEqual(before.get(name), after.get(name)),
  )
}

function agentsByName(agents: readonly Agent[]): Map<string, Agent> {
  return new Map(agents.map((agent) => [agent.name, agent]))
}
