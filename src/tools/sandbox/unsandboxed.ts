import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { isSecretName } from '../../judgement/redaction/redaction.ts'
import type { Workspace } from '../files/workspace.ts'
import { signalProcessGroup } from './kill-process.ts'
import type { ProcessExit, Sandbox } from './sandbox.ts'

/** Runs commands without a sandbox, with all rights of this process, but without its API keys. The process group is still killed at the end. */
export function createUnsandboxed(workspace: Workspace): Sandbox {
  return {
    kind: 'none',
    close: async () => {},
    async spawn(request) {
      const command = typeof request.command === 'string' ? request.command : request.command.map(shellQuote).join(' ')
      const child = spawn('/bin/bash', ['--norc', '--noprofile', '-c', command], {
        cwd: join(workspace.realPath, request.cwd ?? '.'),
        env: { ...withoutSecrets(process.env), ...request.env },
        detached: true,
        stdio: [request.stdin ?? 'ignore', 'pipe', 'pipe'],
      })
      const kill = () => {
        signalProcessGroup(child.pid, 'SIGKILL')
      }
      // A background process would keep the output pipes open forever.
      child.once('exit', kill)
      const ended = new Promise<ProcessExit>((resolve, reject) => {
        child.once('error', reject)
        child.once('close', (code, signal) => resolve({ code, signal }))
      })
      ended.catch(() => {})
      return { child, ended, kill }
    },
  }
}

/** Prevents leakage of API keys: commands and servers execute code of the repository that nobody has read. */
function withoutSecrets(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isSecretName(name)))
}

/** Quotes a word for a shell. Prevents command injection. */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
