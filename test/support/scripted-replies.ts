import { expect } from 'vitest'
import { TroupeError } from '../../src/errors.ts'
import type { Message, ModelChunk, ModelRequest, SessionInfo } from '../../src/kernel/model.ts'
import type { Script } from '../../src/models/scripted.ts'
import { scriptedModel } from '../../src/models/scripted.ts'
import { collectChunks } from '../../src/testing/model-contract.ts'

export function session(changes: Partial<SessionInfo>): SessionInfo {
  return { run_id: 'run', session_id: 'session', agent: 'default', turn: 1, marks: [], ...changes }
}

export function toolMessage(...results: [name: string, text: string][]): Message {
  const content = results.map(([name, text], index) => ({
    type: 'tool-result' as const,
    id: `call_1_${index}`,
    name,
    text,
    is_error: false,
  }))
  return { role: 'tool', content }
}

export const neverAborted = () => new AbortController().signal

export async function collectReply(script: Script, request: ModelRequest): Promise<ModelChunk[]> {
  const { chunks, thrown } = await collectChunks(scriptedModel(script).stream(request, neverAborted()))
  if (thrown) throw thrown
  return chunks
}

export async function replyText(script: Script, request: ModelRequest): Promise<string> {
  return (await collectReply(script, request)).map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('')
}

/** Runs the script and returns the error it must throw. */
export async function failure(
  script: Script,
  request: ModelRequest,
): Promise<TroupeError & { mark?: string; usage?: unknown }> {
  const { thrown } = await collectChunks(scriptedModel(script).stream(request, neverAborted()))
  expect(thrown).toBeInstanceOf(TroupeError)
  return thrown as TroupeError
}
