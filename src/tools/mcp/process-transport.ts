import { setTimeout as delay } from 'node:timers/promises'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { signalProcessGroup } from '../sandbox/kill-process.ts'
import type { ProcessExit, SandboxedProcess } from '../sandbox/sandbox.ts'

type Sdk = Pick<typeof import('@modelcontextprotocol/client'), 'ReadBuffer' | 'serializeMessage'>

/** Grace periods of shutdown: stdin is closed, then SIGTERM, then SIGKILL. */
const GRACE_MS = [700, 700] as const
const STDERR_TAIL_CHARS = 600

export interface ProcessTransport extends Transport {
  /** Resolves with the reason when the process has exited. */
  readonly ended: Promise<string>
}

/**
 * The stdio transport for a sandboxed process. The SDK's own transport starts the process itself, outside the sandbox, and
 * kills only that process, not its children.
 */
export function createProcessTransport(
  serverProcess: SandboxedProcess,
  { ReadBuffer, serializeMessage }: Sdk,
  onOutput: (tail: string) => void = () => {},
): ProcessTransport {
  const { stdin, stdout, stderr } = serverProcess.child
  const buffer = new ReadBuffer()
  let stderrTail = ''
  let protocolError: string | undefined
  const ended = serverProcess.ended.then(
    (exit) => exitReason(exit, protocolError, stderrTail),
    (error: Error) => error.message,
  )
  stderr?.on('data', (chunk: Buffer) => {
    stderrTail = (stderrTail + chunk.toString('utf8')).slice(-STDERR_TAIL_CHARS)
    onOutput(stderrTail)
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
          // Memory exhaustion: the buffer throws on a message that exceeds its limit.
          protocolError = (thrown as Error).message
          serverProcess.kill()
        }
        deliverMessages(buffer, transport)
      })
    },
    async send(message) {
      // The process has exited; `onclose` rejects the pending requests.
      if (!stdin?.writable) await ended
      else if (!stdin.write(serializeMessage(message))) {
        await new Promise<void>((resolve) => stdin.once('drain', resolve).once('close', resolve))
      }
    },
    async close() {
      stdin?.end()
      if (await settlesWithin(GRACE_MS[0], ended)) return
      signalProcessGroup(serverProcess.child.pid, 'SIGTERM')
      if (await settlesWithin(GRACE_MS[1], ended)) return
      serverProcess.kill()
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
      // Servers print log lines to stdout; the next line may be a message.
      transport.onerror?.(thrown as Error)
    }
  }
}

async function settlesWithin(ms: number, ended: Promise<unknown>): Promise<boolean> {
  const done = new AbortController()
  const timeout = delay(ms, false, { signal: done.signal }).catch(() => false)
  const first = await Promise.race([ended.then(() => true), timeout])
  done.abort()
  return first
}

function exitReason({ code, signal, limit }: ProcessExit, protocolError: string | undefined, stderr: string): string {
  const reason =
    protocolError ?? (limit ? `${limit} limit exceeded` : signal ? `signal ${signal}` : `exit code ${code}`)
  const output = stderr.trim()
  return output === '' ? reason : `${reason}; stderr: ${output}`
}
