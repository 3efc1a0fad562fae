import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Workspace } from '../files/workspace.ts'
import { shellQuote } from './bubblewrap.ts'
import { killProcessGroup } from './kill-process.ts'
import type { ProcessExit, Sandbox } from './sandbox.ts'

/** No sandbox: a command can do what this process can. Its process group is still ended with it. */
export function createUnsandboxed(workspace: Workspace): Sandbox {
  return {
    kind: 'none',
    close: async () => {},
    async spawn(request) {
      const command = typeof request.command === 'string' ? request.command : request.command.map(shellQuote).join(' ')
      const child = spawn('/bin/bash', ['--norc', '--noprofile', '-c', command], {
        cwd: join(workspace.realPath, request.cwd ?? '.'),
        env: { ...process.env, ...request.env },
        detached: true,
        stdio: [request.stdin ?? 'ignore', 'pipe', 'pipe'],
      })
      const kill = () => {
        if (child.pid !== undefined) killProcessGroup(child.pid)
      }
      // What the command left running would hold its output open for ever.
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
