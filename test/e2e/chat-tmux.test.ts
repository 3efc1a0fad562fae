import { execFile } from 'node:child_process'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Place } from './command-line.ts'
import { place } from './command-line.ts'
import { heldModel } from './held-model.ts'
import { REVIEW } from './team-script.ts'

/* `troupe chat` in a real terminal: what a person types, and what stands on the screen. */

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))
const DEADLINE_MS = 15_000
const LOOK_MS = 40
const run = promisify(execFile)

interface Screen {
  type(text: string): Promise<void>
  key(name: string): Promise<void>
  /** The lines on the screen, without empty ones at the end. */
  read(): Promise<string[]>
  /** Waits until the screen shows it. */
  shows(pattern: RegExp): Promise<string[]>
}

async function screen(here: Place, env: NodeJS.ProcessEnv, width: number): Promise<Screen> {
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
    read,
    async shows(pattern) {
      const end = performance.now() + DEADLINE_MS
      for (;;) {
        const lines = await read()
        if (pattern.test(lines.join('\n'))) return lines
        await pause(LOOK_MS)
        if (performance.now() > end) throw new Error(`${pattern} never appeared in:\n${lines.join('\n')}`)
      }
    },
  }
}

const line = async (to: Screen, text: string) => {
  await to.type(text)
  await to.key('Enter')
}

describe('chat in a terminal', () => {
  test('CH7 CH11 words appear as they are written, typing survives them, Ctrl-C pauses, and the talk is taken up', async () => {
    const here = await place()
    const model = await heldModel()
    const terminal = await screen(here, model.env, 60)
    await here.write('review.yaml', REVIEW)
    await line(terminal, `./troupe chat review.yaml --model ${model.name} --no-tools; echo left $?`)
    await terminal.shows(/say what you want/)
    await line(terminal, 'Write it.')
    const writing = await model.turn('writer')
    await terminal.shows(/^writer: …$/m)
    writing.write('{"response":"A half dra')
    await terminal.shows(/^writer: A half dra$/m)
    await terminal.type('mind the t')
    await terminal.shows(/^› mind the t$/m)
    writing.write('ft.","verdicts":[{"condition":1,"holds":true}],"variables":[],"next":null}')
    writing.end()
    const handed = await terminal.shows(/→ reviewer {2}draft is complete/)
    expect(handed.filter((text) => text.startsWith('writer: '))).toEqual(['writer: A half draft.'])
    await terminal.shows(/^› mind the t$/m)
    await line(terminal, 'one')
    await terminal.shows(/^you: mind the tone\n {2}noted: it is read before the next turn$/m)
    await terminal.key('C-c')
    await terminal.shows(/pausing before the next turn; Ctrl-C again leaves/)
    const reading = await model.turn('reviewer')
    reading.answer('Good.', { sets: { approved: true } })
    await terminal.shows(/^reviewer: Good\.$/m)
    await terminal.shows(/^\? Paused before publisher/m)
    await line(terminal, '/why')
    await terminal.shows(/decision: publisher \(exact\)/)
    await line(terminal, '/quit')
    // 3: something waits for a person, who has left.
    const left = await terminal.shows(/^left 3$/m)
    const [, id = ''] = /chat --resume (r_\w+)/.exec(left.join('\n')) ?? []
    await line(terminal, `clear; ./troupe chat --resume ${id} --no-tools; echo left $?`)
    await terminal.shows(/^writer: A half draft\.\nreviewer: Good\.\n\? Paused before publisher/m)
    await line(terminal, '/continue')
    const publishing = await model.turn('publisher')
    publishing.answer('It is out.')
    await terminal.shows(/^publisher: It is out\.$/m)
    const ended = await terminal.shows(/route: writer → reviewer → publisher/)
    expect(ended.filter((text) => /^publisher: /.test(text))).toHaveLength(1)
    await terminal.key('C-c')
    await terminal.shows(/Ctrl-C again leaves; \/help/)
    await terminal.key('C-c')
    await terminal.shows(/^left 130$/m)
  }, 60_000)

  test('CH7 Ctrl-C twice leaves while an agent works: the run stays, and how to come back is said', async () => {
    const here = await place()
    const model = await heldModel()
    const terminal = await screen(here, model.env, 100)
    await here.write('review.yaml', REVIEW)
    await line(terminal, `./troupe chat review.yaml --model ${model.name} --no-tools; echo left $?`)
    await terminal.shows(/say what you want/)
    await line(terminal, 'Write it.')
    const writing = await model.turn('writer')
    await terminal.key('C-c')
    await terminal.shows(/pausing before the next turn/)
    await terminal.key('C-c')
    await terminal.shows(/leaving: what is in flight may finish/)
    writing.answer('A draft.', { holds: [true] })
    const left = await terminal.shows(/^left 130$/m)
    expect(left.join('\n')).toMatch(/come back with: troupe chat --resume r_/)
    const runs = JSON.parse((await here.troupe('runs', '--json')).out)
    expect(runs).toMatchObject([{ pattern: 'team', under_way: false }])
    expect(['pending', 'waiting']).toContain(runs[0].status)
  }, 60_000)

  test('CH7 a third Ctrl-C does not wait for what is in flight', async () => {
    const here = await place()
    const model = await heldModel()
    const terminal = await screen(here, model.env, 80)
    await here.write('review.yaml', REVIEW)
    await line(terminal, `./troupe chat review.yaml --model ${model.name} --no-tools; echo left $?`)
    await terminal.shows(/say what you want/)
    await line(terminal, 'Write it.')
    await model.turn('writer')
    await terminal.key('C-c')
    await terminal.shows(/pausing before the next turn/)
    await terminal.key('C-c')
    await terminal.shows(/leaving: what is in flight may finish/)
    await terminal.key('C-c')
    const left = await terminal.shows(/^left 130$/m)
    expect(left.join('\n')).toMatch(/come back with: troupe chat --resume r_/)
  }, 60_000)
})
