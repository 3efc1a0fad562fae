import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Performer, PerformerHost, PerformerResult, PerformerTurn } from '../../src/performers/performer.ts'
import type { PerformerScript } from '../../src/testing/scripted-performer.ts'
import { scriptFor } from '../../src/testing/scripted-performer.ts'

const AGENT = fileURLToPath(new URL('./json-lines-agent.ts', import.meta.url))

type Agent = ChildProcessByStdio<Writable, Readable, null>

/** A performer whose agent is a child process that speaks JSON lines; `pids` are the processes it started. */
export function jsonLinesPerformer(script: PerformerScript): Performer & { readonly pids: number[] } {
  const pids: number[] = []
  return {
    pids,
    ...(script.parkable ? { parkable: true as const } : undefined),
    async perform(turn, host) {
      const agent = spawn(process.execPath, [AGENT, JSON.stringify(scriptFor(script, turn))], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      if (agent.pid !== undefined) pids.push(agent.pid)
      const kill = () => void agent.kill('SIGKILL')
      turn.signal.addEventListener('abort', kill, { once: true })
      try {
        return await converse(agent, turn, host)
      } finally {
        turn.signal.removeEventListener('abort', kill)
        kill()
        if (agent.exitCode === null && agent.signalCode === null) await once(agent, 'exit')
      }
    },
  }
}

/** Sends the turn to the agent and serves it until it has a result, fails or exits. */
async function converse(agent: Agent, turn: PerformerTurn, host: PerformerHost): Promise<PerformerResult> {
  const { signal: _signal, ...request } = turn
  const send = (message: object) => void agent.stdin.write(`${JSON.stringify(message)}\n`)
  // The pipe of a killed agent breaks; its exit is reported below.
  agent.stdin.on('error', () => {})
  send({ type: 'turn', turn: request })
  const exited = once(agent, 'exit')
  for await (const line of createInterface(agent.stdout)) {
    const message = JSON.parse(line)
    if (message.type === 'update') host.report(message.update)
    else if (message.type === 'result') return message.result
    else if (message.type === 'error') throw new Error(message.message)
    else if (message.type === 'session') {
      await host.saveSession(message.session)
      send({ type: 'saved', id: message.id, allow: true })
    } else if (message.type === 'permission') {
      const reply = await host.requestPermission(message.call)
      send({ type: 'reply', id: message.id, ...reply })
    }
  }
  const [code, killedBy] = await exited
  if (code !== 0) throw new Error(`the agent was ended by ${killedBy ?? `exit code ${code}`}`)
  return undefined as never
}
