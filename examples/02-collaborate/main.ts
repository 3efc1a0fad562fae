import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { CollaborateOutput } from 'troupe'
import { createTroupe } from 'troupe'
import { parse } from 'yaml'

// A review, a debate and a divided task. Runs offline: the replies come from the JSON file beside each YAML file.
async function collaborate(name: string): Promise<CollaborateOutput> {
  const file = (ending: string) => fileURLToPath(new URL(`${name}.${ending}`, import.meta.url))
  const troupe = await createTroupe({ store: 'memory', model: `scripted:${file('json')}` })
  const { status, output, usage } = await troupe.run('collaborate', parse(await readFile(file('yaml'), 'utf8')))
  await troupe.close()
  assert.ok(output)
  assert.equal(status, 'completed')
  assert.equal(output.metadata.status, 'completed')
  assert.equal(output.metadata.total_tokens, usage.input + usage.output)
  return output
}

const review = await collaborate('review')
assert.deepEqual(review.consensus.supporting, ['security', 'testing'])
assert.deepEqual(review.consensus.dissenting, ['code-quality'])
assert.equal(review.consensus.agreement_score, 2 / 3)

const debate = await collaborate('debate')
assert.equal(debate.consensus.has_consensus, true)
assert.deepEqual(debate.consensus.dissenting, ['advocate (microservices-advocate)'])

const product = await collaborate('product')
assert.equal(product.metadata.mode, 'hierarchical')
assert.deepEqual(
  product.contributions.filter(({ subtask }) => subtask !== undefined).map(({ agent }) => agent),
  ['backend-specialist', 'frontend-specialist', 'infra-specialist'],
)

for (const { result } of [review, debate, product]) console.log(`${result.split('\n')[0]}\n`)
