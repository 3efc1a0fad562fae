import { execFile } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { requireProgram } from '../support/require-program.ts'
import { timeLimit } from '../support/time-limit.ts'
import type { CliFixture } from './cli-fixture.ts'

/* A real terminal (tmux): sends keys and reads the screen. */

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
const DEADLINE_MS = timeLimit(60_000)
const POLL_INTERVAL_MS = 40
const run = promisify(execFile)

export interface Terminal {
  type(text: string): Promise<void>
  key(name: string): Promise<void>
  /** Pastes text in bracketed paste mode. */
  paste(text: string): Promise<void>
  /** The lines of the screen, without trailing empty ones. */
  read(): Promise<string[]>
  /** Waits until the screen matches. */
  waitFor(pattern: RegExp): Promise<string[]>
}

export async function openTerminal(cli: CliFixture, env: NodeJS.ProcessEnv, width: number): Promise<Terminal> {
  requireProgram('tmux')
  // A separate tmux server, removed with the folder.
  const socket = join(cli.folder, 'tmux')
  const tmux = async (...args: string[]) => (await run('tmux', ['-S', socket, '-f', '/dev/null', ...args])).stdout
  const { PATH = '', HOME = '' } = process.env
  await cli.write('troupe', `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  await chmod(join(cli.folder, 'troupe'), 0o755)
  const variables = Object.entries({ PATH, HOME, LANG: 'C.UTF-8', PS1: '$ ', ...env }).map(
    ([name, value]) => `${name}=${value}`,
  )
  const shell = ['env', '-i', 'TERM=screen', ...variables, 'sh']
  await tmux('-u', 'new-session', '-d', '-s', 'chat', '-x', String(width), '-y', '40', '-c', cli.folder, ...shell)
  onTestFinished(async () => {
    await tmux('kill-server').catch(() => '')
  })
  const read = async () => (await tmux('capture-pane', '-p', '-t', 'chat')).trimEnd().split('\n')
  return {
    type: async (text) => void (await tmux('send-keys', '-t', 'chat', '-l', text)),
    key: async (name) => void (await tmux('send-keys', '-t', 'chat', name)),
    async paste(text) {
      await cli.write('pasted', text)
      await tmux('load-buffer', join(cli.folder, 'pasted'))
      await tmux('paste-buffer', '-p', '-t', 'chat')
    },
    read,
    async waitFor(pattern) {
      const deadline = performance.now() + DEADLINE_MS
      for (;;) {
        const lines = await read()
        if (pattern.test(lines.join('\n'))) return lines
        await pause(POLL_INTERVAL_MS)
        if (performance.now() > deadline) throw new Error(`timed out waiting for ${pattern} in:\n${lines.join('\n')}`)
      }
    },
  }
}

/** Types a line and presses Enter. */
export const typeLine = async (terminal: Terminal, text: string) => {
  await terminal.type(text)
  await terminal.key('Enter')
}
