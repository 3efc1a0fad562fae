import { execFile } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import type { CliFixture } from './cli-fixture.ts'

/* A real terminal: what a person types into it, and what stands on its screen. */

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
const DEADLINE_MS = 15_000
const POLL_INTERVAL_MS = 40
const run = promisify(execFile)

export interface Terminal {
  type(text: string): Promise<void>
  key(name: string): Promise<void>
  /** Pastes, as a terminal does for programs that want to know. */
  paste(text: string): Promise<void>
  /** The lines on the screen, without empty ones at the end. */
  read(): Promise<string[]>
  /** Waits until the screen shows it. */
  waitFor(pattern: RegExp): Promise<string[]>
}

export async function openTerminal(here: CliFixture, env: NodeJS.ProcessEnv, width: number): Promise<Terminal> {
  // A server of its own, gone with the folder.
  const socket = join(here.folder, 'tmux')
  const tmux = async (...words: string[]) => (await run('tmux', ['-S', socket, '-f', '/dev/null', ...words])).stdout
  const { PATH = '', HOME = '' } = process.env
  await here.write('troupe', `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`)
  await chmod(join(here.folder, 'troupe'), 0o755)
  const given = Object.entries({ PATH, HOME, LANG: 'C.UTF-8', PS1: '$ ', ...env }).map(
    ([name, value]) => `${name}=${value}`,
  )
  const shell = ['env', '-i', 'TERM=screen', ...given, 'sh']
  await tmux('-u', 'new-session', '-d', '-s', 'chat', '-x', String(width), '-y', '40', '-c', here.folder, ...shell)
  onTestFinished(async () => {
    await tmux('kill-server').catch(() => '')
  })
  const read = async () => (await tmux('capture-pane', '-p', '-t', 'chat')).trimEnd().split('\n')
  return {
    type: async (text) => void (await tmux('send-keys', '-t', 'chat', '-l', text)),
    key: async (name) => void (await tmux('send-keys', '-t', 'chat', name)),
    async paste(text) {
      await here.write('pasted', text)
      await tmux('load-buffer', join(here.folder, 'pasted'))
      await tmux('paste-buffer', '-p', '-t', 'chat')
    },
    read,
    async waitFor(pattern) {
      const end = performance.now() + DEADLINE_MS
      for (;;) {
        const lines = await read()
        if (pattern.test(lines.join('\n'))) return lines
        await pause(POLL_INTERVAL_MS)
        if (performance.now() > end) throw new Error(`${pattern} never appeared in:\n${lines.join('\n')}`)
      }
    },
  }
}

/** Types a line, and ends it. */
export const typeLine = async (to: Terminal, text: string) => {
  await to.type(text)
  await to.key('Enter')
}
