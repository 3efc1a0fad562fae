/* Parts of the scripts for the live demo. */

export interface DemoTurn {
  text?: string
  toolCalls?: { name: string; input: object }[]
  object?: object
  delayMs: number
}

export const call = (name: string, input: object) => ({ name, input })
export const read = (file_path: string) => call('Read', { file_path })
export const write = (file_path: string, content: string) => call('Write', { file_path, content })
export const edit = (file_path: string, change: { old_string: string; new_string: string }) =>
  call('Edit', { file_path, ...change })
export const delegate = (agent: string, instruction: string) => call('task', { agent, instruction })

/** One rule per turn of a session that began with these words. */
export function turns(agent: string, words: string, replies: readonly DemoTurn[]) {
  return replies.map((reply, index) => ({
    when: { agent, turn: index + 1, ...(index === 0 ? { says: words } : { heard: words }) },
    reply,
    usage: { input: 9_000 + 4_200 * index, output: 380 + 90 * index },
  }))
}
