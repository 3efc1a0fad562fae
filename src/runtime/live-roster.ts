import { createRoster } from '../engine/create-roster.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Roster } from '../kernel/roster.ts'

/** Where agents come from that were defined since the troupe was created. */
export interface AddedAgents {
  /** Changes when an agent file is added. */
  signature(): Promise<string>
  load(): Promise<Agent[]>
}

/**
 * A roster that takes in added agent files when a run starts: a server lives for weeks. Agents that are known stay as they are, so that
 * the prompts of a run do not change under it.
 */
export async function createLiveRoster(agents: readonly Agent[], source: AddedAgents): Promise<Roster> {
  let roster = createRoster(agents)
  let known = agents
  let lastSignature = await source.signature()
  return {
    get names() {
      return roster.names
    },
    has: (name) => roster.has(name),
    get: (name) => roster.get(name),
    async refresh() {
      const signature = await source.signature()
      if (signature === lastSignature) return
      lastSignature = signature
      const added = (await source.load()).filter(({ name }) => !roster.has(name))
      known = [...known, ...added]
      roster = createRoster(known)
    },
  }
}
