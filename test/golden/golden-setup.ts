import { z } from 'zod'
import type { Agent, Tool, TroupeOptions } from '../../src/index.ts'
import { defineTool } from '../../src/index.ts'
import { functionModel, lastMessageText, lastResultSessionId } from '../support/test-troupe.ts'

/** Agents, tools and model of the golden journals. Frozen: journals of old releases resume with exactly these. */

const agents: Agent[] = ['lead', 'scout', 'scribe'].map((name) => ({
  name,
  description: `${name} of the golden journals`,
  instructions: `You are ${name}.`,
}))

/** Tools that record their effects by idempotency key. */
export function externalSystem(): { effects: Map<string, string>; tools: Tool[] } {
  const effects = new Map<string, string>()
  const write = defineTool({
    name: 'write',
    description: 'Writes a line.',
    kind: 'act',
    category: 'action',
    input: z.object({ line: z.string() }),
    execute({ line }, { idempotency_key }) {
      effects.set(idempotency_key, line)
      return { success: true, output: 'written', files: ['log.txt'] }
    },
    recover: (_input, { idempotency_key }) =>
      effects.has(idempotency_key) ? { success: true, output: 'written' } : undefined,
  })
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    kind: 'read',
    category: 'perception',
    input: z.object({}),
    execute: () => ({ success: true, output: 'a tree' }),
  })
  return { effects, tools: [write, look] }
}

const taskCall = (agent: string, instruction: string) => ({ name: 'task', input: { agent, instruction } })

/** The lead delegates to two sessions, resumes one, asks a human question, acts, and responds. */
function goldenModel() {
  return functionModel((request) => {
    const { agent, turn } = request.session
    if (agent === 'scout') return turn === 1 ? { calls: [{ name: 'look', input: {} }] } : { text: 'I saw a tree.' }
    if (agent === 'scribe') return turn === 1 ? { text: 'Ready.' } : { text: 'Noted.' }
    if (turn === 1) return { text: 'Asking.', calls: [taskCall('scout', 'look'), taskCall('scribe', 'be ready')] }
    if (turn === 2) {
      const session_id =
        /"session_id":"([^"]+_scribe)"/.exec(lastMessageText(request))?.[1] ?? lastResultSessionId(request)
      return { calls: [{ name: 'task', input: { session_id, instruction: 'note the tree' } }] }
    }
    if (turn === 3) return { calls: [{ name: 'ask_user', input: { question: 'Keep it?', choices: ['yes', 'no'] } }] }
    if (turn === 4) return { calls: [{ name: 'write', input: { line: 'tree' } }] }
    return { text: 'A tree was seen, noted and kept.' }
  })
}

export const goldenInput = { agent: 'lead', instruction: 'Find out.' }

export function goldenOptions(tools: Tool[]): TroupeOptions {
  return { model: goldenModel(), agents, tools }
}
