import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { withBuiltInAgents } from '../src/formats/built-in-agents.ts'
import { loadAgents } from '../src/formats/find-agents.ts'
import { teamSchema } from '../src/judgement/team/team-schema.ts'
import { createRoster, offeredNames } from '../src/kernel/roster.ts'
import { localEmbedder } from '../src/knowledge/local-embedder.ts'
import { fillRoles } from '../src/patterns/team/form-team.ts'
import { ROLE_DESCRIPTIONS } from '../test/support/role-descriptions.ts'

/* npm run bench:roles [-- --verbose]: how often the agent chosen for an open role of a team (`form.roles`) is one that a person would accept. */

const { verbose } = parseArgs({ options: { verbose: { type: 'boolean' } } }).values
const { agents } = await loadAgents(fileURLToPath(new URL('../test/fixtures/agents/', import.meta.url)))
const roster = createRoster(await withBuiltInAgents(agents))
for (const { fits } of ROLE_DESCRIPTIONS) for (const name of fits) roster.get(name)
const embedder = localEmbedder()
const { signal } = new AbortController()

process.stdout.write(`${ROLE_DESCRIPTIONS.length} roles, ${offeredNames(roster).length} agents\n`)
for (const [label, used] of [['words', undefined] as const, ['embeddings', embedder] as const]) {
  const counts = { right: 0, wrong: 0, none: 0 }
  const start = performance.now()
  for (const { fits, ...role } of ROLE_DESCRIPTIONS) {
    const team = teamSchema.parse({ name: 'bench', form: { roles: [role] } })
    const uses = await fillRoles(team, roster, { embedder: used, signal }).then(
      ({ roles: [filled] }) => filled?.uses,
      () => undefined,
    )
    const outcome = uses === undefined ? 'none' : fits.includes(uses) ? 'right' : 'wrong'
    counts[outcome] += 1
    if (verbose && outcome !== 'right') {
      process.stdout.write(
        `  ${label}: ${role.name} (${role.role}) → ${uses ?? 'no agent'}, not ${fits.join(' or ')}\n`,
      )
    }
  }
  const share = ((100 * counts.right) / ROLE_DESCRIPTIONS.length).toFixed(1)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  process.stdout.write(
    `${label.padEnd(12)}${share} % right (${counts.right}), ${counts.wrong} wrong, ${counts.none} without an agent; ${seconds} s for all\n`,
  )
}
await embedder.close?.()
