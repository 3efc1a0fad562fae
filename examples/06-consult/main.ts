import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { createTroupe } from 'troupe'

// An agent asks a specialist in the middle of its work; the orchestrator chooses which one. Runs offline: the replies come from script.json.
const script = fileURLToPath(new URL('script.json', import.meta.url))
const troupe = await createTroupe({ store: 'memory', model: `scripted:${script}`, embedder: false })

const instruction = 'What should the sign-up form do when the user exists?'
const result = await troupe.run('task', { agent: 'default', instruction })

const [row] = await troupe.query({ table: 'agent_collaborations', where: { run_id: result.run_id } }).all()
assert.equal(row?.status, 'resolved')
assert.equal(row.specialist_agent, 'backend_developer')
assert.equal(result.usage.calls, 4)
console.log(result.output?.response)
await troupe.close()
