import type { SessionOpen } from '../event.ts'

/** The size that environments are rounded up to. */
const ENVIRONMENT_BYTES = 512

/** The agent's instructions and, if it works in a folder, the section about it: last, because prompt caches match prefixes. */
export function systemPrompt({ agent, environment }: SessionOpen): string {
  if (environment === undefined) return agent.instructions
  return agent.instructions === '' ? environment : `${agent.instructions}\n\n${environment}`
}

/** Upper bound of the bytes of the system prompt. Environments are rounded up, so that runs of the same work reserve the same in another folder. */
export function systemPromptBytes({ agent, environment }: SessionOpen): number {
  const instructions = Buffer.byteLength(agent.instructions)
  if (environment === undefined) return instructions
  return instructions + Math.ceil((Buffer.byteLength(environment) + 2) / ENVIRONMENT_BYTES) * ENVIRONMENT_BYTES
}
