import { afterEach, describe, expect, test, vi } from 'vitest'
import { plainStyle } from '../../../test/support/plain-style.ts'
import type { Event } from '../../kernel/event.ts'
import type { WaitingRequest } from '../../views/waiting.ts'
import { ProgressDisplay } from './progress-display.ts'
import type { Terminal } from './terminal.ts'

function recordingTerminal(live: boolean): { terminal: Terminal; written: string[] } {
  const written: string[] = []
  const style = plainStyle(60)
  const write = (text: string) => void written.push(text)
  const terminal: Terminal = {
    print: (text) => write(`out: ${text}`),
    note: write,
    noteSync: write,
    draw: write,
    out: style,
    err: style,
    outputIsTTY: live,
    live,
    interactive: false,
  }
  return { terminal, written }
}

const start = (seq: number) =>
  ({ run_id: 'r_1', seq, at: 0, type: 'run:start', data: { pattern: 'task' } }) as unknown as Event

const opened = {
  run_id: 'r_1',
  seq: 2,
  at: 0,
  type: 'session:open',
  session_id: 's',
  data: { key: 'session', agent: { name: 'lead' }, segment: 1, depth: 0 },
} as unknown as Event

const delta = (text: string, offset: number) => ({
  delta: { run_id: 'r_1', session_id: 's', agent: 'a', key: 'k', attempt: 1, offset, type: 'text' as const, text },
})

describe('progress display', () => {
  test('L4 L7 streamed text is never written to a pipe', async () => {
    const { terminal, written } = recordingTerminal(false)
    const progress = new ProgressDisplay(terminal)
    await progress.update({ event: start(1) })
    await progress.update({ event: opened })
    await progress.update(delta('secret words', 0))
    progress.end()
    expect(written).toEqual(['   0ms  run r_1 started: task'])
  })

  test('L7 a terminal redraws the live block below permanent lines and erases it at the end', async () => {
    const { terminal, written } = recordingTerminal(true)
    const progress = new ProgressDisplay(terminal)
    await progress.update({ event: opened })
    await progress.update(delta('first ', 0))
    await progress.update(delta('words', 6))
    await expect.poll(() => written.join('')).toContain('…first words')
    progress.note('a permanent line')
    progress.end()
    const all = written.join('')
    expect(all.indexOf('\r\x1b[1A\x1b[0J')).toBeLessThan(all.indexOf('a permanent line'))
    expect(written.at(-1)).toBe('a permanent line')
  })

  test('L10 past events update the view and are not printed', async () => {
    const { terminal, written } = recordingTerminal(false)
    const progress = new ProgressDisplay(terminal, { after: 1 })
    await progress.update({ event: start(1) })
    expect(written).toEqual([])
    expect(progress.view.run.id).toBe('r_1')
  })
})

describe('a request that waits', () => {
  afterEach(() => void vi.useRealTimers())

  const silent = (since: number): WaitingRequest => ({
    ...{ session_id: 's', agent: 'lead', model: 'a/b', state: 'silent', since, attempt: 1, max_attempts: null },
    ...{ last_received_at: null, gives_up_at: since + 240_000, retry_at: null, reason: null },
  })

  async function waitFor(live: boolean, seconds: number, onWaiting?: (waiting: WaitingRequest) => void) {
    vi.useFakeTimers({ now: 0 })
    const { terminal, written } = recordingTerminal(live)
    const options = onWaiting ? { silent: true, onWaiting } : {}
    const progress = new ProgressDisplay(terminal, { ...options, readWaiting: async () => [silent(0)] })
    await progress.update({ event: start(1) })
    await progress.update({ event: opened })
    await vi.advanceTimersByTimeAsync(seconds * 1000)
    progress.end()
    expect(vi.getTimerCount()).toBe(0)
    return written
  }

  test('L101 in a pipe is one line after 15 s, 60 s, then each minute, whole in any width', async () => {
    const written = await waitFor(false, 130)
    expect(written.slice(1).map((text) => text.replace(/\s+/g, ' ').trim())).toEqual([
      '15.0s lead waiting for a/b · 15 s, nothing received (gives up after 4m00s)',
      '1m00s lead waiting for a/b · 1m00s, nothing received (gives up after 4m00s)',
      '2m00s lead waiting for a/b · 2m00s, nothing received (gives up after 4m00s)',
    ])
  })

  test('L101 on a terminal is in the live block, which is erased whole', async () => {
    const written = await waitFor(true, 20)
    const block = written.findLast((text) => text.includes('●')) ?? ''
    expect(block.replace(/\s+/g, ' ')).toMatch(
      /^● lead waiting for a\/b · \d+ s, nothing received \(gives up after 4m00s\)$/,
    )
    expect(written.at(-1)).toBe(`\r\x1b[${block.split('\n').length}A\x1b[0J`)
    expect(written.some((text) => text.includes('15.0s'))).toBe(false)
  })

  test('L101 with --json is an object, not a line', async () => {
    const told: WaitingRequest[] = []
    expect(await waitFor(false, 70, (waiting) => void told.push(waiting))).toEqual([])
    expect(told).toEqual([silent(0), silent(0)])
  })
})
