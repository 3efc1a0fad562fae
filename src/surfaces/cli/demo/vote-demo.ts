/* Four specialists that vote in two rounds, with an equal number for each answer. */

export const VOTE_INPUT = {
  task: 'Token bucket or sliding window for the limit on reset requests?',
  synthesis: 'vote',
  agents: ['security', 'backend', 'operations', 'product'].map((name) => ({ name, role: `${name} specialist` })),
}

const vote = (agent: string, position: readonly [recommendation: string, confidence: number, response: string]) => ({
  when: { agent },
  reply: {
    object: { response: position[2], recommendation: position[0], confidence: position[1], concerns: [] },
    delayMs: 700 + 900 * position[1],
  },
  usage: { input: 1_900, output: 160 },
})

export const voteRules = [
  vote('security', ['Token bucket', 0.9, 'A burst is what an attacker needs; a bucket bounds it per address.']),
  vote('backend', ['Sliding window', 0.7, 'Exact, and our cache already keeps lists of times.']),
  vote('operations', ['Sliding window', 0.6, 'A window is easier to explain when somebody is locked out.']),
  vote('product', ['Token bucket', 0.8, 'People who mistype twice should not have to wait.']),
  { when: { agent: 'judge' }, reply: { object: { pairs: [{ number: 1, same: false }] }, delayMs: 400 } },
]
