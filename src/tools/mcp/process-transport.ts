import { setTimeout as delay } from 'node:timers/promises'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { ProcessExit, SandboxedProcess } from '../sandbox/sandbox.ts'
import { signalProcessGroup } from './launch-server.ts'

type Sdk = Pick<typeof import('@modelcontextprotocol/client'), 'ReadBuffer' | 'serializeMessage'>

/** A server is asked to end by the end of its input, then told, then made to. */
const GRACE_MS = [700, 700] as const
const STDERR_TAIL_CHARS = 600

export interface ProcessTransport extends Transport {
  /** Resolves with the reason when the process has ended. */
  readonly ended: Promise<string>
}

/**
 * MCP over a process's standard input and output. The one of the SDK starts its process itself, outside of our sandbox, and
 * ends only that process, not those it started.
 */
export function createProcessTransport(
  work: SandboxedProcess,
  { ReadBuffer, serializeMessage }: Sdk,
): ProcessTransport {
  const { stdin, stdout, stderr } = work.child
  const buffer = new ReadBuffer()
  let lastWords = ''
  let broken: string | undefined
  const ended = work.ended.then(
    (how) => exitReason(how, broken, lastWords),
    (error: Error) => error.message,
  )
  stderr?.on('data', (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString('utf8')).slice(-STDERR_TAIL_CHARS)
  })
  for (const stream of [stdin, stdout, stderr]) stream?.on('error', () => {})
  void ended.then(() => transport.onclose?.())
  const transport: ProcessTransport = {
    ended,
    async start() {
      stdout?.on('data', (chunk: Buffer) => {
        try {
          buffer.append(chunk)
        } catch (thrown) {
          // One message that does not end would fill the memory.
          broken = (thrown as Error).message
          work.kill()
        }
        deliverMessages(buffer, transport)
      })
    },
    async send(message) {
      // It is about to be known as ended, which answers whoever waits for this.
      if (!stdin?.writable) await ended
      else if (!stdin.write(serializeMessage(message))) {
        await new Promise<void>((resolve) => stdin.once('drain', resolve).once('close', resolve))
      }
    },
    async close() {
      stdin?.end()
      if (await settlesWithin(GRACE_MS[0], ended)) return
      signalProcessGroup(work.child.pid, 'SIGTERM')
      if (await settlesWithin(GRACE_MS[1], ended)) return
      work.kill()
      await ended
    },
  }
  return transport
}

function deliverMessages(buffer: { readMessage(): JSONRPCMessage | null }, transport: Transport): void {
  for (;;) {
    try {
      const message = buffer.readMessage()
      if (message === null) return
      transport.onmessage?.(message)
    } catch (thrown) {
      // Servers print what is no message; the next line may be one.
      transport.onerror?.(thrown as Error)
    }
  }
}

async function settlesWithin(ms: number, ended: Promise<unknown>): Promise<boolean> {
  const done = new AbortController()
  const waited = delay(ms, false, { signal: done.signal }).catch(() => false)
  const first = await Promise.race([ended.then(() => true), waited])
  done.abort()
  return first
}

function exitReason({ code, signal, limit }: ProcessExit, broken: string | undefined, lastWords: string): string {
  const how = broken ?? (limit ? `it used too much: ${limit}` : signal ? `signal ${signal}` : `exit code ${code}`)
  const said = lastWords.trim()
  return said === '' ? how : `${how}; it said: ${said}`
}
