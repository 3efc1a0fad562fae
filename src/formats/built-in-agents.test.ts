import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { expect, test } from 'vitest'
import type { Agent } from '../kernel/agent.ts'
import { readAgentFolder } from './agent-folder.ts'
import { BUILT_IN_COLLECTION, builtInAgentsFolder, readBuiltInAgents } from './built-in-agents.ts'

function withRelativePath(agent: Agent): Agent {
  if (agent.origin?.by !== 'user' || agent.origin.path === undefined) return agent
  return { ...agent, origin: { ...agent.origin, path: relative(builtInAgentsFolder(), agent.origin.path) } }
}

test('built-in-agents.json equals the files of agents/ (UPDATE_AGENTS=1 writes it)', async () => {
  const { agents, problems } = await readAgentFolder(builtInAgentsFolder(), { collection: BUILT_IN_COLLECTION })
  expect(problems).toEqual([])
  if (process.env.UPDATE_AGENTS === '1')
    writeFileSync(
      new URL('built-in-agents.json', import.meta.url),
      `${JSON.stringify(agents.map(withRelativePath), null, 2)}\n`,
    )
  expect(await readBuiltInAgents()).toEqual(agents)
})
