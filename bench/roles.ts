import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createRoster } from '../src/engine/create-roster.ts'
import { withBuiltInAgents } from '../src/formats/built-in-agents.ts'
import { loadAgents } from '../src/formats/find-agents.ts'
import { teamSchema } from '../src/judgement/team/team-schema.ts'
import type { Embedder } from '../src/kernel/embedder.ts'
import { localEmbedder } from '../src/knowledge/local-embedder.ts'
import { fillRoles } from '../src/patterns/team/form-team.ts'
import { offeredNames } from '../src/requests/agent-summary.ts'
import { HELD_OUT_ROLES, ROLE_DESCRIPTIONS } from '../test/support/role-descriptions.ts'

/* npm run bench:roles [-- --verbose]: how often the agent chosen for an open role of a team (`form.roles`) is one that a person would accept. */

const { verbose } = parseArgs({ options: { verbose: { type: 'boolean' } } }).values
const { agents } = await loadAgents(fileURLToPath(new URL('../test/fixtures/agents/', import.meta.url)))
const roster = createRoster(await withBuiltInAgents(agents))
const SETS = { 'first roles': ROLE_DESCRIPTIONS, 'held out': HELD_OUT_ROLES }
for (const { fits } of Object.values(SETS).flat()) for (const name of fits) roster.get(name)
const embedder = localEmbedder()

process.stdout.write(`${offeredNames(roster).length} agents\n`)
for (const [set, roles] of Object.entries(SETS)) {
  for (const [label, used] of [['words', undefined] as const, ['embeddings', embedder] as const]) {
    const counts = { right: 0, wrong: 0, none: 0 }
    const start = performance.now()
    for (const { fits, ...role } of roles) {
      const uses = await chooseAgent(role, used)
      const outcome = uses === undefined ? 'none' : fits.includes(uses) ? 'right' : 'wrong'
      counts[outcome] += 1
      if (!verbose || outcome === 'right') continue
      const expected = `not ${fits.join(' or ')}`
      process.stdout.write(`  ${label}: ${role.name} (${role.role}) → ${uses ?? 'no agent'}, ${expected}\n`)
    }
    const share = ((100 * counts.right) / roles.length).toFixed(1)
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    process.stdout.write(
      `${set}, ${label}: ${share} % right (${counts.right} of ${roles.length}), ${counts.wrong} wrong, ${counts.none} without an agent; ${seconds} s for all\n`,
    )
  }
}
await embedder.close?.()

function chooseAgent(role: object, used: Embedder | undefined): Promise<string | undefined> {
  const team = teamSchema.parse({ name: 'bench', form: { roles: [role] } })
  const { signal } = new AbortController()
  return fillRoles(team, roster, { embedder: used, signal }).then(
    ({ roles: [filled] }) => filled?.uses,
    () => undefined,
  )
}
