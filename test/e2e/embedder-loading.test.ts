import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const ENTRY = new URL('../../src/index.ts', import.meta.url).href
const TIMEOUT_MS = 120_000

interface VoteProcess {
  method: string
  /** Worker threads that were started: the embedder runs in one. */
  threads: number
}

/** Votes in a fresh process with the default embedder; the agents recommend the texts in turn. */
async function voteInProcess(texts: readonly string[], input: object): Promise<VoteProcess> {
  const program = `
    let threads = 0
    process.on('worker', () => { threads += 1 })
    const { createTroupe } = await import(${JSON.stringify(ENTRY)})
    const texts = ${JSON.stringify(texts)}
    let next = 0
    async function* stream() {
      const recommendation = texts[next++ % texts.length]
      const answer = { response: recommendation, recommendation, confidence: 0.9, concerns: [], questions: [] }
      yield { type: 'text', text: JSON.stringify(answer) }
      yield { type: 'finish', stop: 'end', usage: { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 } }
    }
    const troupe = await createTroupe({ store: 'memory', model: { name: 'double', stream } })
    const agents = ['a', 'b', 'c'].map((name) => ({ name, role: 'voter' }))
    const { output, error } = await troupe.run('collaborate', { task: 'Decide.', agents, synthesis: 'vote', ...${JSON.stringify(input)} })
    if (error) throw new Error(error.message)
    await troupe.close()
    console.log(JSON.stringify({ method: output.consensus.method, threads }))`
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], { cwd })
  return JSON.parse(stdout)
}

test(
  'a vote of one-word answers or categories starts no thread for the embedding model; one of sentences does',
  async () => {
    expect(await voteInProcess(['blue', 'red', 'Blue'], {})).toEqual({ method: 'text', threads: 0 })
    const categories = ['approve it now', 'reject it']
    const chosen = await voteInProcess(['approve it now', 'reject it', 'reject it'], { categories })
    expect(chosen).toEqual({ method: 'text', threads: 0 })
    // Guards against a vacuous test: threads are counted.
    const sentences = ['Offer the customer a refund', 'Give people their money back', 'Ask legal about the details']
    expect((await voteInProcess(sentences, {})).threads).toBe(1)
  },
  TIMEOUT_MS,
)
